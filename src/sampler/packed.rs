//! A ref and its span count in 16 bytes: what a skeleton holds for each of its pieces.
//!
//! position 54 bits (18 PB of log at one byte each), offset 26, length 27, spans 21: the receiver's largest message is
//! 64 MiB, so a record's offsets and lengths fit, and a span takes at least 28 bytes on the wire, so its count does.

use crate::log::Ref;

const OFFSET_BITS: u32 = 26;
const LENGTH_BITS: u32 = 27;
const SPANS_BITS: u32 = 21;

/// The largest piece that can be held, in bytes: larger ones are refused at intake.
pub(crate) const MAX_PIECE: usize = (1 << OFFSET_BITS) - 1;
/// The most spans of one piece.
pub(crate) const MAX_SPANS: usize = (1 << SPANS_BITS) - 1;

/// A packed ref; two words, so that its alignment is 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PackedRef([u64; 2]);

impl PackedRef {
    pub(crate) fn new(place: Ref, spans: u32) -> Self {
        let word = u128::from(place.position) << (OFFSET_BITS + LENGTH_BITS + SPANS_BITS)
            | u128::from(place.offset) << (LENGTH_BITS + SPANS_BITS)
            | u128::from(place.length) << SPANS_BITS
            | u128::from(spans);
        #[allow(clippy::cast_possible_truncation, reason = "the two halves")]
        Self([word as u64, (word >> 64) as u64])
    }

    fn word(self) -> u128 {
        u128::from(self.0[0]) | u128::from(self.0[1]) << 64
    }

    fn field(self, shift: u32, bits: u32) -> u32 {
        u32::try_from(self.word() >> shift & ((1 << bits) - 1)).unwrap_or_default()
    }

    pub(crate) fn place(self) -> Ref {
        Ref {
            position: u64::try_from(self.word() >> (OFFSET_BITS + LENGTH_BITS + SPANS_BITS))
                .unwrap_or_default(),
            offset: self.field(LENGTH_BITS + SPANS_BITS, OFFSET_BITS),
            length: self.field(SPANS_BITS, LENGTH_BITS),
        }
    }

    pub(crate) fn spans(self) -> u32 {
        self.field(0, SPANS_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost(position in 0_u64..1 << 54, offset in 0_u32..1 << 26, length in 0_u32..1 << 27, spans in 0_u32..1 << 21) {
            let place = Ref { position, offset, length };
            let packed = PackedRef::new(place, spans);
            prop_assert_eq!((packed.place(), packed.spans()), (place, spans));
        }
    }
}
