//! What one sampler has counted: read by the metrics page, never by a decision.
//!
//! The ledger's numbers (`accepted` to `undecided`) survive a restart through snapshots; the rest begins at 0 with the
//! process.

use super::evidence::Evidence;
use super::histogram::Histogram;
use crate::rules::Vote;
use std::sync::atomic::{AtomicU64, Ordering};

/// The ledger's numbers in log records: as those in spans.
#[derive(Debug, Default)]
pub struct RecordStats {
    /// Read from the log by this instance's owner.
    pub accepted: AtomicU64,
    /// In keep entries.
    pub kept: AtomicU64,
    /// In drop entries, but for those under pressure.
    pub dropped: AtomicU64,
    /// In drop entries with the evidence `pressure`.
    pub dropped_pressure: AtomicU64,
    /// Of receivers whose logs do not feed this pipeline.
    pub not_routed: AtomicU64,
    /// Undecided when the instance had left the config.
    pub expired: AtomicU64,
    /// Of traces that are not decided, or whose entry is not in the log yet.
    pub undecided: AtomicU64,
}

/// Counters and gauges of one sampler instance; spans unless the name says otherwise.
#[derive(Debug, Default)]
pub struct SamplerStats {
    /// Read from the log by this instance's owner.
    pub accepted: AtomicU64,
    /// In keep entries.
    pub kept: AtomicU64,
    /// In drop entries, but for those under pressure.
    pub dropped: AtomicU64,
    /// In drop entries with the evidence `pressure`.
    pub dropped_pressure: AtomicU64,
    /// In pieces of which the processors before `tail_sampling` had left nothing.
    pub filtered: AtomicU64,
    /// In keep entries of `head` services' pieces.
    pub passed_head: AtomicU64,
    /// In entries of pieces of services that are not sampled.
    pub passed_off: AtomicU64,
    /// Of receivers that do not feed this pipeline.
    pub not_routed: AtomicU64,
    /// Undecided when the instance had left the config.
    pub expired: AtomicU64,
    /// Of traces that are not decided, or whose entry is not in the log yet.
    pub undecided: AtomicU64,
    /// The same in log records.
    pub records: RecordStats,
    /// Undecided traces.
    pub undecided_traces: AtomicU64,
    /// Bytes of skeletons.
    pub skeleton_bytes: AtomicU64,
    /// Bytes of the decision memory.
    pub memory_bytes: AtomicU64,
    /// Ids in the decision memory.
    pub memory_ids: AtomicU64,
    /// Ids forgotten before their window was over.
    pub forgotten: AtomicU64,
    /// Traces that began.
    pub new_traces: AtomicU64,
    /// Spans with more text than is searched for keywords.
    pub texts_cut: AtomicU64,
    /// Late spans that followed a keep.
    pub late_kept: AtomicU64,
    /// Late spans that followed a drop.
    pub late_dropped: AtomicU64,
    /// Dropped spans that late evidence has brought back.
    pub restored: AtomicU64,
    /// Spans of traces that late evidence has brought back, which were no longer in the log or too far apart in it.
    pub not_restored: AtomicU64,
    /// Frames and pieces that could not be read from the log.
    pub damaged: AtomicU64,
    /// Attempts to write a batch of entries that failed.
    pub entry_errors: AtomicU64,
    /// Log time, nanoseconds.
    pub log_time: AtomicU64,
    /// The oldest position that is not decided.
    pub decide: AtomicU64,
    /// Everything in the span log below this is folded.
    pub read: AtomicU64,
    /// Traces in the Collector's table (`compat: strict`), else undecided ones; as of the last tick.
    pub held_traces: AtomicU64,
    /// Ids that were due and of which there was nothing any more (`compat: strict`).
    pub dropped_too_early: AtomicU64,
    /// Traces dropped for their size without asking a policy (`compat: strict`).
    pub too_large: AtomicU64,
    /// Late spans that a decision cache answered for, by what it said.
    pub cached_kept: AtomicU64,
    /// The same, for drops.
    pub cached_dropped: AtomicU64,
    /// Spans whose tracestate could not be parsed when a threshold was to be written.
    pub malformed_trace_states: AtomicU64,
    /// Milliseconds that ticks took.
    pub tick_ms: Histogram<TICK_BOUNDS>,
    /// Whole seconds from a decision to a late piece.
    pub late_age: Histogram<AGE_BOUNDS>,
    /// Whole seconds from a trace's first piece to when it is forgotten.
    pub removal_age: Histogram<AGE_BOUNDS>,
    decisions: Vec<AtomicU64>,
    votes: Vec<AtomicU64>,
    vote_spans: Vec<AtomicU64>,
    vote_bytes: Vec<AtomicU64>,
    policies: Vec<String>,
}

const TICK_BOUNDS: usize = 22;
const AGE_BOUNDS: usize = 15;
/// The Collector's bounds for its tick, ms.
const TICK_MS: [u64; TICK_BOUNDS] = [
    1, 2, 5, 10, 25, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000, 2000, 3000, 4000, 5000,
    10_000, 20_000, 50_000,
];
/// The OpenTelemetry SDK's default bounds, which the Collector has for ages.
const AGES: [u64; AGE_BOUNDS] = [
    0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10_000,
];

const OUTCOMES: usize = 2;
const VOTES: usize = 4;

impl SamplerStats {
    /// Zeroes, for these policies (config order).
    #[must_use]
    pub fn new(policies: Vec<String>) -> Self {
        let zeroes = |n| std::iter::repeat_with(AtomicU64::default).take(n).collect();
        Self {
            decisions: zeroes((policies.len() + 1) * OUTCOMES * Evidence::ALL.len()),
            votes: zeroes(policies.len() * VOTES),
            vote_spans: zeroes(policies.len() * VOTES),
            vote_bytes: zeroes(policies.len() * VOTES),
            tick_ms: Histogram::new(&TICK_MS),
            late_age: Histogram::new(&AGES),
            removal_age: Histogram::new(&AGES),
            policies,
            ..Self::default()
        }
    }

    /// Of the two modes that spans pass by.
    pub(crate) fn passed(&self, evidence: Evidence) -> &AtomicU64 {
        match evidence {
            Evidence::Off => &self.passed_off,
            _ => &self.passed_head,
        }
    }

    pub(crate) fn count_decision(&self, policy: Option<u16>, keep: bool, evidence: Evidence) {
        let policy = policy.map_or(0, |policy| usize::from(policy) + 1);
        let at =
            (policy * OUTCOMES + usize::from(keep)) * Evidence::ALL.len() + (evidence as usize - 1);
        if let Some(counter) = self.decisions.get(at) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn count_vote(&self, policy: usize, vote: Vote, spans: u64, bytes: u64) {
        let at = policy * VOTES + vote as usize;
        for (counters, n) in [
            (&self.votes, 1),
            (&self.vote_spans, spans),
            (&self.vote_bytes, bytes),
        ] {
            if let Some(counter) = counters.get(at) {
                counter.fetch_add(n, Ordering::Relaxed);
            }
        }
    }

    #[cfg(feature = "kafka")]
    /// Adds the decisions and votes of another with the same policies.
    pub(crate) fn add_votes(&self, other: &Self) {
        let pairs = [
            (&self.decisions, &other.decisions),
            (&self.votes, &other.votes),
            (&self.vote_spans, &other.vote_spans),
            (&self.vote_bytes, &other.vote_bytes),
        ];
        for (sums, parts) in pairs {
            for (sum, part) in sums.iter().zip(parts) {
                add(sum, get(part));
            }
        }
    }

    pub(crate) fn count_cached(&self, keep: bool, spans: u64) {
        let counter = if keep {
            &self.cached_kept
        } else {
            &self.cached_dropped
        };
        add(counter, spans);
    }

    /// Decided traces by policy (empty: no policy wanted it), kept or not, and evidence; only what is not 0.
    pub fn decisions(&self) -> impl Iterator<Item = (&str, bool, Evidence, u64)> {
        self.decisions
            .iter()
            .enumerate()
            .filter_map(|(at, counter)| {
                let count = counter.load(Ordering::Relaxed);
                let (rest, evidence) = (at / Evidence::ALL.len(), at % Evidence::ALL.len());
                let policy = (rest / OUTCOMES)
                    .checked_sub(1)
                    .map_or(Some(""), |i| self.policies.get(i).map(String::as_str))?;
                let evidence = *Evidence::ALL.get(evidence)?;
                (count > 0).then_some((policy, rest % OUTCOMES == 1, evidence, count))
            })
    }

    /// How often each policy said what.
    pub fn votes(&self) -> impl Iterator<Item = (&str, Vote, u64)> {
        self.by_vote(&self.votes)
    }

    /// Spans of the traces that each policy voted on.
    pub fn vote_spans(&self) -> impl Iterator<Item = (&str, Vote, u64)> {
        self.by_vote(&self.vote_spans)
    }

    /// Bytes of these traces.
    pub fn vote_bytes(&self) -> impl Iterator<Item = (&str, Vote, u64)> {
        self.by_vote(&self.vote_bytes)
    }

    fn by_vote<'a>(
        &'a self,
        counters: &'a [AtomicU64],
    ) -> impl Iterator<Item = (&'a str, Vote, u64)> {
        const KINDS: [Vote; VOTES] = [Vote::Sampled, Vote::NotSampled, Vote::Dropped, Vote::Failed];
        counters.iter().enumerate().filter_map(|(at, counter)| {
            let policy = self.policies.get(at / VOTES)?;
            Some((
                policy.as_str(),
                *KINDS.get(at % VOTES)?,
                counter.load(Ordering::Relaxed),
            ))
        })
    }
}

pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

pub(crate) fn set(gauge: &AtomicU64, value: u64) {
    gauge.store(value, Ordering::Relaxed);
}

pub(crate) fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
