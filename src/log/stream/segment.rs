//! One segment file: its header, its place in the log's positions, what of it holds frames.
//!
//! A file is named by its base position (20 digits); the byte at file offset `n` has position `base + n`. Header, 64
//! bytes little endian: magic u32, CRC32C of the bytes from 8 on u32, format version u32, header size u32, base u64, end
//! of the segment before it u64, last stamp before it u64, salt of its frames u32, 20 bytes reserved. So a sealed segment's end is known from
//! its successor, without a scan.

use crate::log::checksum::crc32c;
use crate::log::errors::LogError;
use crate::log::storage::{StorageFile, read_full};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes before a segment's first frame.
pub(crate) const SEGMENT_HEADER: u64 = 64;
/// Format of segments and frames.
pub(crate) const FORMAT_VERSION: u32 = 1;
/// "TWs1", little endian.
const MAGIC: u32 = 0x3173_5754;

/// What a segment says about itself and its predecessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub(super) base: u64,
    pub(super) previous_end: u64,
    pub(super) previous_stamp: u64,
    pub(super) salt: u32,
}

impl SegmentHeader {
    /// The header of a new segment, its salt one that no segment had before.
    pub(super) fn new(base: u64, previous_end: u64, previous_stamp: u64) -> Self {
        let salt = (RandomState::new().hash_one(base) >> 32) as u32;
        Self {
            base,
            previous_end,
            previous_stamp,
            salt,
        }
    }

    pub(super) fn encode(&self) -> [u8; SEGMENT_HEADER as usize] {
        let mut out = [0; SEGMENT_HEADER as usize];
        let size = SEGMENT_HEADER as u32;
        let fields: [(usize, &[u8]); 7] = [
            (0, &MAGIC.to_le_bytes()),
            (8, &FORMAT_VERSION.to_le_bytes()),
            (12, &size.to_le_bytes()),
            (16, &self.base.to_le_bytes()),
            (24, &self.previous_end.to_le_bytes()),
            (32, &self.previous_stamp.to_le_bytes()),
            (40, &self.salt.to_le_bytes()),
        ];
        for (at, field) in fields {
            out[at..at + field.len()].copy_from_slice(field);
        }
        let crc = crc32c(&out[8..]);
        out[4..8].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// `None`: not the header of the segment at `base` (torn, stale or foreign). An unknown version is an error: those
    /// bytes are somebody's data.
    fn decode(bytes: &[u8; SEGMENT_HEADER as usize], base: u64) -> Result<Option<Self>, LogError> {
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        if word(0) != MAGIC || word(4) != crc32c(&bytes[8..]) {
            return Ok(None);
        }
        if word(8) != FORMAT_VERSION {
            return Err(LogError::Version {
                what: "segment",
                found: word(8),
                known: FORMAT_VERSION,
            });
        }
        let header = Self {
            base: long(16),
            previous_end: long(24),
            previous_stamp: long(32),
            salt: word(40),
        };
        Ok((header.base == base).then_some(header))
    }

    /// Reads the header of the file that is named `base`; a short or unreadable one counts as damaged.
    pub(super) fn read(file: &dyn StorageFile, base: u64) -> Result<Option<Self>, LogError> {
        let mut bytes = [0; SEGMENT_HEADER as usize];
        match read_full(file, &mut bytes, 0) {
            Ok(read) if read == bytes.len() => Self::decode(&bytes, base),
            _ => Ok(None),
        }
    }
}

/// The file name of the segment at `base`.
pub(super) fn segment_name(base: u64) -> String {
    format!("{base:020}")
}

/// The base position that a file name stands for.
pub(super) fn base_of(name: &str) -> Option<u64> {
    (name.len() == 20 && name.bytes().all(|b| b.is_ascii_digit())).then(|| name.parse().ok())?
}

/// A segment that holds (or may hold) frames.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(super) base: u64,
    pub(super) size: u64,
    pub(super) file: Arc<dyn StorageFile>,
    /// What its header says of its predecessor; an empty segment is replaced under the same words.
    pub(super) previous: (u64, u64),
    pub(super) salt: u32,
    end: AtomicU64,
    stamp: AtomicU64,
    released: AtomicBool,
}

impl Segment {
    pub(super) fn new(header: SegmentHeader, size: u64, file: Arc<dyn StorageFile>) -> Self {
        let SegmentHeader {
            base,
            previous_end,
            previous_stamp,
            salt,
        } = header;
        let (end, stamp) = (
            AtomicU64::new(base + SEGMENT_HEADER),
            AtomicU64::new(previous_stamp),
        );
        let previous = (previous_end, previous_stamp);
        Self {
            base,
            size,
            file,
            previous,
            salt,
            end,
            stamp,
            released: AtomicBool::new(false),
        }
    }

    /// Position of the first frame.
    pub(super) fn first(&self) -> u64 {
        self.base + SEGMENT_HEADER
    }

    /// Position after the last whole frame. Readers stay below it.
    pub(crate) fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// Position after the file's last byte.
    pub(super) fn limit(&self) -> u64 {
        self.base.saturating_add(self.size)
    }

    /// Stamp of the last frame, or of the last one before the segment.
    pub(crate) fn stamp(&self) -> u64 {
        self.stamp.load(Ordering::Acquire)
    }

    /// Whether it holds no frame.
    pub(super) fn is_empty(&self) -> bool {
        self.end() == self.first()
    }

    /// Makes everything below `end` visible.
    pub(super) fn publish(&self, end: u64, stamp: u64) {
        self.stamp.store(stamp, Ordering::Release);
        self.end.store(end, Ordering::Release);
    }

    /// Marks it as taken by retention: the file may be written over from now on.
    pub(super) fn release(&self) {
        self.released.store(true, Ordering::SeqCst);
    }

    /// Whether what was read before this call may have been written over.
    pub(super) fn is_released(&self) -> bool {
        self.released.load(Ordering::SeqCst)
    }

    /// Reads at a position; the number of bytes read.
    pub(super) fn read(&self, position: u64, buffer: &mut [u8]) -> io::Result<usize> {
        read_full(&*self.file, buffer, position.saturating_sub(self.base))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_is_found_only_under_its_own_name() {
        let header = SegmentHeader {
            base: 640,
            previous_end: 600,
            previous_stamp: 7,
            salt: 9,
        };
        let bytes = header.encode();
        assert_eq!(SegmentHeader::decode(&bytes, 640).unwrap(), Some(header));
        assert_eq!(SegmentHeader::decode(&bytes, 648).unwrap(), None);
        let mut newer = bytes;
        newer[8] = 9;
        assert_eq!(
            SegmentHeader::decode(&newer, 640).unwrap(),
            None,
            "a changed byte is damage"
        );
        let crc = crc32c(&newer[8..]);
        newer[4..8].copy_from_slice(&crc.to_le_bytes());
        assert!(matches!(
            SegmentHeader::decode(&newer, 640),
            Err(LogError::Version { found: 9, .. })
        ));
    }

    #[test]
    fn names_are_bases() {
        for (name, base) in [
            ("00000000000000000640", Some(640)),
            ("640", None),
            ("+0000000000000000640", None),
            ("99999999999999999999", None),
            ("free-1", None),
        ] {
            assert_eq!(base_of(name), base, "{name}");
        }
        assert_eq!(base_of(&segment_name(u64::MAX)), Some(u64::MAX));
    }
}
