//! A piece as it lies in a frame: a 16-byte header and one trace's bytes.
//!
//! Header, little endian: length of the body u32, CRC32C of the body u32, spans u32, partition u16, flags u16 (1: it was
//! erased; others are reserved). Pieces
//! follow one another without padding. A [`Ref`](super::Ref) names the body; its header lies right before it, so that
//! one read gets both and can be checked alone.

use super::checksum::crc32c;
use super::frame::FRAME_HEADER;
use bytes::Bytes;

/// Bytes before each piece.
pub const PIECE_HEADER: usize = 16;

/// The walk over a frame's pieces met bytes that are no piece; nothing after them can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no piece at offset {offset} of the frame")]
pub struct BadPiece {
    /// Distance from the frame's first byte.
    pub offset: u32,
}

/// One piece of a stored frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPiece {
    /// The partition that owns its trace.
    pub partition: u16,
    /// Spans in it.
    pub spans: u32,
    /// Distance of the body from the frame's first byte: the `offset` of its [`Ref`](super::Ref).
    pub offset: u32,
    /// The trace's bytes, a slice of the frame's.
    pub body: Bytes,
    /// Of its payload nothing is left.
    pub erased: bool,
}

const ERASED: u16 = 1;

/// Fills the header of a piece. `header` is [`PIECE_HEADER`] long; a shorter one is left alone.
pub fn write_piece_header(header: &mut [u8], partition: u16, spans: u32, body: &[u8]) {
    let Some((header, _)) = header.split_first_chunk_mut::<PIECE_HEADER>() else {
        return;
    };
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    let [first, second, third, fourth] =
        [length, crc32c(body), spans, u32::from(partition)].map(u32::to_le_bytes);
    for (slot, word) in header
        .chunks_exact_mut(4)
        .zip([first, second, third, fourth])
    {
        slot.copy_from_slice(&word);
    }
}

/// The same for a piece of which nothing is left.
pub(super) fn write_erased_header(header: &mut [u8], partition: u16, spans: u32, body: &[u8]) {
    write_piece_header(header, partition, spans, body);
    if let Some((_, flags)) = header.split_last_chunk_mut() {
        *flags = ERASED.to_le_bytes();
    }
}

/// Walks the pieces of a frame's body in order. The frame's own checksum covers them, so theirs are not checked again.
pub fn pieces(body: &Bytes) -> Pieces {
    Pieces {
        rest: body.clone(),
        offset: FRAME_HEADER,
    }
}

/// The walk of [`pieces`].
#[derive(Debug)]
pub struct Pieces {
    rest: Bytes,
    offset: usize,
}

impl Iterator for Pieces {
    type Item = Result<StoredPiece, BadPiece>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let piece = self.take();
        if piece.is_err() {
            self.rest.clear();
        }
        Some(piece)
    }
}

impl Pieces {
    fn take(&mut self) -> Result<StoredPiece, BadPiece> {
        let bad = BadPiece {
            offset: u32::try_from(self.offset).unwrap_or(u32::MAX),
        };
        let header = Header::parse(&self.rest).ok_or(bad)?;
        let whole = header.length.checked_add(PIECE_HEADER).ok_or(bad)?;
        if self.rest.len() < whole {
            return Err(bad);
        }
        let body = self.rest.split_to(whole).slice(PIECE_HEADER..);
        let offset = u32::try_from(self.offset + PIECE_HEADER).map_err(|_| bad)?;
        self.offset += whole;
        Ok(StoredPiece {
            partition: header.partition,
            spans: header.spans,
            offset,
            body,
            erased: header.erased,
        })
    }
}

/// A piece header, taken apart.
pub(crate) struct Header {
    pub(crate) length: usize,
    pub(crate) crc: u32,
    spans: u32,
    partition: u16,
    pub(crate) erased: bool,
}

impl Header {
    /// `None` when `bytes` is too short.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let header = bytes.first_chunk::<PIECE_HEADER>()?;
        let [
            l0,
            l1,
            l2,
            l3,
            c0,
            c1,
            c2,
            c3,
            s0,
            s1,
            s2,
            s3,
            p0,
            p1,
            f0,
            f1,
        ] = *header;
        Some(Self {
            length: u32::from_le_bytes([l0, l1, l2, l3]) as usize,
            crc: u32::from_le_bytes([c0, c1, c2, c3]),
            spans: u32::from_le_bytes([s0, s1, s2, s3]),
            partition: u16::from_le_bytes([p0, p1]),
            erased: u16::from_le_bytes([f0, f1]) & ERASED != 0,
        })
    }
}

/// A piece that was read alone, header first, was erased.
pub(crate) fn is_erased(piece: &[u8]) -> bool {
    Header::parse(piece).is_some_and(|header| header.erased)
}

/// The body of a piece that was read alone, header first; `None` when length or checksum do not match.
pub(crate) fn checked_body(piece: &Bytes) -> Option<Bytes> {
    let header = Header::parse(piece)?;
    let body = piece.slice(PIECE_HEADER..);
    (header.length == body.len() && header.crc == crc32c(&body)).then_some(body)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Pieces with headers, as a frame body.
    pub(crate) fn body_of(bodies: &[&[u8]]) -> Bytes {
        let mut out = Vec::new();
        for (index, body) in bodies.iter().enumerate() {
            let at = out.len();
            out.resize(at + PIECE_HEADER, 0);
            write_piece_header(&mut out[at..], index as u16, 1 + index as u32, body);
            out.extend_from_slice(body);
        }
        Bytes::from(out)
    }

    #[test]
    fn pieces_come_back_with_their_places() {
        let body = body_of(&[b"one", b"", b"three"]);
        let found: Vec<_> = pieces(&body).map(Result::unwrap).collect();
        let seen: Vec<_> = found
            .iter()
            .map(|p| (p.partition, p.spans, p.offset, &p.body[..]))
            .collect();
        assert_eq!(
            seen,
            [
                (0, 1, 64, &b"one"[..]),
                (1, 2, 83, b""),
                (2, 3, 99, b"three")
            ]
        );
    }

    #[test]
    fn a_cut_body_ends_in_an_error_and_never_panics() {
        let body = body_of(&[b"one", b"two"]);
        for cut in 1..body.len() {
            let found: Vec<_> = pieces(&body.slice(..cut)).collect();
            let whole = usize::from(cut >= 19);
            assert_eq!(
                found.iter().filter(|p| p.is_ok()).count(),
                whole,
                "cut at {cut}"
            );
            assert_eq!(
                found.last().is_some_and(Result::is_err),
                cut != 19,
                "cut at {cut}"
            );
        }
        let hostile = Bytes::from_static(&[0xff; 40]);
        assert_eq!(
            pieces(&hostile).collect::<Vec<_>>(),
            [Err(BadPiece { offset: 48 })]
        );
    }

    #[test]
    fn a_piece_alone_is_checked() {
        let piece = body_of(&[b"hello"]);
        assert_eq!(checked_body(&piece).as_deref(), Some(&b"hello"[..]));
        for bit in 0..piece.len() * 8 {
            let mut bad = piece.to_vec();
            bad[bit / 8] ^= 1 << (bit % 8);
            let in_length_or_crc_or_body = !(64..128).contains(&bit);
            assert_eq!(
                checked_body(&Bytes::from(bad)).is_none(),
                in_length_or_crc_or_body,
                "bit {bit}"
            );
        }
        assert_eq!(checked_body(&piece.slice(..15)), None);
    }
}
