//! Taking a new segment, and giving old ones back.
//!
//! A new segment is written under a `free-` name and renamed when its header is there, so that a file with a segment's
//! name always is one. A file that is given back is renamed the other way first.

use super::handle::{Shared, Stream, StreamSettings, Tail};
use super::recover::{FreeFile, free_name};
use super::segment::{SEGMENT_HEADER, Segment, SegmentHeader, segment_name};
use crate::log::errors::{AppendError, LogError, RETRY_AFTER_DISK};
use crate::log::frame::ALIGN;
use crate::log::settings::Durability;
use crate::log::storage::{Storage, StorageFile, write_all};
use std::io::{self, IoSlice};
use std::sync::Arc;

/// Free files that are kept for recycling, their pages still cached; more are removed, their blocks given back.
const SPARE_FILES: usize = 2;

/// The segment of an empty storage.
pub(super) fn first_segment(
    storage: &dyn Storage,
    settings: &StreamSettings,
    free: &mut Vec<FreeFile>,
) -> Result<Segment, LogError> {
    let what = "creating the first segment";
    let mut file = match free.pop() {
        Some(file) => file,
        None => create(storage, 0, settings.segment_size).map_err(LogError::io(what))?,
    };
    let header = SegmentHeader::new(0, 0, 0);
    name_segment(storage, settings, &mut file, header)
        .map_err(|failure| LogError::io(what)(failure.error))?;
    Ok(Segment::new(header, settings.segment_size, file.file))
}

fn create(storage: &dyn Storage, number: u64, size: u64) -> io::Result<FreeFile> {
    let name = free_name(number);
    let file = storage.create(&name, size)?;
    Ok(FreeFile { name, file })
}

/// A roll that did not succeed.
struct RollFailure {
    error: io::Error,
    /// Whether the file may have the segment's name after a crash.
    named: bool,
}

impl From<io::Error> for RollFailure {
    fn from(error: io::Error) -> Self {
        Self {
            error,
            named: false,
        }
    }
}

/// Makes a free file the segment that `header` says.
fn name_segment(
    storage: &dyn Storage,
    settings: &StreamSettings,
    free: &mut FreeFile,
    header: SegmentHeader,
) -> Result<(), RollFailure> {
    let fsync = settings.durability == Durability::Fsync;
    let bytes = header.encode();
    write_all(&*free.file, &mut [IoSlice::new(&bytes)], 0).map_err(|failure| failure.error)?;
    if fsync {
        free.file.sync()?;
    }
    let name = segment_name(header.base);
    let named = |error| RollFailure { error, named: true };
    storage.rename(&free.name, &name).map_err(named)?;
    if fsync && let Err(error) = storage.sync_dir() {
        if storage.rename(&name, &free.name).is_err() {
            free.name = name;
        }
        return Err(named(error));
    }
    Ok(())
}

impl Shared {
    /// Makes sure that `total` bytes fit the active segment.
    pub(super) fn make_room(&self, tail: &mut Tail, total: u64) -> Result<(), AppendError> {
        let limit = self.settings.segment_size.saturating_sub(SEGMENT_HEADER);
        if total > limit {
            return Err(AppendError::TooLarge {
                bytes: total,
                limit,
            });
        }
        if !tail.broken && tail.active.limit() - tail.active.end() >= total {
            return Ok(());
        }
        // An empty segment is replaced where it is; otherwise the next one begins where this one ends.
        let base = if tail.active.is_empty() {
            tail.active.base
        } else {
            tail.active.end()
        };
        self.roll(tail, base.max(tail.attempted), self.settings.max_bytes)
    }

    /// Seals the active segment and opens one at `base`, if that takes no more than `max_bytes`.
    pub(super) fn roll(
        &self,
        tail: &mut Tail,
        base: u64,
        max_bytes: u64,
    ) -> Result<(), AppendError> {
        let old = Arc::clone(&tail.active);
        let previous = if old.is_empty() {
            old.previous
        } else {
            (old.end(), old.stamp())
        };
        let header = SegmentHeader::new(base, previous.0, previous.1);
        let mut free = self.take_free(tail, max_bytes)?;
        let synced = self.sync_renames(tail).map_err(RollFailure::from);
        let named =
            synced.and_then(|()| name_segment(&*self.storage, &self.settings, &mut free, header));
        if let Err(failure) = named {
            if failure.error.kind() != io::ErrorKind::NotFound {
                tail.free.push(free);
            }
            if failure.named {
                // After a crash there may be a segment that says the active one ends here, and begins at `base`.
                tail.broken = true;
                tail.attempted = base;
            }
            return Err(failure.error.into());
        }
        let segment = Arc::new(Segment::new(header, self.settings.segment_size, free.file));
        self.install(tail, &old, segment);
        Ok(())
    }

    fn install(&self, tail: &mut Tail, old: &Arc<Segment>, segment: Arc<Segment>) {
        let mut segments = self.segments.write();
        if old.is_empty() {
            segments.pop_back();
        }
        segments.push_back(Arc::clone(&segment));
        drop(segments);
        self.end.send_replace(segment.end());
        tail.broken = false;
        tail.active = segment;
        if !old.is_empty() {
            self.seal(tail, Arc::clone(&old.file));
        } else if old.base != tail.active.base {
            drop(self.storage.remove(&segment_name(old.base)));
        }
    }

    /// What is sealed outlives a loss of power, in either durability. With `fsync` it is synced already.
    fn seal(&self, tail: &Tail, file: Arc<dyn StorageFile>) {
        if self.settings.durability == Durability::Os {
            match &tail.sealer {
                Some(sealer) => sealer.seal(file),
                None => drop(file.sync().and_then(|()| self.storage.sync_dir())),
            }
        }
    }

    /// Before a recycled file is written over, its old name must be gone for good.
    fn sync_renames(&self, tail: &mut Tail) -> io::Result<()> {
        if tail.dir_dirty && self.settings.durability == Durability::Fsync {
            self.storage.sync_dir()?;
        }
        tail.dir_dirty = false;
        Ok(())
    }

    fn take_free(&self, tail: &mut Tail, max_bytes: u64) -> Result<FreeFile, AppendError> {
        if let Some(free) = tail.free.pop() {
            return Ok(free);
        }
        if self.total(tail) + self.settings.segment_size > max_bytes {
            return Err(AppendError::Full {
                reason: "log full",
                retry_after: RETRY_AFTER_DISK,
            });
        }
        tail.next_free += 1;
        Ok(create(
            &*self.storage,
            tail.next_free,
            self.settings.segment_size,
        )?)
    }
}

impl Stream {
    /// Gives back the sealed segments that lie wholly below `position`; how many.
    pub fn release_before(&self, position: u64) -> usize {
        let shared = &*self.shared;
        let mut tail = shared.tail.lock();
        let mut released = 0;
        loop {
            let Some(oldest) = shared.segments.read().front().cloned() else {
                break;
            };
            if Arc::ptr_eq(&oldest, &tail.active) || oldest.end() > position {
                break;
            }
            tail.next_free += 1;
            let name = free_name(tail.next_free);
            if shared
                .storage
                .rename(&segment_name(oldest.base), &name)
                .is_err()
            {
                break;
            }
            tail.dir_dirty = true;
            oldest.release();
            shared.segments.write().pop_front();
            shared.recycle(&mut tail, &oldest, name);
            released += 1;
        }
        released
    }

    /// Whether an append of `total` bytes can be taken without giving back a segment.
    #[must_use]
    pub fn has_room(&self, total: u64) -> bool {
        let tail = self.shared.tail.lock();
        let settings = &self.shared.settings;
        (!tail.broken && tail.active.limit() - tail.active.end() >= total)
            || !tail.free.is_empty()
            || self.shared.total(&tail) + settings.segment_size <= settings.max_bytes
    }

    /// Makes every later frame lie at or beyond `position` (and at a multiple of 8). A full log gets one segment more
    /// than it may have: what is in it cannot be worked off before it is open.
    pub(crate) fn open_beyond(&self, position: u64) -> Result<(), AppendError> {
        let mut tail = self.shared.tail.lock();
        if position <= tail.active.end() {
            return Ok(());
        }
        self.shared
            .roll(&mut tail, position.next_multiple_of(ALIGN), u64::MAX)
    }

    /// Seals the segment that is written to, so that it can be given back once nobody needs it.
    pub(crate) fn seal(&self) -> Result<(), AppendError> {
        let mut tail = self.shared.tail.lock();
        if tail.active.is_empty() {
            return Ok(());
        }
        let base = tail.active.end().max(tail.attempted);
        self.shared
            .roll(&mut tail, base, self.shared.settings.max_bytes)
    }

    /// Removes free files that are over `max_bytes`: it may have been lowered.
    pub(super) fn trim_free(&self) {
        let shared = &*self.shared;
        let mut tail = shared.tail.lock();
        while shared.total(&tail) > shared.settings.max_bytes {
            let Some(file) = tail.free.pop() else { return };
            if let Err(error) = shared.storage.remove(&file.name) {
                tracing::warn!(%error, "a free segment could not be removed");
            }
        }
    }

    /// Takes all of `max_bytes`.
    pub(super) fn preallocate(&self) -> Result<(), LogError> {
        let shared = &*self.shared;
        let mut tail = shared.tail.lock();
        while shared.total(&tail) + shared.settings.segment_size <= shared.settings.max_bytes {
            tail.next_free += 1;
            let file = create(
                &*shared.storage,
                tail.next_free,
                shared.settings.segment_size,
            )
            .map_err(LogError::io("preallocating the segments"))?;
            tail.free.push(file);
        }
        Ok(())
    }
}

impl Shared {
    /// Keeps the file for recycling, or removes it.
    fn recycle(&self, tail: &mut Tail, segment: &Segment, name: String) {
        let kept = self.settings.preallocate_all || tail.free.len() < SPARE_FILES;
        let wanted = kept && self.total(tail) + segment.size <= self.settings.max_bytes;
        let same_size = segment.size == self.settings.segment_size;
        // One that cannot be removed still takes its place.
        if same_size && (wanted || self.storage.remove(&name).is_err()) {
            tail.free.push(FreeFile {
                name,
                file: Arc::clone(&segment.file),
            });
        } else if !same_size {
            drop(self.storage.remove(&name));
        }
    }
}
