//! Which records are done, and up to where each partition may therefore be committed.
//!
//! Invariant: what is committed of a partition never passes a record that is not done. Records are done in any order; a
//! record read before its partition was taken away, or was read anew from elsewhere, counts for nothing afterwards.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A record under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) topic: Arc<str>,
    pub(super) partition: i32,
    pub(super) offset: i64,
    generation: u64,
}

#[derive(Debug)]
struct Partition {
    /// Another one each time that the partition is taken or read from elsewhere.
    generation: u64,
    /// Offsets under way or done behind one that is under way; in the order of the log, which has holes.
    open: VecDeque<(i64, bool)>,
    /// The offset to read next, as far as it is known.
    next: Option<i64>,
    /// What may be committed.
    done: Option<i64>,
    committed: Option<i64>,
}

/// The partitions that this member of the group owns.
#[derive(Debug, Default)]
pub(super) struct Offsets {
    owned: BTreeMap<(Arc<str>, i32), Partition>,
    generations: u64,
}

/// Where a partition stands: topic, partition, offset.
pub(super) type Place = (Arc<str>, i32, i64);

impl Offsets {
    /// The partition is ours from `start` on (as far as that is known); what was under way in it is forgotten.
    pub(super) fn own(&mut self, topic: &str, partition: i32, start: Option<i64>) {
        self.generations += 1;
        let fresh = Partition {
            generation: self.generations,
            open: VecDeque::new(),
            next: start,
            done: None,
            committed: None,
        };
        self.owned.insert((Arc::from(topic), partition), fresh);
    }

    pub(super) fn disown(&mut self, topic: &str, partition: i32) {
        self.owned.remove(&(Arc::from(topic), partition));
    }

    pub(super) fn disown_all(&mut self) {
        self.owned.clear();
    }

    /// Partitions owned.
    pub(super) fn count(&self) -> usize {
        self.owned.len()
    }

    /// Rises whenever a partition is taken.
    pub(super) fn generations(&self) -> u64 {
        self.generations
    }

    /// A record was read; `None` when its partition is not ours (any more).
    pub(super) fn begin(&mut self, topic: &str, partition: i32, offset: i64) -> Option<Ticket> {
        let key = (Arc::from(topic), partition);
        let owned = self.owned.get_mut(&key)?;
        owned.open.push_back((offset, false));
        owned.next = Some(offset + 1);
        Some(Ticket {
            topic: key.0,
            partition,
            offset,
            generation: owned.generation,
        })
    }

    /// The log has the record, or it is passed over for good.
    pub(super) fn finish(&mut self, ticket: &Ticket) {
        let key = (ticket.topic.clone(), ticket.partition);
        let current = |owned: &&mut Partition| owned.generation == ticket.generation;
        let Some(owned) = self.owned.get_mut(&key).filter(current) else {
            return;
        };
        let at = owned
            .open
            .binary_search_by_key(&ticket.offset, |(offset, _)| *offset);
        if let Some(entry) = at.ok().and_then(|at| owned.open.get_mut(at)) {
            entry.1 = true;
        }
        while let Some((offset, true)) = owned.open.front().copied() {
            owned.open.pop_front();
            owned.done = Some(offset + 1);
        }
    }

    /// Whether records of one of these partitions are under way.
    pub(super) fn any_open(&self, partitions: &[(Arc<str>, i32)]) -> bool {
        let open = |key| {
            let owned: Option<&Partition> = self.owned.get(key);
            owned.is_some_and(|owned| !owned.open.is_empty())
        };
        partitions.iter().any(open)
    }

    /// What can be committed and is not yet; it counts as committed from now on.
    pub(super) fn take_due(&mut self) -> Vec<Place> {
        let due = self
            .owned
            .iter_mut()
            .filter_map(|((topic, partition), owned)| {
                let done = owned.done.filter(|_| owned.done != owned.committed)?;
                owned.committed = owned.done;
                Some((topic.clone(), *partition, done))
            });
        due.collect()
    }

    /// A commit has failed: it is due again.
    pub(super) fn uncommit(&mut self, topic: &str, partition: i32) {
        if let Some(owned) = self.owned.get_mut(&(Arc::from(topic), partition)) {
            owned.committed = None;
        }
    }

    /// The partitions and what is read next of them, where that is known.
    pub(super) fn next(&self) -> Vec<(Arc<str>, i32, Option<i64>)> {
        self.owned
            .iter()
            .map(|((topic, partition), owned)| (topic.clone(), *partition, owned.next))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn due(offsets: &mut Offsets) -> Vec<(String, i32, i64)> {
        let due = offsets.take_due().into_iter();
        due.map(|(topic, partition, at)| (topic.to_string(), partition, at))
            .collect()
    }

    #[test]
    fn a_commit_is_due_once_and_again_when_it_failed() {
        let mut offsets = Offsets::default();
        assert_eq!(offsets.begin("t", 0, 5), None, "not ours");
        offsets.own("t", 0, Some(5));
        let first = offsets.begin("t", 0, 5).unwrap();
        let second = offsets.begin("t", 0, 9).unwrap();
        offsets.finish(&second);
        assert_eq!(due(&mut offsets), []);
        assert!(offsets.any_open(&[("t".into(), 0)]));
        offsets.finish(&first);
        assert!(!offsets.any_open(&[("t".into(), 0)]));
        let expected = [("t".to_owned(), 0, 10)];
        assert_eq!(due(&mut offsets), expected);
        assert_eq!(due(&mut offsets), []);
        offsets.uncommit("t", 0);
        assert_eq!(due(&mut offsets), expected);
    }

    #[test]
    fn what_was_read_before_the_partition_went_counts_for_nothing() {
        let mut offsets = Offsets::default();
        offsets.own("t", 0, None);
        let old = offsets.begin("t", 0, 1).unwrap();
        offsets.disown("t", 0);
        offsets.finish(&old);
        offsets.own("t", 0, Some(1));
        let new = offsets.begin("t", 0, 1).unwrap();
        offsets.finish(&old);
        assert_eq!(due(&mut offsets), []);
        offsets.finish(&new);
        assert_eq!(due(&mut offsets), [("t".to_owned(), 0, 2)]);
    }

    proptest! {
        /// Against the plain definition: the smallest offset that is not done, else the one behind the last.
        #[test]
        fn a_commit_never_passes_an_open_record(
            gaps in proptest::collection::vec(1_i64..4, 1..40),
            order in proptest::collection::vec(0_usize..40, 0..60),
        ) {
            let mut offsets = Offsets::default();
            offsets.own("t", 3, None);
            let mut at = 0;
            let tickets: Vec<Ticket> = gaps.iter().map(|gap| {
                at += gap;
                offsets.begin("t", 3, at).unwrap()
            }).collect();
            let mut done = vec![false; tickets.len()];
            let mut last = None;
            for index in order {
                let Some(ticket) = tickets.get(index) else { continue };
                offsets.finish(ticket);
                done[index] = true;
                let finished = done.iter().take_while(|done| **done).count();
                let expected = finished.checked_sub(1).map(|last| tickets[last].offset + 1);
                let taken = offsets.take_due();
                if expected == last {
                    prop_assert!(taken.is_empty());
                } else {
                    prop_assert_eq!(taken, vec![("t".into(), 3, expected.unwrap())]);
                }
                last = expected;
            }
        }
    }
}
