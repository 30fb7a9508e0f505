//! The places of a trace's pieces as bytes: each as what it adds to the one before.
//!
//! A piece is four base-128 numbers: how far its frame lies behind the last piece's, offset, length, spans. That takes
//! 10 or 11 bytes at 200 MB/s where the ref itself takes 16. A piece may begin in one stretch of memory and end in the
//! next; the reader is told how many there are.

use super::packed::PackedRef;
use crate::log::Ref;

/// Four numbers of 64, 26, 27 and 21 bits.
const LONGEST: usize = 10 + 4 + 4 + 3;

/// One piece, encoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Step {
    /// `place` behind a piece of the frame at `last`.
    pub(crate) fn new(place: PackedRef, last: u64) -> Self {
        let mut step = Self {
            bytes: [0; LONGEST],
            length: 0,
        };
        let count = place.raw();
        let place = place.place();
        step.put(place.position.wrapping_sub(last));
        step.put(u64::from(place.offset));
        step.put(u64::from(place.length));
        step.put(u64::from(count));
        step
    }

    fn put(&mut self, mut value: u64) {
        loop {
            #[allow(clippy::cast_possible_truncation, reason = "the low seven bits")]
            let low = value as u8 & 0x7f;
            value >>= 7;
            if let Some(slot) = self.bytes.get_mut(self.length) {
                *slot = low | u8::from(value > 0) << 7;
            }
            self.length += 1;
            if value == 0 {
                return;
            }
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// Reads `pieces` steps off `bytes`; fewer when they end before.
pub(crate) fn read_steps(mut bytes: &[u8], pieces: u32, out: &mut Vec<PackedRef>) {
    let mut position = 0_u64;
    for _ in 0..pieces {
        let (Some(behind), Some(offset), Some(length), Some(spans)) = (
            number(&mut bytes),
            number(&mut bytes),
            number(&mut bytes),
            number(&mut bytes),
        ) else {
            return;
        };
        position = position.wrapping_add(behind);
        let small = |value: u64| u32::try_from(value).unwrap_or_default();
        let place = Ref {
            position,
            offset: small(offset),
            length: small(length),
        };
        out.push(PackedRef::new(place, small(spans)));
    }
}

#[inline]
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if *byte < 0x80 {
            return Some(value);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place() -> impl Strategy<Value = PackedRef> {
        (
            0_u64..1 << 54,
            0_u32..1 << 26,
            0_u32..1 << 27,
            0_u32..1 << 21,
        )
            .prop_map(|(position, offset, length, spans)| {
                let place = Ref {
                    position,
                    offset,
                    length,
                };
                PackedRef::new(place, spans)
            })
    }

    proptest! {
        #[test]
        fn nothing_is_lost_in_any_order(places in proptest::collection::vec(place(), 0..9)) {
            let (mut bytes, mut last) = (Vec::new(), 0);
            for place in &places {
                bytes.extend_from_slice(Step::new(*place, last).bytes());
                last = place.place().position;
            }
            let mut found = Vec::new();
            read_steps(&bytes, u32::MAX, &mut found);
            prop_assert_eq!(found, places);
        }
    }

    #[test]
    fn a_piece_of_a_busy_log_takes_eleven_bytes() {
        // The next piece of a trace a second later, at 200 MB/s.
        let place = Ref {
            position: (1 << 40) + 200_000_000,
            offset: 200_000,
            length: 6_750,
        };
        let step = Step::new(PackedRef::new(place, 15), 1 << 40);
        assert_eq!(step.bytes().len(), 4 + 3 + 2 + 1);
        let first = Step::new(PackedRef::new(place, 15), 0);
        assert_eq!(first.bytes().len(), 6 + 3 + 2 + 1);
    }
}
