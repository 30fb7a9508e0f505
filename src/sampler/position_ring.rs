//! Which part of the log is still needed: a counter for each MiB of it.
//!
//! The oldest needed position is known to a MiB without an entry for each trace. Additions come in about rising order;
//! one below the ring's start (a replay) grows it to the front.

use std::collections::VecDeque;

const SHIFT: u32 = 20;

/// Counters of needed pieces by MiB of log.
#[derive(Debug, Default)]
pub(crate) struct PositionRing {
    first: u64,
    counts: VecDeque<u32>,
}

impl PositionRing {
    /// So many more pieces at `position` are needed.
    pub(crate) fn add(&mut self, position: u64, pieces: u32) {
        if pieces == 0 {
            return;
        }
        let slot = position >> SHIFT;
        if self.counts.is_empty() {
            self.first = slot;
        }
        while slot < self.first {
            self.counts.push_front(0);
            self.first -= 1;
        }
        let at = usize::try_from(slot - self.first).unwrap_or(usize::MAX);
        while self.counts.len() <= at {
            self.counts.push_back(0);
        }
        if let Some(count) = self.counts.get_mut(at) {
            *count += pieces;
        }
    }

    pub(crate) fn remove(&mut self, position: u64) {
        let at = (position >> SHIFT)
            .checked_sub(self.first)
            .and_then(|at| usize::try_from(at).ok());
        if let Some(count) = at.and_then(|at| self.counts.get_mut(at)) {
            *count = count.saturating_sub(1);
        }
        while self.counts.front() == Some(&0) {
            self.counts.pop_front();
            self.first += 1;
        }
    }

    /// A position at or below every needed one; `None` when nothing is needed.
    pub(crate) fn oldest(&self) -> Option<u64> {
        (!self.counts.is_empty()).then_some(self.first << SHIFT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn the_oldest_is_never_above_a_needed_one(steps in proptest::collection::vec((any::<bool>(), 0_u64..40), 1..200)) {
            let (mut ring, mut model) = (PositionRing::default(), BTreeMap::<u64, u32>::new());
            for (add, slot) in steps {
                let position = (slot << SHIFT) + 17;
                if add {
                    ring.add(position, 1);
                    *model.entry(slot).or_default() += 1;
                } else if let Some(count) = model.get_mut(&slot) {
                    ring.remove(position);
                    *count -= 1;
                    if *count == 0 { model.remove(&slot); }
                }
                prop_assert_eq!(ring.oldest(), model.keys().next().map(|slot| slot << SHIFT));
            }
        }
    }
}
