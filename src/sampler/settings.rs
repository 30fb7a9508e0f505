//! Checked settings of one sampler instance.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::collector_table::TableLimits;

/// `compat: strict`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strict {
    /// Of one shard.
    pub limits: TableLimits,
    /// `num_shards`, at least 1.
    pub shards: u16,
    /// A new trace waits where another would have to be forgotten undecided.
    pub block_on_overflow: bool,
}

/// A trace is over when it rests, in place of [`SamplerSettings::decision_wait`]. Whole seconds, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idle {
    /// From a trace's last piece.
    pub wait: u64,
    /// From a trace's first piece: it is decided on what it has.
    pub max_age: u64,
}

impl Idle {
    /// The tick that decides a trace. The open second closes at the next tick, as everywhere.
    pub(crate) fn due(self, first_second: u32, last_second: u32) -> u64 {
        let rests = u64::from(last_second) + 1 + self.wait;
        rests.min(self.aged(first_second))
    }

    fn aged(self, first_second: u32) -> u64 {
        u64::from(first_second) + 1 + self.max_age
    }

    /// The trace has not rested when it is due.
    pub(crate) fn is_aged(self, first_second: u32, last_second: u32) -> bool {
        u64::from(last_second) + 1 + self.wait > self.aged(first_second)
    }
}

/// How many samplers share something; equal to every other.
#[derive(Debug, Clone)]
pub struct Sharers(Arc<AtomicU64>);

impl Default for Sharers {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(1)))
    }
}

impl PartialEq for Sharers {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Sharers {}

impl Sharers {
    /// So many from now on.
    #[cfg_attr(not(feature = "kafka"), allow(dead_code))]
    pub(crate) fn set(&self, number: usize) {
        self.0.store(number as u64, Ordering::Relaxed);
    }

    /// The part of one of them.
    pub(crate) fn part(&self, whole: u64) -> u64 {
        whole / self.0.load(Ordering::Relaxed).max(1)
    }
}

/// One `tail_sampling` processor of one pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplerSettings {
    /// The pipeline's id: it names the decision log and the positions.
    pub id: String,
    /// Whole seconds, at least 1 (as the Collector counts).
    pub decision_wait: u64,
    /// Whole seconds; `None`: off.
    pub decision_wait_after_root: Option<u64>,
    /// Not with [`Self::strict`] and [`Self::span_ingest`].
    pub idle: Option<Idle>,
    /// Traces are kept at once where no further span can change that; not with [`Self::strict`] and [`Self::span_ingest`].
    pub early_keep: bool,
    /// Seconds of log time in which late spans follow a decision.
    pub late_window: u32,
    /// Policies (by their index) that bring a dropped trace back when a late piece matches; none with [`Self::strict`] and
    /// [`Self::span_ingest`].
    pub late_evidence: Vec<u16>,
    /// Log records without a trace id are kept.
    pub keep_untraced: bool,
    /// A trace with more spans is decided on what it has.
    pub max_trace_spans: u32,
    /// A trace with more payload bytes is decided on what it has.
    pub max_trace_bytes: u64,
    /// Undecided traces at once, beyond which the oldest is decided on what it has; `None`: no limit.
    pub num_traces: Option<u64>,
    /// Policies are asked for each piece alone, as it arrives.
    pub span_ingest: bool,
    /// As the Collector, also where it loses: its table of traces, one for each of this many shards.
    pub strict: Option<Strict>,
    /// Model calls of decided traces are counted and measured.
    pub llm_metrics: bool,
    /// Bytes of skeletons of all that share them.
    pub skeleton_cap: u64,
    /// Samplers that share [`Self::skeleton_cap`]; it may change as they run.
    pub sharers: Sharers,
    /// Bytes of decision memory.
    pub memory_cap: u64,
    /// At stop everything undecided is decided on what it has (evidence `shutdown`): nothing of it outlives the process.
    pub decide_at_stop: bool,
    /// At stop undecided traces are left to vanish (the Collector's `drop_pending_traces_on_shutdown`).
    pub drop_at_stop: bool,
}
