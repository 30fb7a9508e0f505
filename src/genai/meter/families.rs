//! The families, and what a trace adds to each.

use super::buckets::{DURATION, FIRST_TOKEN, PER_TOKEN, SCORE, TOKENS};
use super::observation::Observation;
use super::series::{ScoreSeries, Series};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::exemplar::HistogramWithExemplars;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::{Registry, Unit};
use std::hash::Hash;
use std::time::{Duration, SystemTime};

/// Leads from a bucket to a kept trace. Grafana's name for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ToTrace {
    trace_id: String,
}

type Histogram = HistogramWithExemplars<ToTrace>;
type Histograms<S> = Family<S, Histogram, fn() -> Histogram>;

/// A series with one more label.
macro_rules! with_label {
    ($($name:ident $label:ident;)*) => {
        $(#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
        struct $name {
            #[prometheus(flatten)]
            series: Series,
            $label: String,
        })*
    };
}

with_label! {
    OfTokens token_type;
    OfOutcome outcome;
    OfError error_type;
    OfReason reason;
    OfCache result;
}

/// All families.
#[derive(Debug)]
pub(super) struct Families {
    traces: Family<OfOutcome, Counter>,
    calls: Family<Series, Counter>,
    failed: Family<OfError, Counter>,
    tools: Family<OfOutcome, Counter>,
    tokens: Histograms<OfTokens>,
    duration: Histograms<Series>,
    first_token: Histograms<Series>,
    per_token: Histograms<Series>,
    queue: Histograms<Series>,
    prefill: Histograms<Series>,
    decode: Histograms<Series>,
    finish: Family<OfReason, Counter>,
    cache: Family<OfCache, Counter>,
    scores: Histograms<ScoreSeries>,
}

fn counters<S: Clone + Hash + Eq + std::fmt::Debug + EncodeLabelSet + Send + Sync + 'static>(
    registry: &mut Registry,
    name: &str,
    help: &str,
) -> Family<S, Counter> {
    let family = Family::default();
    registry.register(name, help, family.clone());
    family
}

fn histograms<S: Clone + Hash + Eq + std::fmt::Debug + EncodeLabelSet + Send + Sync + 'static>(
    registry: &mut Registry,
    (name, unit): (&str, Option<Unit>),
    help: &str,
    make: fn() -> Histogram,
) -> Histograms<S> {
    let family = Family::new_with_constructor(make);
    match unit {
        Some(unit) => registry.register_with_unit(name, help, unit, family.clone()),
        None => registry.register(name, help, family.clone()),
    }
    family
}

impl Families {
    pub(super) fn new(r: &mut Registry) -> Self {
        let seconds = |name| (name, Some(Unit::Seconds));
        let first_token = || Histogram::new(FIRST_TOKEN.into_iter());
        let duration = || Histogram::new(DURATION.into_iter());
        Self {
            traces: counters(
                r,
                "tailwater_llm_traces",
                "Decided traces that called a model, by what became of them",
            ),
            calls: counters(r, "tailwater_llm_calls", "Calls of models"),
            failed: counters(
                r,
                "tailwater_llm_failed_calls",
                "Calls of models that failed, by what failed first in their trace",
            ),
            tools: counters(
                r,
                "tailwater_llm_tool_calls",
                "Tools that ran, by ok or failed",
            ),
            tokens: histograms(
                r,
                ("gen_ai_client_token_usage", None),
                "Tokens of a trace's calls",
                || Histogram::new(TOKENS.into_iter()),
            ),
            duration: histograms(
                r,
                seconds("gen_ai_client_operation_duration"),
                "The longest call of a trace",
                duration,
            ),
            first_token: histograms(
                r,
                seconds("gen_ai_server_time_to_first_token"),
                "The longest time to a first token of a trace's calls",
                first_token,
            ),
            per_token: histograms(
                r,
                seconds("gen_ai_server_time_per_output_token"),
                "The longest time for each token behind the first of a trace's calls",
                || Histogram::new(PER_TOKEN.into_iter()),
            ),
            queue: histograms(
                r,
                seconds("tailwater_llm_queue"),
                "The longest time in an engine's queue",
                first_token,
            ),
            prefill: histograms(
                r,
                seconds("tailwater_llm_prefill"),
                "The longest prefill",
                first_token,
            ),
            decode: histograms(
                r,
                seconds("tailwater_llm_decode"),
                "The longest decode",
                duration,
            ),
            finish: counters(
                r,
                "tailwater_llm_finish_reasons",
                "Traces in which a call ended for this reason",
            ),
            cache: counters(
                r,
                "tailwater_llm_cache",
                "Traces that tell whether a cache had a part of a prompt, by hit or miss",
            ),
            scores: histograms(
                r,
                ("tailwater_llm_evaluation_score", None),
                "Evaluations, as they came",
                || Histogram::new(SCORE.into_iter()),
            ),
        }
    }

    /// `error`: what failed, of a trace with failed calls.
    pub(super) fn add(&self, series: &Series, trace: &Observation<'_>, error: Option<String>) {
        self.count(series, trace, error);
        self.measure(series, trace);
    }

    pub(super) fn add_score(&self, series: &ScoreSeries, value: f64) {
        self.scores.get_or_create(series).observe(value, None, None);
    }

    fn count(&self, series: &Series, trace: &Observation<'_>, error: Option<String>) {
        let record = trace.record;
        let outcome = if trace.kept.is_some() { "keep" } else { "drop" };
        self.traces
            .get_or_create(&OfOutcome::of(series, outcome))
            .inc();
        let calls = u64::from(record.calls());
        self.calls.get_or_create(series).inc_by(calls);
        if let Some(error_type) = error {
            let series = OfError {
                series: series.clone(),
                error_type,
            };
            let failed = u64::from(record.failed_calls());
            self.failed.get_or_create(&series).inc_by(failed);
        }
        let failed = record.failed_tools().min(record.tools());
        for (outcome, tools) in [("ok", record.tools() - failed), ("failed", failed)] {
            if tools > 0 {
                self.tools
                    .get_or_create(&OfOutcome::of(series, outcome))
                    .inc_by(u64::from(tools));
            }
        }
        for reason in record.finish().iter() {
            let series = OfReason {
                series: series.clone(),
                reason: reason.word().to_owned(),
            };
            self.finish.get_or_create(&series).inc();
        }
        if let Some(hit) = record.cache_hit() {
            let result = if hit { "hit" } else { "miss" };
            let series = OfCache {
                series: series.clone(),
                result: result.to_owned(),
            };
            self.cache.get_or_create(&series).inc();
        }
    }

    fn measure(&self, series: &Series, trace: &Observation<'_>) {
        let record = trace.record;
        let tokens = [
            ("input", record.input_tokens()),
            ("output", record.output_tokens()),
            ("cached", record.cached_tokens()),
            ("reasoning", record.reasoning_tokens()),
        ];
        for (token_type, tokens) in tokens {
            if let Some(tokens) = tokens {
                let series = OfTokens {
                    series: series.clone(),
                    token_type: token_type.to_owned(),
                };
                observe(&self.tokens, &series, f64::from(tokens), trace);
            }
        }
        let times = [
            (&self.duration, record.longest_call()),
            (&self.first_token, record.ttft()),
            (&self.per_token, record.time_per_output_token()),
            (&self.queue, record.queue()),
            (&self.prefill, record.prefill()),
            (&self.decode, record.decode()),
        ];
        for (family, time) in times {
            if let Some(time) = time {
                observe(
                    family,
                    series,
                    Duration::from_nanos(time).as_secs_f64(),
                    trace,
                );
            }
        }
    }
}

impl OfOutcome {
    fn of(series: &Series, outcome: &str) -> Self {
        Self {
            series: series.clone(),
            outcome: outcome.to_owned(),
        }
    }
}

fn observe<S: Clone + Hash + Eq>(
    family: &Histograms<S>,
    series: &S,
    value: f64,
    trace: &Observation<'_>,
) {
    let exemplar = trace.kept.map(|id| ToTrace { trace_id: hex(id) });
    let time = exemplar
        .is_some()
        .then(|| SystemTime::UNIX_EPOCH + Duration::from_nanos(trace.decided));
    family.get_or_create(series).observe(value, exemplar, time);
}

fn hex(id: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(id))
}
