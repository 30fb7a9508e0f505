//! On restart: which pieces of the span log are named by entries already.
//!
//! A verdict freezes the pieces that had come, and all pieces of a trace between an entry's first and last are in it; so
//! a piece is covered when an entry of its trace spans its position. Entries of late and filtered pieces cover one piece alone:
//! others of its trace may lie in the same frame, and be undecided.

use super::entry::Extent;
use super::packed::PackedRef;
use crate::otlp::TraceId;
use hashbrown::{HashMap, HashSet};

#[derive(Debug, Default)]
pub(crate) struct Coverage {
    extents: HashMap<TraceId, Vec<(u64, u64)>>,
    /// By trace, frame and offset.
    pieces: HashSet<(TraceId, u64, u64)>,
}

impl Coverage {
    pub(crate) fn add(&mut self, trace: TraceId, extent: Extent) {
        self.extents
            .entry(trace)
            .or_default()
            .push((extent.first, extent.last));
    }

    /// The extent of one piece alone.
    pub(crate) fn add_piece(&mut self, trace: TraceId, extent: Extent) {
        let offset = extent.last.saturating_sub(extent.first);
        self.pieces.insert((trace, extent.first, offset));
    }

    /// These pieces, and no others between them.
    pub(crate) fn add_pieces(&mut self, trace: TraceId, places: &[PackedRef]) {
        self.pieces.extend(places.iter().map(|packed| {
            let place = packed.place();
            (trace, place.position, u64::from(place.offset))
        }));
    }

    pub(crate) fn covers(&self, trace: TraceId, position: u64, offset: u32) -> bool {
        if self.pieces.contains(&(trace, position, u64::from(offset))) {
            return true;
        }
        let extents = self
            .extents
            .get(&trace)
            .map(Vec::as_slice)
            .unwrap_or_default();
        extents
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&position))
    }
}
