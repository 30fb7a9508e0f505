//! The stream as its owner and its readers hold it.

use super::reader::StreamReader;
use super::recover::{FreeFile, recover};
use super::sealer::Sealer;
use super::segment::{SEGMENT_HEADER, Segment};
use crate::log::errors::{LogError, ReadError};
use crate::log::settings::Durability;
use crate::log::storage::Storage;
use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;

/// How a stream lies on its storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamSettings {
    /// Bytes of one segment file.
    pub segment_size: u64,
    /// Bytes of all its files, free ones included.
    pub max_bytes: u64,
    /// What a returned append promises.
    pub durability: Durability,
    /// Whether all `max_bytes` are taken at open, so that no append meets a full disk.
    pub preallocate_all: bool,
}

/// A segment, for whoever decides what may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentInfo {
    /// Position of its first byte.
    pub base: u64,
    /// Position after its last frame.
    pub end: u64,
    /// Bytes of the file.
    pub size: u64,
    /// Stamp of its last frame, or of the last one before it when it holds none.
    pub stamp: u64,
}

/// A row of segments. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct Stream {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) settings: StreamSettings,
    /// By base; the last one is written to. Never empty.
    pub(super) segments: RwLock<VecDeque<Arc<Segment>>>,
    pub(super) tail: Mutex<Tail>,
    pub(super) end: watch::Sender<u64>,
    pub(super) syncs: AtomicU64,
}

/// What only the writer needs.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) active: Arc<Segment>,
    pub(super) free: Vec<FreeFile>,
    pub(super) next_free: u64,
    /// The active file may hold bytes of a write that failed, or could not be synced: no more appends to it.
    pub(super) broken: bool,
    /// Base of a segment that could not be opened but may be found after a crash: the next one lies no lower.
    pub(super) attempted: u64,
    /// Renames since the directory was last synced.
    pub(super) dir_dirty: bool,
    pub(super) sealer: Option<Sealer>,
}

impl Stream {
    /// Recovers what `storage` holds, or begins at position 0.
    pub(crate) fn open(
        storage: Arc<dyn Storage>,
        settings: StreamSettings,
    ) -> Result<Self, LogError> {
        let found = recover(&*storage, settings.segment_size)?;
        let next_free = found
            .free
            .iter()
            .filter_map(|f| super::recover::free_number(&f.name))
            .max()
            .map_or(0, |n| n + 1);
        let sealer = (settings.durability == Durability::Os && storage.sync_may_stall())
            .then(|| Sealer::start(Arc::clone(&storage)));
        let mut free = found.free;
        let mut segments = found.segments;
        let active = match segments.back() {
            Some(last) => Arc::clone(last),
            None => {
                let first = Arc::new(super::roll::first_segment(&*storage, &settings, &mut free)?);
                segments.push_back(Arc::clone(&first));
                first
            }
        };
        if settings.durability == Durability::Fsync {
            // Recovered frames become visible now; what they lead to must not outlive them.
            active
                .file
                .sync()
                .and_then(|()| storage.sync_dir())
                .map_err(LogError::io("syncing the recovered segment"))?;
        }
        let end = watch::Sender::new(active.end());
        let tail = Tail {
            active,
            free,
            next_free,
            broken: false,
            attempted: 0,
            dir_dirty: false,
            sealer,
        };
        let (segments, tail) = (RwLock::new(segments), Mutex::new(tail));
        let shared = Shared {
            storage,
            settings,
            segments,
            tail,
            end,
            syncs: AtomicU64::new(0),
        };
        let stream = Self {
            shared: Arc::new(shared),
        };
        stream.trim_free();
        if settings.preallocate_all {
            stream.preallocate()?;
        }
        Ok(stream)
    }

    /// Where the next frame will lie, unless it opens a segment.
    #[must_use]
    pub fn end(&self) -> u64 {
        *self.shared.end.borrow()
    }

    /// The oldest position there is.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.shared
            .segments
            .read()
            .front()
            .map_or(0, |segment| segment.base)
    }

    /// Stamp of the last frame; 0 in a stream that never had one.
    #[must_use]
    pub fn last_stamp(&self) -> u64 {
        self.shared
            .segments
            .read()
            .back()
            .map_or(0, |segment| segment.stamp())
    }

    /// A reader that begins with the frame at `from`, or with the first one after it.
    #[must_use]
    pub fn reader(&self, from: u64) -> StreamReader {
        StreamReader::new(Arc::clone(&self.shared), from)
    }

    /// `length` bytes at `offset` from `position`. Nothing is checked but that they lie below the end: the caller knows
    /// what they are.
    ///
    /// # Errors
    /// [`ReadError::Gone`] when retention took them (also while they were read), `Beyond` when they were never written.
    pub fn read_at(&self, position: u64, offset: u32, length: u32) -> Result<Bytes, ReadError> {
        let begin = position.saturating_add(u64::from(offset));
        let end = begin.saturating_add(u64::from(length));
        let segment = self.shared.segment_at(begin)?;
        if end > segment.end() {
            return Err(ReadError::Beyond { position });
        }
        let mut bytes = vec![0; length as usize];
        let read = segment.read(begin, &mut bytes);
        if segment.is_released() {
            return Err(ReadError::Gone {
                position,
                start: self.start(),
            });
        }
        match read {
            Ok(read) if read == bytes.len() => Ok(Bytes::from(bytes)),
            Ok(_) => Err(ReadError::Damaged {
                position,
                next: segment.end(),
            }),
            Err(source) => Err(ReadError::Io { position, source }),
        }
    }

    /// Bytes of all its files, free ones included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let tail = self.shared.tail.lock();
        self.shared.total(&tail)
    }

    /// What the files may take.
    #[must_use]
    pub fn max_bytes(&self) -> u64 {
        self.shared.settings.max_bytes
    }

    /// The most bytes that one [`append`](Self::append) can write, frame headers included.
    #[must_use]
    pub fn max_batch(&self) -> u64 {
        self.shared
            .settings
            .segment_size
            .saturating_sub(SEGMENT_HEADER)
    }

    /// The end, sent at each append.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.shared.end.subscribe()
    }

    /// Its segments, oldest first; the last one is written to.
    #[must_use]
    pub fn segments(&self) -> Vec<SegmentInfo> {
        let info = |s: &Arc<Segment>| SegmentInfo {
            base: s.base,
            end: s.end(),
            size: s.size,
            stamp: s.stamp(),
        };
        self.shared.segments.read().iter().map(info).collect()
    }

    /// The oldest segment, unless it is the one written to.
    pub(crate) fn oldest_sealed(&self) -> Option<SegmentInfo> {
        let segments = self.shared.segments.read();
        segments
            .front()
            .filter(|_| segments.len() > 1)
            .map(|s| info(s))
    }

    /// Base of the segment that is written to.
    pub(crate) fn active_base(&self) -> u64 {
        self.shared
            .segments
            .read()
            .back()
            .map_or(0, |segment| segment.base)
    }

    /// Bytes from `position` on: whole segments, less the unused end of the last.
    pub(crate) fn bytes_from(&self, position: u64) -> u64 {
        let segments = self.shared.segments.read();
        let sealed = segments.len().saturating_sub(1);
        let used = |(index, s): (usize, &Arc<Segment>)| {
            if index < sealed {
                s.size
            } else {
                s.end() - s.base
            }
        };
        segments
            .iter()
            .enumerate()
            .rev()
            .take_while(|(_, s)| s.end() > position)
            .map(used)
            .sum()
    }

    /// Stamp of the oldest frame.
    pub(crate) fn first_stamp(&self) -> Option<u64> {
        let segments = self.shared.segments.read();
        let oldest = segments.iter().find(|segment| !segment.is_empty())?;
        let header = super::scan::header_at(oldest, oldest.first(), oldest.end())
            .ok()
            .flatten();
        Some(header.map_or(oldest.stamp(), |header| header.stamp))
    }

    /// Syncs of data that someone waited for, since open.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.shared.syncs.load(Ordering::Relaxed)
    }

    /// Syncs the segment that is written to. Sealed ones were synced with each append (`fsync`) or are when they are
    /// sealed (`os`, by a thread of their own and without a promise).
    ///
    /// # Errors
    /// The store's. The stream takes a new segment for the next append, because a failed sync cannot be repeated.
    pub fn flush(&self) -> io::Result<()> {
        let mut tail = self.shared.tail.lock();
        let synced = tail
            .active
            .file
            .sync()
            .and_then(|()| self.shared.storage.sync_dir());
        tail.broken |= synced.is_err();
        synced
    }
}

fn info(segment: &Segment) -> SegmentInfo {
    SegmentInfo {
        base: segment.base,
        end: segment.end(),
        size: segment.size,
        stamp: segment.stamp(),
    }
}

impl Shared {
    /// The segment that holds `position`.
    pub(super) fn segment_at(&self, position: u64) -> Result<Arc<Segment>, ReadError> {
        let segments = self.segments.read();
        let after = segments.partition_point(|segment| segment.base <= position);
        match after.checked_sub(1).and_then(|index| segments.get(index)) {
            Some(segment) => Ok(Arc::clone(segment)),
            None => Err(ReadError::Gone {
                position,
                start: segments.front().map_or(0, |s| s.base),
            }),
        }
    }

    /// Bytes of all files.
    pub(super) fn total(&self, tail: &Tail) -> u64 {
        let used: u64 = self
            .segments
            .read()
            .iter()
            .map(|segment| segment.size)
            .sum();
        used + tail.free.len() as u64 * self.settings.segment_size
    }
}
