//! What has been decided within the late window: an exact map, bounded in bytes.
//!
//! A late piece follows the decision of its trace for the window after the trace's last piece. When the map is full the
//! oldest entries are forgotten early and counted: their ids would be new again.

use super::entry::Decision;
use crate::log::ServiceId;
use crate::otlp::TraceId;
use hashbrown::HashMap;
use std::collections::VecDeque;

/// A decision as late pieces need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Remembered {
    /// Log time of the trace's last piece, whole seconds.
    pub(crate) last_second: u32,
    pub(crate) policy: Option<u16>,
    pub(crate) keep: bool,
    /// Who is charged.
    pub(crate) service: ServiceId,
}

/// Map entry, control byte and load factor of `hashbrown`, and the queue's entry.
const ENTRY_BYTES: u64 = 80;

#[derive(Debug)]
pub(crate) struct DecisionMemory {
    decided: HashMap<u128, Remembered, foldhash::fast::RandomState>,
    /// In order of decision; an entry whose trace got a piece since is put back at the end.
    queue: VecDeque<([u64; 2], u32)>,
    window: u32,
    limit: usize,
    /// Entries by service, more or fewer since the last [`Self::take_charges`].
    charges: HashMap<ServiceId, i64, foldhash::fast::RandomState>,
    /// Forgotten before their window was over.
    pub(crate) forgotten: u64,
}

impl DecisionMemory {
    /// `window` in seconds, `limit` in bytes.
    pub(crate) fn new(window: u32, limit: u64) -> Self {
        let limit = usize::try_from(limit / ENTRY_BYTES)
            .unwrap_or(usize::MAX)
            .max(1);
        Self {
            decided: HashMap::default(),
            queue: VecDeque::new(),
            window,
            limit,
            charges: HashMap::default(),
            forgotten: 0,
        }
    }

    pub(crate) fn insert(&mut self, decision: &Decision, keep: bool, service: ServiceId) {
        let (id, last_second) = (decision.trace.0, decision.last_second);
        let remembered = Remembered {
            last_second,
            policy: decision.policy,
            keep,
            service,
        };
        if let Some(old) = self.decided.insert(id, remembered) {
            self.charge(old.service, -1);
        }
        self.charge(service, 1);
        #[allow(clippy::cast_possible_truncation, reason = "the two halves")]
        self.queue
            .push_back(([id as u64, (id >> 64) as u64], last_second));
        while self.decided.len() > self.limit {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((id, _)) = self.queue.pop_front() {
            self.forgotten += u64::from(self.remove(whole(id)));
        }
    }

    fn remove(&mut self, id: u128) -> bool {
        let removed = self.decided.remove(&id);
        if let Some(remembered) = removed {
            self.charge(remembered.service, -1);
        }
        removed.is_some()
    }

    fn charge(&mut self, service: ServiceId, entries: i64) {
        *self.charges.entry(service).or_default() += entries;
    }

    /// Bytes by service, more or fewer since the last call.
    pub(crate) fn take_charges(&mut self) -> impl Iterator<Item = (ServiceId, i64)> {
        self.charges
            .drain()
            .map(|(service, entries)| (service, entries * ENTRY_BYTES.cast_signed()))
    }

    /// The decision of a trace that a piece at `second` belongs to; the piece prolongs the window.
    pub(crate) fn late(&mut self, trace: TraceId, second: u32) -> Option<Remembered> {
        let window = self.window;
        let remembered = self.decided.get_mut(&trace.0)?;
        if remembered.last_second.saturating_add(window) < second {
            return None;
        }
        remembered.last_second = remembered.last_second.max(second);
        Some(*remembered)
    }

    /// Forgets what is over at `second`.
    pub(crate) fn expire(&mut self, second: u32) {
        while let Some((id, queued)) = self.queue.front().copied()
            && queued.saturating_add(self.window) < second
        {
            self.queue.pop_front();
            let id = whole(id);
            let Some(last) = self
                .decided
                .get(&id)
                .map(|remembered| remembered.last_second)
            else {
                continue;
            };
            if last.saturating_add(self.window) < second {
                self.remove(id);
            } else if last > queued {
                #[allow(clippy::cast_possible_truncation, reason = "the two halves")]
                self.queue.push_back(([id as u64, (id >> 64) as u64], last));
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.decided.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.decided.len() as u64 * ENTRY_BYTES
    }
}

fn whole(id: [u64; 2]) -> u128 {
    u128::from(id[0]) | u128::from(id[1]) << 64
}

#[cfg(test)]
mod tests {
    use super::super::evidence::Evidence;
    use super::*;

    fn decision(trace: u128, last_second: u32) -> Decision {
        Decision {
            trace: TraceId(trace),
            policy: None,
            evidence: Evidence::Complete,
            first_second: 0,
            last_second,
            thresholds: vec![],
        }
    }

    #[test]
    fn remembers_for_the_window_after_the_last_piece() {
        let mut memory = DecisionMemory::new(10, 1 << 20);
        memory.insert(&decision(1, 100), true, ServiceId(0));
        memory.insert(&decision(2, 100), false, ServiceId(0));
        assert!(
            memory
                .late(TraceId(1), 110)
                .is_some_and(|remembered| remembered.keep)
        );
        memory.expire(115);
        assert_eq!(memory.len(), 1, "2 is over, 1 was prolonged");
        assert!(memory.late(TraceId(1), 120).is_some());
        assert!(memory.late(TraceId(2), 115).is_none());
        memory.expire(131);
        assert_eq!((memory.len(), memory.forgotten), (0, 0));
    }

    #[test]
    fn is_bounded_in_bytes() {
        let mut memory = DecisionMemory::new(10, 10 * ENTRY_BYTES);
        (1..=25).for_each(|id| memory.insert(&decision(id, 0), true, ServiceId(0)));
        assert_eq!((memory.len(), memory.forgotten), (10, 15));
        assert!(memory.late(TraceId(25), 1).is_some());
    }

    #[test]
    fn charges_add_up_to_what_is_held() {
        let mut memory = DecisionMemory::new(10, 3 * ENTRY_BYTES);
        let mut held = std::collections::BTreeMap::<u32, i64>::new();
        let mut check = |memory: &mut DecisionMemory, expected: &[(u32, i64)]| {
            memory
                .take_charges()
                .for_each(|(service, bytes)| *held.entry(service.0).or_default() += bytes);
            let found: Vec<_> = held
                .iter()
                .map(|(service, bytes)| (*service, *bytes))
                .collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|(service, ids)| (*service, ids * ENTRY_BYTES.cast_signed()))
                .collect();
            assert_eq!(found, expected);
        };
        memory.insert(&decision(1, 0), true, ServiceId(1));
        memory.insert(&decision(2, 0), true, ServiceId(2));
        check(&mut memory, &[(1, 1), (2, 1)]);
        memory.insert(&decision(1, 5), true, ServiceId(2));
        check(&mut memory, &[(1, 0), (2, 2)]);
        memory.insert(&decision(3, 6), true, ServiceId(3));
        memory.insert(&decision(4, 20), true, ServiceId(3));
        check(&mut memory, &[(1, 0), (2, 1), (3, 2)]);
        memory.expire(100);
        check(&mut memory, &[(1, 0), (2, 0), (3, 0)]);
        assert_eq!(memory.len(), 0);
    }
}
