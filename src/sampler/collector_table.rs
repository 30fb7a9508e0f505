//! What the Collector knows of traces, to the letter: for `compat: strict`.
//!
//! One map of undecided and decided traces, bounded by `num_traces` with the oldest evicted first; batches of ids by the
//! tick that decides them, from which an evicted id is not taken out; two caches of decisions by the last eight bytes of
//! the id. So an id that comes back after its eviction is decided at the old time, and ids that share their low half
//! share a cached answer. Undecided state itself lies in the skeletons; here are only their slots.

use super::lru::Lru;
use super::memory::Remembered;
use crate::otlp::TraceId;
use hashbrown::{HashMap, HashSet};
use std::collections::{BTreeMap, VecDeque};

/// Sizes that the file sets, for one shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableLimits {
    /// Entries, decided ones included; at least 1.
    pub num_traces: usize,
    /// Ids of kept traces; 0: no cache.
    pub sampled_cache: usize,
    /// Ids of dropped traces; 0: no cache.
    pub non_sampled_cache: usize,
}

/// What is known of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// A cache has its decision.
    Cached(Remembered),
    /// It is decided and still in the map: since this second, unless that is not to be measured.
    Decided(Remembered, Option<u32>),
    /// Its slot among the skeletons.
    Undecided(u32),
    /// Nothing.
    New,
}

/// A trace that had to make room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Evicted {
    /// `None`: it was decided.
    pub(crate) slot: Option<u32>,
    /// Second of its first piece.
    pub(crate) arrived: u32,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Undecided(u32),
    Decided(Remembered, Option<u32>),
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Tells this life of the id from others in `arrivals`.
    order: u64,
    arrived: u32,
    /// The batch it is in.
    due: u64,
    /// `span-ingest`: when a piece of it was asked last.
    asked: Option<u32>,
    state: State,
}

#[derive(Debug)]
pub(crate) struct CollectorTable {
    entries: HashMap<TraceId, Entry>,
    arrivals: VecDeque<(TraceId, u64)>,
    batches: BTreeMap<u64, HashSet<TraceId>>,
    sampled: Option<Lru<Remembered>>,
    non_sampled: Option<Lru<Remembered>>,
    num_traces: usize,
    next_order: u64,
    /// Of the entries, decided ones.
    decided: usize,
}

/// Stale arrivals that are left in the queue before it is tidied.
const STALE: usize = 1024;

impl CollectorTable {
    pub(crate) fn new(limits: TableLimits) -> Self {
        let cache = |size: usize| (size > 0).then(|| Lru::new(size));
        Self {
            entries: HashMap::new(),
            arrivals: VecDeque::new(),
            batches: BTreeMap::new(),
            sampled: cache(limits.sampled_cache),
            non_sampled: cache(limits.non_sampled_cache),
            num_traces: limits.num_traces.max(1),
            next_order: 0,
            decided: 0,
        }
    }

    pub(crate) fn find(&mut self, trace: TraceId) -> Found {
        let low = low_half(trace);
        let cached = |cache: &mut Option<Lru<Remembered>>| cache.as_mut()?.get(low);
        if let Some(remembered) =
            cached(&mut self.sampled).or_else(|| cached(&mut self.non_sampled))
        {
            return Found::Cached(remembered);
        }
        match self.entries.get(&trace).map(|entry| entry.state) {
            Some(State::Undecided(slot)) => Found::Undecided(slot),
            Some(State::Decided(remembered, second)) => Found::Decided(remembered, second),
            None => Found::New,
        }
    }

    /// Traces in the map.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// A new trace must wait, or another make room.
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() >= self.num_traces
    }

    /// A decided trace is in the map.
    pub(crate) fn holds_decided(&self) -> bool {
        self.decided > 0
    }

    /// Takes the oldest trace out.
    pub(crate) fn evict(&mut self) -> Option<Evicted> {
        self.evict_where(|_| true)
    }

    /// Takes the oldest decided trace out.
    pub(crate) fn evict_decided(&mut self) -> Option<Evicted> {
        self.evict_where(|state| matches!(state, State::Decided(..)))
    }

    fn evict_where(&mut self, goes: impl Fn(State) -> bool) -> Option<Evicted> {
        let lives = |(trace, order): &(TraceId, u64)| {
            let entry = self
                .entries
                .get(trace)
                .filter(|entry| entry.order == *order);
            entry.is_some_and(|entry| goes(entry.state))
        };
        let at = self.arrivals.iter().position(lives)?;
        let (trace, _) = self.arrivals.remove(at)?;
        let entry = self.entries.remove(&trace)?;
        let slot = match entry.state {
            State::Undecided(slot) => Some(slot),
            State::Decided(..) => None,
        };
        self.decided -= usize::from(slot.is_none());
        Some(Evicted {
            slot,
            arrived: entry.arrived,
        })
    }

    /// A new trace, in the batch of `due`.
    pub(crate) fn open(&mut self, trace: TraceId, slot: u32, arrived: u32, due: u64) {
        self.next_order += 1;
        let entry = Entry {
            order: self.next_order,
            arrived,
            due,
            asked: None,
            state: State::Undecided(slot),
        };
        self.entries.insert(trace, entry);
        self.arrivals.push_back((trace, entry.order));
        self.batches.entry(due).or_default().insert(trace);
        if self.arrivals.len() > 2 * self.entries.len() + STALE {
            let entries = &self.entries;
            self.arrivals.retain(|(trace, order)| {
                entries
                    .get(trace)
                    .is_some_and(|entry| entry.order == *order)
            });
        }
    }

    /// Moves a trace into an earlier batch; whether it moved.
    pub(crate) fn root_received(&mut self, trace: TraceId, due: u64) -> bool {
        let Some(entry) = self.entries.get_mut(&trace).filter(|entry| due < entry.due) else {
            return false;
        };
        if let Some(batch) = self.batches.get_mut(&entry.due) {
            batch.remove(&trace);
        }
        entry.due = due;
        self.batches.entry(due).or_default().insert(trace);
        true
    }

    /// Slots of the traces that are due at `tick` in order of arrival, and the number of ids that were due and of which
    /// there is nothing any more.
    pub(crate) fn take_due(&mut self, tick: u64) -> (Vec<u32>, u64) {
        let (mut due, mut gone) = (Vec::new(), 0);
        while let Some(batch) = self
            .batches
            .first_entry()
            .filter(|batch| *batch.key() <= tick)
        {
            for trace in batch.remove() {
                match self.entries.get(&trace) {
                    Some(Entry {
                        order,
                        state: State::Undecided(slot),
                        ..
                    }) => due.push((*order, *slot)),
                    Some(_) => {}
                    None => gone += 1,
                }
            }
        }
        due.sort_unstable();
        (due.into_iter().map(|(_, slot)| slot).collect(), gone)
    }

    /// A trace is decided, at `second` if late pieces are to be measured from there. It leaves the map when a cache takes its decision; then the second of its arrival.
    pub(crate) fn decided(
        &mut self,
        trace: TraceId,
        remembered: Remembered,
        second: Option<u32>,
    ) -> Option<u32> {
        if self.cache(trace, remembered) {
            return self.entries.remove(&trace).map(|entry| entry.arrived);
        }
        if let Some(entry) = self.entries.get_mut(&trace) {
            entry.state = State::Decided(remembered, second);
            self.decided += 1;
        }
        None
    }

    /// `span-ingest`: a piece of the trace is asked. When the trace grows too large later, its late pieces are measured from here.
    pub(crate) fn ask(&mut self, trace: TraceId, second: u32) {
        if let Some(entry) = self.entries.get_mut(&trace) {
            entry.asked = Some(second);
        }
    }

    /// When a piece of the trace was asked last.
    pub(crate) fn asked(&self, trace: TraceId) -> Option<u32> {
        self.entries.get(&trace).and_then(|entry| entry.asked)
    }

    /// Takes a trace out of its batch, before it is decided otherwise than by a tick or a piece: of those the Collector
    /// finds the id again when the batch is due.
    pub(crate) fn leave_batch(&mut self, trace: TraceId) {
        if let Some(entry) = self.entries.get(&trace)
            && let Some(batch) = self.batches.get_mut(&entry.due)
        {
            batch.remove(&trace);
        }
    }

    /// Puts a decision into its cache, if there is one.
    pub(crate) fn cache(&mut self, trace: TraceId, remembered: Remembered) -> bool {
        let cache = if remembered.keep {
            &mut self.sampled
        } else {
            &mut self.non_sampled
        };
        let Some(cache) = cache else {
            return false;
        };
        cache.insert(low_half(trace), remembered);
        true
    }

    /// A decision of a life before a restart, as late pieces need it.
    pub(crate) fn recall(&mut self, trace: TraceId, remembered: Remembered, second: u32) {
        if self.cache(trace, remembered) {
            return;
        }
        if self.is_full() {
            self.evict();
        }
        self.next_order += 1;
        let entry = Entry {
            order: self.next_order,
            arrived: second,
            due: 0,
            asked: None,
            state: State::Decided(remembered, Some(second)),
        };
        self.decided += usize::from(self.entries.insert(trace, entry).is_none());
        self.arrivals.push_back((trace, entry.order));
    }

    /// Forgets a trace without a decision, as `span-ingest` does at the timer; the second of its arrival.
    pub(crate) fn forget(&mut self, trace: TraceId) -> Option<u32> {
        self.entries.remove(&trace).map(|entry| entry.arrived)
    }
}

/// The caches know only the last eight bytes of an id.
fn low_half(trace: TraceId) -> u64 {
    #[allow(clippy::cast_possible_truncation, reason = "the low half")]
    let low = trace.0 as u64;
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::ServiceId;

    fn remembered(keep: bool) -> Remembered {
        Remembered {
            last_second: 0,
            policy: None,
            child: None,
            threshold: 0,
            keep,
            service: ServiceId(0),
        }
    }

    fn table(num_traces: usize, sampled_cache: usize, non_sampled_cache: usize) -> CollectorTable {
        CollectorTable::new(TableLimits {
            num_traces,
            sampled_cache,
            non_sampled_cache,
        })
    }

    const A: TraceId = TraceId(1);
    const B: TraceId = TraceId(2);

    /// Row Z6: A at 0, B evicts it, A comes back and evicts B; A is decided when its first life was due.
    #[test]
    fn an_evicted_id_is_decided_at_its_old_time() {
        let mut table = table(1, 0, 0);
        table.open(A, 10, 0, 6);
        assert!(table.is_full());
        assert_eq!(
            table.evict(),
            Some(Evicted {
                slot: Some(10),
                arrived: 0
            })
        );
        table.open(B, 11, 1, 7);
        assert_eq!(
            table.evict(),
            Some(Evicted {
                slot: Some(11),
                arrived: 1
            })
        );
        table.open(A, 12, 3, 9);
        assert_eq!(table.take_due(5), (vec![], 0));
        assert_eq!(table.take_due(6), (vec![12], 0));
        table.decided(A, remembered(true), Some(6));
        assert_eq!(table.take_due(7), (vec![], 1), "nothing is left of B");
        assert_eq!(
            table.take_due(9),
            (vec![], 0),
            "decided: its own batch finds it so"
        );
    }

    #[test]
    fn decided_traces_stay_without_a_cache() {
        let mut table = table(2, 0, 8);
        table.open(A, 1, 0, 2);
        table.open(B, 2, 0, 2);
        table.take_due(2);
        assert_eq!(table.decided(A, remembered(true), Some(2)), None);
        assert_eq!(table.decided(B, remembered(false), Some(2)), Some(0));
        assert_eq!(table.len(), 1);
        assert_eq!(table.find(A), Found::Decided(remembered(true), Some(2)));
        assert_eq!(table.find(B), Found::Cached(remembered(false)));
        assert_eq!(
            table.find(TraceId(9 << 64 | 2)),
            Found::Cached(remembered(false)),
            "the low half is the same"
        );
    }

    #[test]
    fn a_root_moves_a_trace_forward_only() {
        let mut table = table(9, 0, 0);
        table.open(A, 1, 0, 10);
        assert!(table.root_received(A, 3));
        assert!(!table.root_received(A, 5));
        assert_eq!(table.take_due(3), (vec![1], 0));
        assert_eq!(table.take_due(20), (vec![], 0));
    }
}
