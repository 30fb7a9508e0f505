//! The counters of several samplers as one: where each owned partition has a sampler of its own.

use super::backlog::Backlog;
use super::delivery::{Delivered, Delivery};
use super::stats::{SamplerStats, add, get, set};
use crate::log::PositionStore;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

impl SamplerStats {
    /// Adds what the process has counted: it stays when the partition goes.
    pub(crate) fn add_counters(&self, other: &Self) {
        let pairs: [(&AtomicU64, &AtomicU64); 13] = [
            (&self.forgotten, &other.forgotten),
            (&self.new_traces, &other.new_traces),
            (&self.texts_cut, &other.texts_cut),
            (&self.late_kept, &other.late_kept),
            (&self.late_dropped, &other.late_dropped),
            (&self.restored, &other.restored),
            (&self.not_restored, &other.not_restored),
            (&self.damaged, &other.damaged),
            (&self.entry_errors, &other.entry_errors),
            (&self.dropped_too_early, &other.dropped_too_early),
            (&self.cached_kept, &other.cached_kept),
            (&self.cached_dropped, &other.cached_dropped),
            (&self.malformed_trace_states, &other.malformed_trace_states),
        ];
        for (sum, part) in pairs {
            add(sum, get(part));
        }
        self.add_votes(other);
        self.tick_ms.add(&other.tick_ms);
        self.late_age.add(&other.late_age);
        self.removal_age.add(&other.removal_age);
    }

    /// Adds what belongs to the partition: its part of the ledger, and what its worker holds.
    pub(crate) fn add_holdings(&self, other: &Self) {
        let pairs: [(&AtomicU64, &AtomicU64); 13] = [
            (&self.accepted, &other.accepted),
            (&self.kept, &other.kept),
            (&self.dropped, &other.dropped),
            (&self.dropped_pressure, &other.dropped_pressure),
            (&self.filtered, &other.filtered),
            (&self.not_routed, &other.not_routed),
            (&self.expired, &other.expired),
            (&self.undecided, &other.undecided),
            (&self.undecided_traces, &other.undecided_traces),
            (&self.skeleton_bytes, &other.skeleton_bytes),
            (&self.memory_bytes, &other.memory_bytes),
            (&self.memory_ids, &other.memory_ids),
            (&self.held_traces, &other.held_traces),
        ];
        for (sum, part) in pairs {
            add(sum, get(part));
        }
        // The one that lags most.
        let (time, other) = (get(&self.log_time), get(&other.log_time));
        if other > 0 && (time == 0 || other < time) {
            set(&self.log_time, other);
        }
    }
}

/// Holds nothing.
#[derive(Debug)]
struct Nowhere;

impl PositionStore for Nowhere {
    fn load(&self) -> Option<Vec<u8>> {
        None
    }

    fn save(&self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

impl Delivery {
    /// What one exporter has delivered and has still to deliver, of all partitions.
    pub(crate) fn sum<'a>(name: &str, all: impl Iterator<Item = &'a Arc<Self>>) -> Self {
        let sum = Self::open(name, Arc::new(Nowhere), 0);
        let (mut state, mut awaiting, mut since) = (Delivered::default(), 0, None);
        for one in all {
            state.add(&one.state());
            awaiting += one.awaiting();
            since = match (since, one.waiting_since()) {
                (Some(a), Some(b)) => Some(u32::min(a, b)),
                (a, b) => a.or(b),
            };
        }
        let mut backlog = Backlog::default();
        backlog.add(since.unwrap_or_default(), awaiting);
        sum.stand(state, awaiting, backlog);
        sum
    }
}
