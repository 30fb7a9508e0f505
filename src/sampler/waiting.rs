//! An undecided trace as the decision log has it: what a restart takes up instead of folding its pieces again.

use super::checkpoint::Checkpoint;
use super::packed::PackedRef;
use crate::otlp::TraceId;
use hashbrown::HashMap;

#[derive(Debug)]
pub(crate) struct Waiting {
    /// The newest entry.
    pub(crate) entry: Checkpoint,
    /// The pieces that its entries name, in log order.
    pub(crate) places: Vec<PackedRef>,
    /// Where the whole entry lies in the decision log.
    pub(crate) base: u64,
    /// All entries that the newest one goes on from were read: else what they named is lost to the trace.
    pub(crate) complete: bool,
}

impl Waiting {
    /// Takes an entry in the order of the decision log. The last position that it names; `None` when it is of no trace.
    pub(crate) fn take(
        all: &mut HashMap<TraceId, Self>,
        entry: Checkpoint,
        position: u64,
    ) -> Option<u64> {
        let trace = entry.trace()?;
        let before = all.remove(&trace).filter(|_| entry.earlier > 0);
        let (mut places, base) = before.map_or((Vec::new(), position), |w| (w.places, w.base));
        let complete = places.len() == entry.earlier as usize;
        places.extend(entry.places());
        let last = places.last().map_or(0, |place| place.place().position);
        let waiting = Self {
            entry,
            places,
            base,
            complete,
        };
        all.insert(trace, waiting);
        Some(last)
    }
}
