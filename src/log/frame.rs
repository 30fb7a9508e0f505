//! A frame: what one append writes, under one checksum.
//!
//! Header, 48 bytes little endian: magic u32, CRC32C of the bytes from 8 to 48 u32, body length u32, CRC32C of the body
//! u32, position u64, stamp u64, meta 16 bytes. Then the body, padded with zeros to 8 bytes. The header's checksum is
//! mixed with the segment's salt: together with the position it tells a frame from a stale one in a recycled file, also
//! where a loss of power has taken back positions that are now given again.

use super::checksum::crc32c;
pub use crate::otlp::Signal;
use crate::otlp::SourceId;
use bytes::Bytes;

/// Bytes before each frame's body.
pub const FRAME_HEADER: usize = 48;
/// Frames begin at multiples of this.
pub(crate) const ALIGN: u64 = 8;
/// "TWf1", little endian.
pub(crate) const MAGIC: u32 = 0x3166_5754;

/// What stands in the header of a frame of the span log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameMeta {
    /// The receiver it came through.
    pub source: SourceId,
    /// What its pieces are.
    pub signal: Signal,
    /// Version of the pieces' layout.
    pub version: u8,
    /// Pieces in it.
    pub pieces: u32,
    /// Spans in it.
    pub spans: u32,
}

impl FrameMeta {
    /// The 16 bytes of the header.
    #[must_use]
    pub fn pack(&self) -> [u8; 16] {
        let [s0, s1, s2, s3] = self.source.0.to_le_bytes();
        let [p0, p1, p2, p3] = self.pieces.to_le_bytes();
        let [n0, n1, n2, n3] = self.spans.to_le_bytes();
        [
            s0,
            s1,
            s2,
            s3,
            self.signal as u8,
            self.version,
            0,
            0,
            p0,
            p1,
            p2,
            p3,
            n0,
            n1,
            n2,
            n3,
        ]
    }

    /// `None` for a signal that this build does not know.
    #[must_use]
    pub fn unpack(meta: &[u8; 16]) -> Option<Self> {
        let [
            s0,
            s1,
            s2,
            s3,
            signal,
            version,
            _,
            _,
            p0,
            p1,
            p2,
            p3,
            n0,
            n1,
            n2,
            n3,
        ] = *meta;
        let signal = match signal {
            1 => Signal::Traces,
            2 => Signal::Logs,
            _ => return None,
        };
        Some(Self {
            source: SourceId(u32::from_le_bytes([s0, s1, s2, s3])),
            signal,
            version,
            pieces: u32::from_le_bytes([p0, p1, p2, p3]),
            spans: u32::from_le_bytes([n0, n1, n2, n3]),
        })
    }
}

/// A frame to be written.
#[derive(Debug, Clone, Copy)]
pub struct OutFrame<'a> {
    /// Log time, nanoseconds. Raised to the stream's last stamp where it is below it.
    pub stamp: u64,
    /// Free for the stream's owner.
    pub meta: [u8; 16],
    /// The body in parts.
    pub body: &'a [&'a [u8]],
}

impl OutFrame<'_> {
    /// Bytes of the body.
    pub(crate) fn body_len(&self) -> u64 {
        self.body.iter().map(|part| part.len() as u64).sum()
    }
}

/// A frame that was read and found whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFrame {
    /// Its first byte.
    pub position: u64,
    /// Where the next frame may begin.
    pub next: u64,
    /// Log time, nanoseconds.
    pub stamp: u64,
    /// As it was written.
    pub meta: [u8; 16],
    /// As it was written; an allocation of its own.
    pub body: Bytes,
}

/// A frame header, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) body_len: u32,
    pub(crate) body_crc: u32,
    pub(crate) position: u64,
    pub(crate) stamp: u64,
    pub(crate) meta: [u8; 16],
}

impl FrameHeader {
    /// The bytes on disk.
    pub(crate) fn encode(&self, salt: u32) -> [u8; FRAME_HEADER] {
        let mut out = [0; FRAME_HEADER];
        let fields: [(usize, &[u8]); 6] = [
            (0, &MAGIC.to_le_bytes()),
            (8, &self.body_len.to_le_bytes()),
            (12, &self.body_crc.to_le_bytes()),
            (16, &self.position.to_le_bytes()),
            (24, &self.stamp.to_le_bytes()),
            (32, &self.meta),
        ];
        for (at, field) in fields {
            out[at..at + field.len()].copy_from_slice(field);
        }
        let crc = crc32c(&out[8..]) ^ salt;
        out[4..8].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// `None` unless this is the whole header of the frame at `position`, written under `salt`.
    pub(crate) fn decode(bytes: &[u8; FRAME_HEADER], position: u64, salt: u32) -> Option<Self> {
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        if word(0) != MAGIC || long(16) != position || word(4) != crc32c(&bytes[8..]) ^ salt {
            return None;
        }
        let mut meta = [0; 16];
        meta.copy_from_slice(&bytes[32..]);
        Some(Self {
            body_len: word(8),
            body_crc: word(12),
            position,
            stamp: long(24),
            meta,
        })
    }

    /// The salt under which these would be a whole header. It proves nothing: check the body.
    pub(crate) fn salt_of(bytes: &[u8; FRAME_HEADER]) -> u32 {
        u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]) ^ crc32c(&bytes[8..])
    }

    /// Where the frame after this one begins.
    pub(crate) fn next(&self) -> u64 {
        self.position
            .saturating_add(frame_len(u64::from(self.body_len)))
    }
}

/// Bytes on disk of a frame with such a body: header and padding included.
pub(crate) fn frame_len(body: u64) -> u64 {
    (body + FRAME_HEADER as u64).next_multiple_of(ALIGN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_survives_the_round_trip_and_no_changed_bit() {
        let header = FrameHeader {
            body_len: 77,
            body_crc: 5,
            position: 4096,
            stamp: 9,
            meta: [7; 16],
        };
        let bytes = header.encode(11);
        assert_eq!(FrameHeader::decode(&bytes, 4096, 11), Some(header));
        assert_eq!(FrameHeader::decode(&bytes, 4104, 11), None);
        assert_eq!(FrameHeader::decode(&bytes, 4096, 12), None);
        assert_eq!(FrameHeader::salt_of(&bytes), 11);
        for bit in 0..FRAME_HEADER * 8 {
            let mut bad = bytes;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(FrameHeader::decode(&bad, 4096, 11), None, "bit {bit}");
        }
        assert_eq!(header.next(), 4096 + 128);
    }

    #[test]
    fn meta_survives_the_round_trip() {
        for signal in [Signal::Traces, Signal::Logs] {
            let meta = FrameMeta {
                source: SourceId::of("otlp"),
                signal,
                version: 1,
                pieces: 3,
                spans: 70_000,
            };
            assert_eq!(FrameMeta::unpack(&meta.pack()), Some(meta));
        }
        assert_eq!(FrameMeta::unpack(&[0; 16]), None);
    }
}
