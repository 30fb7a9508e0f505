//! Where the spans of a dropped trace lie, for late evidence to bring them back.
//!
//! Of drops of this process the pieces are known. A drop entry tells only the first and the last frame: what was dropped
//! before a restart is found by reading the log between them (`restore`).

use super::entry::{Decision, Extent};
use super::evidence::Evidence;
use super::packed::PackedRef;
use crate::log::Ref;

/// The pieces of a dropped trace, late ones included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Left {
    /// Position of the first frame.
    pub(crate) first: u64,
    /// Position of the last frame.
    pub(crate) last: u64,
    /// Spans of all pieces.
    pub(crate) spans: u64,
    /// Log time of the first piece, whole seconds.
    pub(crate) first_second: u32,
    /// Pieces in frames up to this one were dropped under pressure.
    pub(crate) pressure_until: Option<u64>,
    /// The pieces in log order; none when only entries tell of them.
    pub(crate) places: Option<Vec<PackedRef>>,
}

/// Map entry and control byte of `hashbrown`, as they are when the map has just grown: seven sixteenths full.
const ENTRY_BYTES: u64 = ((size_of::<(u128, Left)>() + 1) * 16 / 7) as u64;

impl Left {
    /// What a drop of this process left.
    pub(crate) fn of(decision: &Decision, places: &[PackedRef]) -> Self {
        Self {
            places: Some(places.to_vec()),
            ..Self::between(decision, Extent::of(places))
        }
    }

    /// What a drop entry tells. The last frame of a piece that it names alone is its first.
    pub(crate) fn between(decision: &Decision, extent: Extent) -> Self {
        let last = if decision.is_of_piece(extent) {
            extent.first
        } else {
            extent.last
        };
        let pressure = decision.evidence == Evidence::Pressure;
        Self {
            first: extent.first,
            last,
            spans: extent.spans,
            first_second: decision.first_second,
            pressure_until: pressure.then_some(last),
            places: None,
        }
    }

    /// A late piece was dropped, too.
    pub(crate) fn extend(&mut self, late: Self) {
        self.last = self.last.max(late.last);
        self.spans += late.spans;
        self.places = match (self.places.take(), late.places) {
            (Some(mut places), Some(late)) => {
                places.extend(late);
                Some(places)
            }
            _ => None,
        };
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> u64 {
        let places = self.places.as_ref().map_or(0, Vec::capacity);
        ENTRY_BYTES + (places * size_of::<PackedRef>()) as u64
    }

    /// Whether the piece was dropped under pressure.
    pub(crate) fn under_pressure(&self, place: Ref) -> bool {
        self.pressure_until
            .is_some_and(|until| place.position <= until)
    }
}
