//! A ref, its signal and its count in 16 bytes: what a skeleton holds for each of its pieces.
//!
//! position 54 bits (18 PB of log at one byte each), offset 26, length 27, signal 1, spans or log records 20: the receiver's
//! largest message is 64 MiB, so a record's offsets and lengths fit; a piece of more than a million spans is refused.

use crate::log::{Ref, Signal};

const OFFSET_BITS: u32 = 26;
const LENGTH_BITS: u32 = 27;
const SPANS_BITS: u32 = 21;
/// In the count: the piece holds log records.
const LOGS: u32 = 1 << (SPANS_BITS - 1);

/// The largest piece that can be held, in bytes: larger ones are refused at intake.
pub(crate) const MAX_PIECE: usize = (1 << OFFSET_BITS) - 1;
/// The most spans or log records of one piece.
pub(crate) const MAX_SPANS: usize = LOGS as usize - 1;

/// A packed ref; two words, so that its alignment is 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PackedRef([u64; 2]);

impl PackedRef {
    /// So many spans, or log records.
    pub(crate) fn of(place: Ref, signal: Signal, count: u32) -> Self {
        match signal {
            Signal::Traces => Self::new(place, count),
            Signal::Logs => Self::new(place, count | LOGS),
        }
    }

    /// With the count as [`Self::raw`] gives it.
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

    /// The count and the signal.
    pub(crate) fn raw(self) -> u32 {
        self.field(0, SPANS_BITS)
    }

    pub(crate) fn signal(self) -> Signal {
        match self.raw() & LOGS {
            0 => Signal::Traces,
            _ => Signal::Logs,
        }
    }

    /// Spans; none in a piece of log records.
    pub(crate) fn spans(self) -> u32 {
        match self.signal() {
            Signal::Traces => self.raw(),
            Signal::Logs => 0,
        }
    }

    /// Log records; none in a piece of spans.
    pub(crate) fn records(self) -> u32 {
        match self.signal() {
            Signal::Traces => 0,
            Signal::Logs => self.raw() & !LOGS,
        }
    }

    /// Spans or log records.
    pub(crate) fn count(self) -> u32 {
        self.raw() & !LOGS
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
            prop_assert_eq!((packed.place(), packed.raw()), (place, spans));
            let count = spans & !LOGS;
            let spans = PackedRef::of(place, Signal::Traces, count);
            prop_assert_eq!((spans.place(), spans.spans(), spans.records(), spans.signal()), (place, count, 0, Signal::Traces));
            let logs = PackedRef::of(place, Signal::Logs, count);
            prop_assert_eq!((logs.place(), logs.spans(), logs.records(), logs.count()), (place, 0, count, count));
        }
    }
}
