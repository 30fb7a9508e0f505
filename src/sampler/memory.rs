//! What has been decided within the late window: an exact map, bounded in bytes.
//!
//! A late piece follows the decision of its trace for the window after the trace's last piece. When the map is full the
//! oldest entries are forgotten early and counted: their ids would be new again.

use super::entry::Decision;
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
    /// Forgotten before their window was over.
    pub(crate) forgotten: u64,
}

impl DecisionMemory {
    /// `window` in seconds, `limit` in bytes.
    pub(crate) fn new(window: u32, limit: u64) -> Self {
        let limit = usize::try_from(limit / ENTRY_BYTES).unwrap_or(usize::MAX).max(1);
        Self { decided: HashMap::default(), queue: VecDeque::new(), window, limit, forgotten: 0 }
    }

    pub(crate) fn insert(&mut self, decision: &Decision, keep: bool, last_second: u32) {
        let id = decision.trace.0;
        self.decided.insert(id, Remembered { last_second, policy: decision.policy, keep });
        #[allow(clippy::cast_possible_truncation, reason = "the two halves")]
        self.queue.push_back(([id as u64, (id >> 64) as u64], last_second));
        while self.decided.len() > self.limit {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((id, _)) = self.queue.pop_front() {
            self.forgotten += u64::from(self.decided.remove(&whole(id)).is_some());
        }
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
            let Some(last) = self.decided.get(&id).map(|remembered| remembered.last_second) else {
                continue;
            };
            if last.saturating_add(self.window) < second {
                self.decided.remove(&id);
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

    fn decision(trace: u128) -> Decision {
        Decision {
            trace: TraceId(trace),
            policy: None,
            evidence: Evidence::Complete,
            first_second: 0,
            thresholds: vec![],
        }
    }

    #[test]
    fn remembers_for_the_window_after_the_last_piece() {
        let mut memory = DecisionMemory::new(10, 1 << 20);
        memory.insert(&decision(1), true, 100);
        memory.insert(&decision(2), false, 100);
        assert!(memory.late(TraceId(1), 110).is_some_and(|remembered| remembered.keep));
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
        (1..=25).for_each(|id| memory.insert(&decision(id), true, 0));
        assert_eq!((memory.len(), memory.forgotten), (10, 15));
        assert!(memory.late(TraceId(25), 1).is_some());
    }
}
