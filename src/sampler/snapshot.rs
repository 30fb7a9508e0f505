//! What a restart cannot find again in the entries: counters and percentiles as of one point, and where to begin.

use super::delivery::Volume;
use super::stats::{RecordStats, SamplerStats, add, get};
use crate::rules::{LimitSnapshot, SketchSnapshot};
use prost::Message;

/// Written into the decision log as an entry of its own, after all entries that it counts.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Snapshot {
    /// Everything in the span log below this is counted in `accepted` or `not_routed`.
    #[prost(uint64, tag = "1")]
    pub(crate) read: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) accepted: u64,
    #[prost(uint64, tag = "3")]
    pub(crate) kept: u64,
    #[prost(uint64, tag = "4")]
    pub(crate) dropped: u64,
    #[prost(uint64, tag = "5")]
    pub(crate) dropped_pressure: u64,
    #[prost(uint64, tag = "6")]
    pub(crate) not_routed: u64,
    /// Policy names of the rule set, in the order that entries number them.
    #[prost(string, repeated, tag = "7")]
    pub(crate) policies: Vec<String>,
    #[prost(message, repeated, tag = "8")]
    pub(crate) sketches: Vec<SketchSnapshot>,
    #[prost(message, repeated, tag = "9")]
    pub(crate) limits: Vec<LimitSnapshot>,
    /// Undecided when their owner had left the config.
    #[prost(uint64, tag = "10")]
    pub(crate) expired: u64,
    /// In pieces of which processors had left nothing.
    #[prost(uint64, tag = "11")]
    pub(crate) filtered: u64,
    /// The ledger in log records; none where none ever came.
    #[prost(message, optional, tag = "12")]
    pub(crate) records: Option<RecordSums>,
}

/// The ledger in log records.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct RecordSums {
    #[prost(uint64, tag = "1")]
    pub(crate) accepted: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) kept: u64,
    #[prost(uint64, tag = "3")]
    pub(crate) dropped: u64,
    #[prost(uint64, tag = "4")]
    pub(crate) dropped_pressure: u64,
    #[prost(uint64, tag = "5")]
    pub(crate) not_routed: u64,
    #[prost(uint64, tag = "6")]
    pub(crate) expired: u64,
}

impl RecordSums {
    /// As they stand; none when there are none.
    pub(crate) fn of(stats: &RecordStats) -> Option<Self> {
        let sums = Self {
            accepted: get(&stats.accepted),
            kept: get(&stats.kept),
            dropped: get(&stats.dropped),
            dropped_pressure: get(&stats.dropped_pressure),
            not_routed: get(&stats.not_routed),
            expired: get(&stats.expired),
        };
        (sums != Self::default()).then_some(sums)
    }

    fn expire_undecided(&mut self) {
        let settled =
            self.kept + self.dropped + self.dropped_pressure + self.not_routed + self.expired;
        self.accepted = self.accepted.max(settled);
        self.expired += self.accepted - settled;
    }

    fn count(self, stats: &RecordStats) {
        add(&stats.accepted, self.accepted);
        add(&stats.kept, self.kept);
        add(&stats.dropped, self.dropped);
        add(&stats.dropped_pressure, self.dropped_pressure);
        add(&stats.not_routed, self.not_routed);
        add(&stats.expired, self.expired);
    }
}

/// Budgets as they stand behind the decisions of one frame.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct LimitStates {
    #[prost(message, repeated, tag = "1")]
    pub(crate) limits: Vec<LimitSnapshot>,
}

impl Snapshot {
    /// Kept spans and log records.
    pub(crate) fn volume(&self) -> Volume {
        Volume {
            spans: self.kept,
            records: self.records.unwrap_or_default().kept,
        }
    }

    /// Gives up what is accepted and in no entry; how many spans.
    pub(crate) fn expire_undecided(&mut self) -> u64 {
        if let Some(records) = &mut self.records {
            records.expire_undecided();
        }
        let others = self.kept + self.dropped + self.dropped_pressure + self.filtered;
        let settled = others + self.not_routed + self.expired;
        // Entries behind the snapshot may name spans that it does not count yet.
        self.accepted = self.accepted.max(settled);
        self.expired += self.accepted - settled;
        self.accepted - settled
    }

    /// Adds up for the ledger.
    pub(crate) fn count(&self, stats: &SamplerStats) {
        add(&stats.accepted, self.accepted);
        add(&stats.kept, self.kept);
        add(&stats.dropped, self.dropped);
        add(&stats.dropped_pressure, self.dropped_pressure);
        add(&stats.not_routed, self.not_routed);
        add(&stats.expired, self.expired);
        add(&stats.filtered, self.filtered);
        self.records.unwrap_or_default().count(&stats.records);
    }
}

/// The sampler's own position file.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct RestartPoint {
    /// The newest snapshot's frame in the decision log.
    #[prost(uint64, tag = "1")]
    pub(crate) snapshot: u64,
    /// The first frame of the decision log that a restart must read: what comes before is neither in the late window nor
    /// names a piece that replay will see.
    #[prost(uint64, tag = "2")]
    pub(crate) entries: u64,
    /// Where replay of the span log may begin.
    #[prost(uint64, tag = "3")]
    pub(crate) decide: u64,
    /// Its owner had left the config: it begins at the end of the spans when it comes back.
    #[prost(bool, tag = "4")]
    pub(crate) gone: bool,
}
