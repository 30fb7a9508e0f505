//! A record of a shared log: OTLP as it is, with no header of ours in it, so that any producer's will do.
//!
//! A piece's `offset` is that of its first byte in the record's value, plus one: no piece begins where its record does.

use super::refs::Ref;
use std::ops::Range;

/// `FrameMeta::version` of a frame whose body is a `TracesData` message, not pieces with headers.
pub const RECORD: u8 = 2;

/// Where a piece lies that takes `bytes` of its record's value.
#[must_use]
pub fn record_piece(position: u64, bytes: &Range<usize>) -> Ref {
    let small = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Ref {
        position,
        offset: small(bytes.start.saturating_add(1)),
        length: small(bytes.len()),
    }
}

/// The bytes of a record's value that a piece takes.
#[cfg_attr(not(feature = "kafka"), allow(dead_code))]
pub(crate) fn bytes_of(place: Ref) -> Range<usize> {
    let start = (place.offset as usize).saturating_sub(1);
    start..start.saturating_add(place.length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_found_again() {
        for bytes in [0..3, 5..5, 7..1_000_000] {
            let place = record_piece(9, &bytes);
            assert!(place.offset > 0);
            assert_eq!(bytes_of(place), bytes);
        }
    }
}
