//! Opening a stream: which files are segments, where the last one ends, which can be written again.
//!
//! Only the tail is scanned: the end of every other segment stands in its successor's header. A crash in the middle of
//! taking a new segment leaves a file under a `free-` name, or a last segment without a frame; both are harmless.

use super::scan;
use super::segment::{SEGMENT_HEADER, Segment, SegmentHeader, base_of, segment_name};
use crate::log::errors::LogError;
use crate::log::storage::{Storage, StorageFile};
use std::collections::VecDeque;
use std::sync::Arc;

/// Files that hold nothing: to be written over.
const FREE_PREFIX: &str = "free-";

/// A file to be written over.
#[derive(Debug)]
pub(super) struct FreeFile {
    pub(super) name: String,
    pub(super) file: Arc<dyn StorageFile>,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Recovered {
    /// By base; the last one is the tail.
    pub(super) segments: VecDeque<Arc<Segment>>,
    pub(super) free: Vec<FreeFile>,
}

/// The name of the `number`th free file.
pub(super) fn free_name(number: u64) -> String {
    format!("{FREE_PREFIX}{number}")
}

/// The number in the name of a free file.
pub(super) fn free_number(name: &str) -> Option<u64> {
    name.strip_prefix(FREE_PREFIX)?.parse().ok()
}

/// A segment file and what its header says, if it is sound.
struct Found {
    base: u64,
    file: Arc<dyn StorageFile>,
    size: u64,
    header: Option<SegmentHeader>,
}

/// Reads the directory. Free files of another size than `segment_size` are removed.
pub(super) fn recover(storage: &dyn Storage, segment_size: u64) -> Result<Recovered, LogError> {
    let names = storage
        .list()
        .map_err(LogError::io("listing the log's segments"))?;
    let mut recovered = Recovered {
        segments: VecDeque::new(),
        free: open_free(storage, &names, segment_size)?,
    };
    let mut bases: Vec<u64> = names.iter().filter_map(|name| base_of(name)).collect();
    bases.sort_unstable();
    let mut found = bases
        .into_iter()
        .map(|base| open_segment(storage, base))
        .collect::<Result<VecDeque<_>, _>>()?;
    drop_unused_tail(storage, &mut found)?;
    let nexts: Vec<_> = found.iter().skip(1).map(|f| (f.base, f.header)).collect();
    for (index, one) in found.into_iter().enumerate() {
        let next = nexts.get(index).copied();
        recovered.segments.push_back(Arc::new(with_end(&one, next)));
    }
    drop_empty(storage, &mut recovered.segments)?;
    Ok(recovered)
}

fn open_free(
    storage: &dyn Storage,
    names: &[String],
    segment_size: u64,
) -> Result<Vec<FreeFile>, LogError> {
    let mut free = Vec::new();
    for name in names.iter().filter(|name| free_number(name).is_some()) {
        let file = storage
            .open(name)
            .map_err(LogError::io("opening a free segment"))?;
        if file.size().is_ok_and(|size| size == segment_size) {
            free.push(FreeFile {
                name: name.clone(),
                file,
            });
        } else {
            storage
                .remove(name)
                .map_err(LogError::io("removing a free segment of another size"))?;
        }
    }
    Ok(free)
}

fn open_segment(storage: &dyn Storage, base: u64) -> Result<Found, LogError> {
    let file = storage
        .open(&segment_name(base))
        .map_err(LogError::io("opening a segment"))?;
    let size = file.size().map_err(LogError::io("opening a segment"))?;
    let header = SegmentHeader::read(&*file, base)?;
    Ok(Found {
        base,
        file,
        size,
        header,
    })
}

impl Found {
    fn segment(&self) -> Segment {
        let header = self.header.unwrap_or_else(|| {
            let salt = scan::guess_salt(&*self.file, self.base).unwrap_or(0);
            SegmentHeader {
                base: self.base,
                previous_end: self.base,
                previous_stamp: 0,
                salt,
            }
        });
        Segment::new(
            header,
            self.size.max(SEGMENT_HEADER),
            Arc::clone(&self.file),
        )
    }
}

/// A last file whose header never reached the disk and that holds no frame was about to become a segment.
fn drop_unused_tail(storage: &dyn Storage, found: &mut VecDeque<Found>) -> Result<(), LogError> {
    while let Some(last) = found.back() {
        if last.header.is_some()
            || scan::end_of(&last.segment(), u64::MAX).0 > last.base + SEGMENT_HEADER
        {
            return Ok(());
        }
        storage
            .remove(&segment_name(last.base))
            .map_err(LogError::io("removing an unused segment"))?;
        found.pop_back();
    }
    Ok(())
}

/// A sealed segment without a frame was about to be removed.
fn drop_empty(
    storage: &dyn Storage,
    segments: &mut VecDeque<Arc<Segment>>,
) -> Result<(), LogError> {
    let Some(tail) = segments.pop_back() else {
        return Ok(());
    };
    for empty in segments.iter().filter(|segment| segment.is_empty()) {
        storage
            .remove(&segment_name(empty.base))
            .map_err(LogError::io("removing an empty segment"))?;
    }
    segments.retain(|segment| !segment.is_empty());
    segments.push_back(tail);
    Ok(())
}

/// The segment with its end: from the header of the next one where that makes sense, else by a scan.
/// Whatever it holds, it ends where the next one begins: a write that failed may have left more.
fn with_end(found: &Found, next: Option<(u64, Option<SegmentHeader>)>) -> Segment {
    let segment = found.segment();
    let limit = next.map_or(u64::MAX, |(base, _)| base).min(segment.limit());
    let header = next.and_then(|(_, header)| header);
    if header.is_some_and(|next| next.previous_end <= segment.base) {
        // Given up before anything in it was acknowledged; what it holds is the rest of writes that were refused.
        return segment;
    }
    let known = header.filter(|next| (segment.first()..=limit).contains(&next.previous_end));
    let (end, stamp) = match known {
        Some(next) => (next.previous_end, next.previous_stamp),
        None => scan::end_of(&segment, limit),
    };
    segment.publish(end, stamp);
    segment
}
