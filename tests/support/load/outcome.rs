//! What became of the parts of a run, as the sender knows it.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a sender knows.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    traces: Mutex<Vec<Trace>>,
    counts: Mutex<Counts>,
    latencies: Mutex<Vec<(Duration, Duration)>>,
    refusals: Mutex<BTreeMap<Refusal, u64>>,
}

/// gRPC code, message, and whether it says when to come back.
pub(crate) type Refusal = (u32, String, bool);

/// One trace: a bit for each part.
#[derive(Debug, Default, Clone, Copy)]
struct Trace {
    acknowledged: u64,
    /// Sent again because nobody answered: the log may have it twice.
    maybe_twice: u64,
}

/// Sums over a run.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Spans acknowledged.
    pub(crate) acknowledged: u64,
    /// Requests refused.
    pub(crate) refused: u64,
    /// Requests without an answer.
    pub(crate) unanswered: u64,
    /// Spans of requests without an answer: as many may be in the log twice.
    pub(crate) maybe_twice: u64,
    /// Answers that no sender should get.
    pub(crate) strange: u64,
}

impl Outcome {
    pub(crate) fn counts(&self) -> Counts {
        *self.counts.lock()
    }

    /// `at` is when the request was due, since the start; `took` how long after that it was acknowledged.
    pub(crate) fn acknowledged(
        &self,
        parts: &[(u64, u32)],
        spans: u32,
        at: Duration,
        took: Duration,
    ) {
        self.mark(parts, |trace, bit| trace.acknowledged |= bit);
        self.counts.lock().acknowledged += u64::from(spans);
        self.latencies.lock().push((at, took));
    }

    pub(crate) fn unanswered(&self, parts: &[(u64, u32)], spans: u32) {
        self.mark(parts, |trace, bit| trace.maybe_twice |= bit);
        let mut counts = self.counts.lock();
        counts.unanswered += 1;
        counts.maybe_twice += u64::from(spans);
    }

    pub(crate) fn refused(&self, code: u32, message: String, retry: Option<Duration>) {
        self.counts.lock().refused += 1;
        *self
            .refusals
            .lock()
            .entry((code, message, retry.is_some()))
            .or_default() += 1;
    }

    /// All kinds of refusal, and how many of each.
    pub(crate) fn refusals(&self) -> BTreeMap<Refusal, u64> {
        self.refusals.lock().clone()
    }

    pub(crate) fn strange(&self) {
        self.counts.lock().strange += 1;
    }

    fn mark(&self, parts: &[(u64, u32)], set: impl Fn(&mut Trace, u64)) {
        let mut traces = self.traces.lock();
        for (trace, part) in parts {
            let index = *trace as usize;
            if traces.len() <= index {
                traces.resize(index + 1, Trace::default());
            }
            set(&mut traces[index], 1 << part);
        }
    }

    /// Parts of a trace that are acknowledged.
    pub(crate) fn parts(&self, trace: u64) -> u64 {
        self.traces
            .lock()
            .get(trace as usize)
            .map_or(0, |trace| trace.acknowledged)
    }

    /// Whether a copy of the trace's spans may be in the log.
    pub(crate) fn maybe_twice(&self, trace: u64) -> bool {
        self.traces
            .lock()
            .get(trace as usize)
            .is_some_and(|trace| trace.maybe_twice != 0)
    }

    /// Times from due to acknowledged of requests that were due within a stretch of the run.
    pub(crate) fn latencies(&self, from: Duration, to: Duration) -> Vec<Duration> {
        let all = self.latencies.lock();
        let mut found: Vec<_> = all
            .iter()
            .filter(|(at, _)| (from..to).contains(at))
            .map(|(_, took)| *took)
            .collect();
        found.sort_unstable();
        found
    }
}
