//! The place of a log: spans, decision logs, positions, and what they share `max_size` by.
//!
//! Below the root: `lock`, `meta` (partition count), `spans/`, `decisions/INSTANCE/`, `positions/OWNER`. One process has
//! it at a time. One eighth of `max_size` is the decision logs', taken when they are opened, so that decisions can be
//! written when the spans fill the rest: at 64 bytes a drop and a few hundred a keep that outlasts the spans of any
//! trace over 1 KiB.

use super::cursor_file::CursorFile;
use super::erase::resume;
use super::errors::LogError;
use super::lock::lock;
use super::names::{escape, unescape};
use super::settings::{Durability, LogSettings, StoreKind};
use super::storage::{DiskStorage, MemoryStorage, Storage};
use super::stream::{Stream, StreamSettings};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

/// The decision logs' part of `max_size`: one in eight.
const DECISIONS_PART: u64 = 8;
/// Set aside for positions: 128 KiB for each owner, a few dozen owners.
const POSITIONS_PART: u64 = 64;
/// A stream is at least this many segments, or retention would have nothing to give back.
const LEAST_SEGMENTS: u64 = 4;
/// Decision segments are small beside the share, so that it can be given back in small steps.
const DECISION_SEGMENTS: u64 = 8;
/// Below this a segment is all header and rolls; above, a tick's entries fit.
const LEAST_SEGMENT: u64 = 64 * 1024;
/// Version of the directory's layout.
const FORMAT_VERSION: u32 = 2;
const META: &str = "the log's meta file";

/// An open log directory, disk or memory.
#[derive(Debug)]
pub struct Directory {
    root: Arc<dyn Storage>,
    positions: Arc<dyn Storage>,
    settings: LogSettings,
    meta: CursorFile,
    partitions: AtomicU16,
    expected: AtomicU64,
    opened: AtomicU64,
}

impl Directory {
    /// Opens or creates the place that `settings` names.
    ///
    /// # Errors
    /// [`LogError::Locked`] when another process has it; `Version` when a newer build wrote it; `Io`.
    pub fn open(settings: &LogSettings) -> Result<Self, LogError> {
        Self::over(root(&settings.store)?, settings)
    }

    /// Over a storage that is already there.
    pub(crate) fn over(root: Arc<dyn Storage>, settings: &LogSettings) -> Result<Self, LogError> {
        resume(&*root).map_err(LogError::io("ending an erasure"))?;
        let has_spans = root
            .list()
            .map_err(LogError::io("listing the log's directory"))?
            .iter()
            .any(|n| n == "spans");
        let positions = root
            .child("positions")
            .map_err(LogError::io("creating the directory of positions"))?;
        // Written once in a log's life: always synced.
        let meta = CursorFile::open(&*root, "meta", Durability::Fsync)?;
        let partitions = match meta.load() {
            Some(bytes) => decode_meta(&bytes)?,
            None if has_spans => return Err(LogError::Damaged { what: META }),
            None => {
                save_meta(&meta, settings.partitions)?;
                settings.partitions
            }
        };
        Ok(Self {
            root,
            positions,
            settings: settings.clone(),
            meta,
            partitions: AtomicU16::new(partitions),
            expected: AtomicU64::new(1),
            opened: AtomicU64::new(0),
        })
    }

    /// Partitions, as they stand in the log.
    #[must_use]
    pub fn partitions(&self) -> u16 {
        self.partitions.load(Ordering::Relaxed)
    }

    /// Changes the count. The caller guarantees that nothing is undecided.
    ///
    /// # Errors
    /// The store's; the old count stays.
    pub fn set_partitions(&self, n: u16) -> Result<(), LogError> {
        save_meta(&self.meta, n)?;
        self.partitions.store(n, Ordering::Relaxed);
        Ok(())
    }

    /// Says how many decision logs will be opened, before the first one is: they share their part evenly. One unless
    /// said; more than said still get a share each, on top of `max_size`.
    pub fn expect_instances(&self, instances: usize) {
        self.expected
            .store((instances as u64).max(1), Ordering::Relaxed);
    }

    /// The decision log of one sampler instance, its whole share taken now.
    ///
    /// # Errors
    /// The store's: also a disk without room for the share.
    pub fn decisions(&self, instance: &str) -> Result<Stream, LogError> {
        let what = "creating the directory of a decision log";
        let parent = self.root.child("decisions").map_err(LogError::io(what))?;
        let storage = parent
            .child(&escape(instance))
            .map_err(LogError::io(what))?;
        let expected = self
            .expected
            .load(Ordering::Relaxed)
            .max(self.opened.fetch_add(1, Ordering::Relaxed) + 1);
        let share = self.settings.max_size / DECISIONS_PART / expected;
        let segment_size = segment_size(share / DECISION_SEGMENTS, self.settings.segment_size);
        self.stream(storage, share, segment_size, true)
    }

    pub(super) fn root(&self) -> &dyn Storage {
        &*self.root
    }

    /// Where the segments of the span log lie.
    pub(super) fn spans_storage(&self) -> Result<Arc<dyn Storage>, LogError> {
        let what = "creating the directory of the spans";
        self.root.child("spans").map_err(LogError::io(what))
    }

    /// The span log's segments.
    pub(crate) fn spans(&self) -> Result<Stream, LogError> {
        let storage = self.spans_storage()?;
        let all = self.settings.max_size;
        let share = all - all / DECISIONS_PART - all / POSITIONS_PART;
        let segment_size = segment_size(share / LEAST_SEGMENTS, self.settings.segment_size);
        self.stream(storage, share, segment_size, false)
    }

    fn stream(
        &self,
        storage: Arc<dyn Storage>,
        share: u64,
        segment_size: u64,
        preallocate_all: bool,
    ) -> Result<Stream, LogError> {
        let max_bytes = share.max(LEAST_SEGMENTS * segment_size);
        let durability = self.settings.durability;
        Stream::open(
            storage,
            StreamSettings {
                segment_size,
                max_bytes,
                durability,
                preallocate_all,
            },
        )
    }

    /// A position file, created where it is missing.
    ///
    /// # Errors
    /// The store's.
    pub fn cursor_file(&self, name: &str) -> Result<CursorFile, LogError> {
        CursorFile::open(&*self.positions, &escape(name), self.settings.durability)
    }

    /// Instances whose decision logs there are, sorted: also of those that have left the config, whose share of the disk
    /// is taken until their directory is removed.
    #[must_use]
    pub fn instances(&self) -> Vec<String> {
        let logs = self
            .root
            .child("decisions")
            .and_then(|logs| logs.list())
            .unwrap_or_default();
        let mut names: Vec<_> = logs.iter().map(|name| unescape(name)).collect();
        names.sort_unstable();
        names
    }

    /// Names of the position files there are, sorted: also of owners that have left the config.
    #[must_use]
    pub fn owners(&self) -> Vec<String> {
        let mut names: Vec<_> = self
            .positions
            .list()
            .unwrap_or_default()
            .iter()
            .map(|name| unescape(name))
            .collect();
        names.sort_unstable();
        names
    }
}

fn root(store: &StoreKind) -> Result<Arc<dyn Storage>, LogError> {
    match store {
        StoreKind::Memory => Ok(Arc::new(MemoryStorage::default())),
        StoreKind::Kafka(_) => Err(LogError::Settings(
            "the log is in Kafka: it has no directory".to_owned(),
        )),
        StoreKind::Disk(path) => {
            let what = "opening the log's directory";
            drop(DiskStorage::at(path.clone(), None).map_err(LogError::io(what))?);
            Ok(Arc::new(
                DiskStorage::at(path.clone(), Some(lock(path)?)).map_err(LogError::io(what))?,
            ))
        }
    }
}

/// `part`, in whole 4 KiB blocks, not under the least and not over what was set.
fn segment_size(part: u64, set: u64) -> u64 {
    (part / 4096 * 4096).min(set).max(LEAST_SEGMENT.min(set))
}

fn save_meta(meta: &CursorFile, partitions: u16) -> Result<(), LogError> {
    let mut value = FORMAT_VERSION.to_le_bytes().to_vec();
    value.extend_from_slice(&partitions.to_le_bytes());
    // Both slots: there is no older value to fall back to.
    meta.save(&value)
        .and_then(|()| meta.save(&value))
        .map_err(LogError::io("writing the log's meta file"))
}

fn decode_meta(bytes: &[u8]) -> Result<u16, LogError> {
    let what = META;
    let (version, rest) = bytes
        .split_first_chunk::<4>()
        .ok_or(LogError::Damaged { what })?;
    let found = u32::from_le_bytes(*version);
    if found != FORMAT_VERSION {
        return Err(LogError::Version {
            what,
            found,
            known: FORMAT_VERSION,
        });
    }
    let partitions = rest.first_chunk::<2>().ok_or(LogError::Damaged { what })?;
    Ok(u16::from_le_bytes(*partitions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn settings(store: StoreKind) -> LogSettings {
        LogSettings {
            store,
            max_size: 8 << 20,
            retention: None,
            durability: Durability::Os,
            partitions: 16,
            segment_size: 128 << 20,
        }
    }

    #[test]
    fn a_directory_is_one_processs_and_keeps_its_words() {
        let place = tempfile::tempdir().unwrap();
        let mut settings = settings(StoreKind::Disk(place.path().join("log")));
        let directory = Directory::open(&settings).unwrap();
        let taken = Directory::open(&settings).unwrap_err().to_string();
        assert!(
            taken.ends_with(&format!(
                "is in use by another process (pid {})",
                std::process::id()
            )),
            "{taken}"
        );
        directory
            .cursor_file("otlp/b ckend")
            .unwrap()
            .save(b"x")
            .unwrap();
        directory.set_partitions(7).unwrap();
        let stream = directory.decisions("tail_sampling/é").unwrap();
        assert_eq!(stream.bytes(), 1 << 20);
        drop(directory);
        assert!(
            matches!(Directory::open(&settings), Err(LogError::Locked { .. })),
            "a stream still has it"
        );
        drop(stream);
        settings.partitions = 99;
        let directory = Directory::open(&settings).unwrap();
        assert_eq!(directory.partitions(), 7);
        assert_eq!(directory.owners(), ["otlp/b ckend"]);
        assert_eq!(directory.instances(), ["tail_sampling/é"]);
        assert_eq!(
            directory
                .cursor_file("otlp/b ckend")
                .unwrap()
                .load()
                .as_deref(),
            Some(&b"x"[..])
        );
    }

    #[test]
    fn nobody_else_can_read_it() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("log");
        let directory = Directory::open(&settings(StoreKind::Disk(root.clone()))).unwrap();
        let _stream = directory.decisions("i").unwrap();
        let mut queue = vec![root];
        let mut files = 0;
        while let Some(path) = queue.pop() {
            let mode = path.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(
                mode,
                if path.is_dir() { 0o700 } else { 0o600 },
                "{}",
                path.display()
            );
            files += 1;
            if path.is_dir() {
                queue.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
            }
        }
        assert!(files > 10);
    }

    #[test]
    fn the_share_of_decisions_is_divided_by_who_is_expected() {
        let directory = Directory::open(&settings(StoreKind::Memory)).unwrap();
        directory.expect_instances(2);
        for instance in ["a", "b"] {
            assert_eq!(directory.decisions(instance).unwrap().bytes(), 1 << 19);
        }
        let spans = directory.spans().unwrap();
        assert_eq!(spans.max_bytes(), (8 << 20) - (1 << 20) - (1 << 17));
    }

    #[test]
    fn spans_without_their_partition_count_are_not_guessed_at() {
        let root: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        let settings = settings(StoreKind::Memory);
        Directory::over(Arc::clone(&root), &settings)
            .unwrap()
            .spans()
            .unwrap();
        Directory::over(Arc::clone(&root), &settings).unwrap();
        root.remove("meta").unwrap();
        assert!(matches!(
            Directory::over(root, &settings),
            Err(LogError::Damaged { .. })
        ));
    }

    #[test]
    fn a_newer_layout_is_refused() {
        let root: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        CursorFile::open(&*root, "meta", Durability::Os)
            .unwrap()
            .save(&[3, 0, 0, 0, 1, 0])
            .unwrap();
        let refused = Directory::over(root, &settings(StoreKind::Memory)).unwrap_err();
        assert!(
            matches!(
                refused,
                LogError::Version {
                    found: 3,
                    known: 2,
                    ..
                }
            ),
            "{refused}"
        );
    }
}
