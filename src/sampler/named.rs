//! Which undecided traces have an `undecided` entry, and when they are looked at again.
//!
//! A trace is looked at a minute after its last entry: pieces that came since are named by a further one, so that they
//! hold a restart back no longer; and an entry that the decision log would let go of but for this trace is written anew.
//! So a trace that waits for hours costs a look a minute, its pieces once, and an entry for each late window.

use hashbrown::HashMap;
use std::collections::VecDeque;

/// What an entry is worth a trace, in seconds: design.md section 2.
pub(crate) const MINUTE: u32 = 60;

/// What the entries of one trace say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Named {
    /// Its whole entry lies at or behind this position of the decision log.
    pub(crate) base: u64,
    /// Pieces that they name: the first so many.
    pub(crate) pieces: u32,
    /// Its state is of other rules: a whole entry is due whatever has come.
    pub(crate) stale: bool,
    visit: u32,
}

/// The named traces of one partition, by skeleton slot.
#[derive(Debug, Default)]
pub(crate) struct NamedTraces {
    by_slot: HashMap<u32, Named, foldhash::fast::RandomState>,
    /// (second, slot), in order. One that does not agree with the map is of a trace that is no more.
    visits: VecDeque<(u32, u32)>,
}

/// Map entry with control byte and load factor, and the queue's entry.
pub(crate) const NAMED_BYTES: u64 = 64;

impl NamedTraces {
    pub(crate) fn get(&self, slot: u32) -> Option<Named> {
        self.by_slot.get(&slot).copied()
    }

    /// Pieces of the trace that entries name.
    pub(crate) fn pieces(&self, slot: u32) -> u32 {
        self.get(slot).map_or(0, |named| named.pieces)
    }

    /// Entries of the trace name `pieces` pieces from `base` on; it is looked at again at `visit`. Whether it is new.
    pub(crate) fn name(&mut self, slot: u32, base: u64, pieces: u32, visit: u32) -> bool {
        self.visits.push_back((visit, slot));
        let named = Named {
            base,
            pieces,
            stale: false,
            visit,
        };
        self.by_slot.insert(slot, named).is_none()
    }

    /// The trace's state was folded anew.
    pub(crate) fn outdate(&mut self, slot: u32) {
        if let Some(named) = self.by_slot.get_mut(&slot) {
            named.stale = true;
        }
    }

    /// The trace is decided; whether it was there.
    pub(crate) fn forget(&mut self, slot: u32) -> bool {
        self.by_slot.remove(&slot).is_some()
    }

    /// A trace to be looked at; it must be named again, or put off.
    pub(crate) fn due(&mut self, second: u32) -> Option<(u32, Named)> {
        while self.visits.front().is_some_and(|(at, _)| *at <= second) {
            let (at, slot) = self.visits.pop_front()?;
            if let Some(named) = self.get(slot).filter(|named| named.visit == at) {
                return Some((slot, named));
            }
        }
        None
    }

    /// The trace has nothing new.
    pub(crate) fn put_off(&mut self, slot: u32, visit: u32) {
        if let Some(named) = self.by_slot.get_mut(&slot) {
            named.visit = visit;
            self.visits.push_back((visit, slot));
        }
    }

    /// The oldest position of the decision log that a trace still needs.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.by_slot.values().map(|named| named.base).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_that_is_used_again_is_not_taken_for_the_trace_before() {
        let mut traces = NamedTraces::default();
        assert!(traces.name(1, 500, 3, 60));
        assert!(traces.name(2, 400, 1, 61));
        assert_eq!((traces.pieces(1), traces.oldest()), (3, Some(400)));
        assert!(traces.forget(1));
        assert!(!traces.forget(1));
        assert!(traces.name(1, 900, 4, 130));
        assert_eq!(traces.due(59), None);
        assert_eq!(traces.due(100).map(|(slot, _)| slot), Some(2));
        traces.put_off(2, 160);
        assert_eq!(traces.due(100), None);
        assert_eq!(
            traces.due(130).map(|(slot, named)| (slot, named.pieces)),
            Some((1, 4))
        );
        assert!(!traces.name(1, 900, 6, 190), "it was named before");
        assert_eq!(traces.pieces(1), 6);
        traces.outdate(2);
        assert_eq!(
            traces.due(160).map(|(slot, named)| (slot, named.stale)),
            Some((2, true))
        );
    }
}
