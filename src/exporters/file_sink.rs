//! The file of a `file` exporter with its rotation.

use super::error::Problem;
use super::file_open::{self, Opened};
use super::file_rotation::Backups;
use super::settings::{FileSettings, RotationSettings};
use super::whole_append::WholeAppend;
use crate::clock::Nanos;
use std::io;
use std::path::PathBuf;

const MIB: u64 = 1 << 20;

/// Takes records one after the other.
#[derive(Debug)]
pub(crate) struct FileSink {
    path: PathBuf,
    opened: Opened,
    backups: Backups,
    rotation: Option<RotationSettings>,
    /// A name in the directory is newer than its last sync.
    renamed: bool,
}

impl FileSink {
    pub(crate) fn open(settings: &FileSettings, now: Nanos) -> Result<Self, Problem> {
        let rotation = settings.rotation.clone();
        let backups = Backups::of(
            &settings.path,
            rotation.as_ref().is_some_and(|rotation| rotation.localtime),
        );
        let opened = file_open::open_at_start(settings, &backups, now)?;
        let sink = Self {
            path: settings.path.clone(),
            opened,
            backups,
            rotation,
            renamed: true,
        };
        sink.prune(now);
        Ok(sink)
    }

    /// Appends `record` whole, or leaves the file as it was; begins a new file where it would grow over its limit.
    pub(crate) fn write(&mut self, record: &[u8], now: Nanos) -> io::Result<()> {
        if self.is_full(record.len()) {
            self.rotate(now)?;
        }
        self.opened.end.append(record)
    }

    /// Makes what was written survive the loss of power.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        if !self.opened.regular {
            return Ok(());
        }
        self.opened.end.target().sync_data()?;
        if self.renamed {
            file_open::sync_directory(&self.path)?;
            self.renamed = false;
        }
        Ok(())
    }

    /// A record that is larger than the limit gets a file of its own.
    fn is_full(&self, more: usize) -> bool {
        let len = self.opened.end.len();
        let after = len.saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
        self.rotation.as_ref().is_some_and(|rotation| {
            self.opened.regular && len > 0 && after > rotation.max_megabytes.saturating_mul(MIB)
        })
    }

    fn rotate(&mut self, now: Nanos) -> io::Result<()> {
        // A later sync reaches the new file only.
        self.sync()?;
        let fresh = file_open::set_aside(&self.path, &self.backups, now)?;
        self.opened.end = WholeAppend::new(fresh, 0, false);
        self.renamed = true;
        self.prune(now);
        Ok(())
    }

    fn prune(&self, now: Nanos) {
        let Some(rotation) = self.rotation.as_ref().filter(|_| self.opened.regular) else {
            return;
        };
        if let Err(error) = self.backups.prune(rotation, now) {
            tracing::warn!(kind = %error.kind(), "file exporter: an old file could not be removed");
        }
    }
}
