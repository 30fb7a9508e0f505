//! `rotation` of the `file` exporter: the names of full files, and which of them go.
//!
//! A full file is renamed to `NAME-2022-09-14T05-02-14.173.EXT`, as the Collector does; the stamp is UTC unless
//! `localtime`. Only files whose name has exactly this form are ever removed.

use super::settings::RotationSettings;
use crate::clock::Nanos;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

const STAMP: &str = "%Y-%m-%dT%H-%M-%S.%3f";
/// `%3f` writes three digits, but reads any number.
const STAMP_LEN: usize = "2022-09-14T05-02-14.173".len();
const HOURS_A_DAY: i64 = 24;

/// The names around one path.
#[derive(Debug, Clone)]
pub(crate) struct Backups {
    path: PathBuf,
    prefix: String,
    suffix: String,
    zone: TimeZone,
}

impl Backups {
    pub(crate) fn of(path: &Path, localtime: bool) -> Self {
        let text =
            |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
        let prefix = format!("{}-", text(path.file_stem()).unwrap_or_default());
        let suffix = text(path.extension())
            .map(|extension| format!(".{extension}"))
            .unwrap_or_default();
        let zone = if localtime {
            TimeZone::system()
        } else {
            TimeZone::UTC
        };
        Self {
            path: path.to_owned(),
            prefix,
            suffix,
            zone,
        }
    }

    /// A name for a file that is full at `now`. Its stamp is later than that of every file before it, also when the
    /// clock was set back: the order of the stamps is the order of the files.
    pub(crate) fn name(&self, now: Nanos) -> io::Result<PathBuf> {
        let newest = self.found()?.into_iter().map(|(stamp, _)| stamp).max();
        let after = newest.map(|newest| newest.saturating_add(SignedDuration::from_millis(1)));
        let stamp = self.civil(now).max(after.unwrap_or(DateTime::MIN));
        Ok(self.path.with_file_name(format!(
            "{}{}{}",
            self.prefix,
            stamp.strftime(STAMP),
            self.suffix
        )))
    }

    /// Removes what is beyond `max_backups` or older than `max_days`. Files that cannot be removed stay; the first such
    /// error is returned after all have been tried.
    pub(crate) fn prune(&self, settings: &RotationSettings, now: Nanos) -> io::Result<()> {
        let mut found = self.found()?;
        found.sort_by_key(|(stamp, _)| std::cmp::Reverse(*stamp));
        let kept = match settings.max_backups {
            0 => usize::MAX,
            max => usize::try_from(max).unwrap_or(usize::MAX),
        };
        let oldest = settings.max_days.map(|days| {
            self.civil(now).saturating_sub(SignedDuration::from_hours(
                HOURS_A_DAY.saturating_mul(i64::from(days)),
            ))
        });
        let mut outcome = Ok(());
        for (n, (stamp, name)) in found.into_iter().enumerate() {
            if n >= kept || oldest.is_some_and(|oldest| stamp < oldest) {
                outcome = outcome.and(std::fs::remove_file(self.path.with_file_name(name)));
            }
        }
        outcome
    }

    fn found(&self) -> io::Result<Vec<(DateTime, OsString)>> {
        let directory = self
            .path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let mut found = Vec::new();
        for entry in std::fs::read_dir(directory)? {
            let name = entry?.file_name();
            if let Some(stamp) = name.to_str().and_then(|name| self.stamp(name)) {
                found.push((stamp, name));
            }
        }
        Ok(found)
    }

    fn stamp(&self, name: &str) -> Option<DateTime> {
        let stamp = name
            .strip_prefix(&self.prefix)?
            .strip_suffix(&self.suffix)?;
        if stamp.len() != STAMP_LEN {
            return None;
        }
        DateTime::strptime(STAMP, stamp).ok()
    }

    fn civil(&self, now: Nanos) -> DateTime {
        self.zone
            .to_datetime(Timestamp::from_nanosecond(i128::from(now)).unwrap_or(Timestamp::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;

    /// 2022-09-14T05:02:14.173Z
    const THEN: Nanos = 1_663_131_734_173_000_000;
    const DAY: Nanos = 86_400 * SECOND;

    #[test]
    fn names_are_the_collectors() {
        let check = |path: &str, expected: &str| {
            assert_eq!(
                Backups::of(Path::new(path), false).name(THEN).unwrap(),
                Path::new(expected)
            );
        };
        check("data.json", "data-2022-09-14T05-02-14.173.json");
        check("/tmp/data.json", "/tmp/data-2022-09-14T05-02-14.173.json");
        check("data", "data-2022-09-14T05-02-14.173");
        check("a.b.json", "a.b-2022-09-14T05-02-14.173.json");
    }

    #[test]
    fn stamps_rise_when_the_clock_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let backups = Backups::of(&directory.path().join("data.json"), false);
        for (now, end) in [(THEN, "173"), (THEN, "174"), (THEN - DAY, "175")] {
            let name = backups.name(now).unwrap();
            assert!(
                name.to_str().unwrap().ends_with(&format!("14.{end}.json")),
                "{name:?}"
            );
            std::fs::write(name, "").unwrap();
        }
    }

    fn prune(max_backups: u32, max_days: Option<u32>, files: &[&str]) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        for file in files {
            std::fs::write(directory.path().join(file), "").unwrap();
        }
        let settings = RotationSettings {
            max_backups,
            max_days,
            ..RotationSettings::new()
        };
        Backups::of(&directory.path().join("data.json"), false)
            .prune(&settings, THEN + DAY)
            .unwrap();
        let left = std::fs::read_dir(directory.path()).unwrap();
        let mut left: Vec<String> = left
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        left
    }

    #[test]
    fn only_old_backups_go() {
        let (first, second, third) = (
            "data-2022-09-12T00-00-00.000.json",
            "data-2022-09-14T00-00-00.000.json",
            "data-2022-09-15T00-00-00.000.json",
        );
        let strangers = [
            "data-2022-09-01T00-00-00.json",
            "data-2022-13-01T00-00-00.000.json",
            "data-important.json",
            "data.json",
            "other-2022-09-01T00-00-00.000.json",
        ];
        let check = |max_backups: u32, max_days: Option<u32>, kept: &[&str]| {
            let all = [strangers.as_slice(), &[first, second, third]].concat();
            let mut expected = [strangers.as_slice(), kept].concat();
            expected.sort_unstable();
            assert_eq!(
                prune(max_backups, max_days, &all),
                expected,
                "{max_backups} {max_days:?}"
            );
        };
        check(0, None, &[first, second, third]);
        check(2, None, &[second, third]);
        check(1, None, &[third]);
        check(0, Some(2), &[second, third]);
        check(0, Some(1), &[third]);
        check(1, Some(30), &[third]);
    }

    #[test]
    fn a_clock_out_of_any_range_is_no_panic() {
        let backups = Backups::of(Path::new("data.json"), true);
        assert!(
            backups
                .name(0)
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("data-")
        );
        assert!(
            backups
                .name(Nanos::MAX)
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("data-")
        );
    }
}
