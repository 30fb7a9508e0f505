//! Policies as the config gives them, checked and with every default filled in.
//!
//! Invariants, which `config` has checked: names are not empty and unique at the top level, nesting is as in the
//! Collector (`and` and `drop` hold leaves and `not`, `not` holds a leaf), regular expressions compile, percentages are
//! numbers. What a policy means is left to the compiler. `Debug` never shows a keyword.

use super::call_rule::{CallRule, Tokens};
use super::ottl::ErrorMode;
use std::fmt;

/// One entry of `policies`.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicySpec {
    /// The name given in the file; empty is possible below the top level only.
    pub name: String,
    /// What it tests.
    pub kind: PolicyKind,
}

/// A span status as OTLP numbers it (0, 1, 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StatusCode {
    /// No status, or the code 0.
    Unset,
    /// Code 1.
    Ok,
    /// Code 2.
    Error,
}

/// What one observation of a `latency_percentile` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PercentileOf {
    /// Last end minus first start of a trace.
    #[default]
    Trace,
    /// Each span that has all keys.
    Span,
    /// The longest time to a first token, as the caller saw it.
    Ttft,
    /// The longest time for each token behind the first.
    TimePerOutputToken,
    /// The longest time in an engine's queue.
    Queue,
}

/// The policy types, with the Collector's key names.
#[derive(Clone, PartialEq)]
pub enum PolicyKind {
    /// Matches every trace.
    AlwaysSample,
    /// Whole milliseconds from first start to last end.
    Latency {
        /// Exclusive lower bound in ms.
        threshold_ms: i64,
        /// Inclusive upper bound in ms; 0 = none.
        upper_threshold_ms: i64,
    },
    /// Any span with one of the codes.
    StatusCode {
        /// Never empty, no code twice.
        codes: Vec<StatusCode>,
    },
    /// Resource or span attribute that is one of the values.
    StringAttribute {
        /// Attribute key; may be empty.
        key: String,
        /// Values, or expressions when `enabled_regex_matching`. Empty values are left out in exact mode.
        values: Vec<String>,
        /// The values are unanchored regular expressions (each compiles).
        enabled_regex_matching: bool,
        /// Accepted as in the Collector; no effect on results. Default 128, as there.
        cache_max_size: u64,
        /// A trace without a match matches.
        invert_match: bool,
    },
    /// Resource or span attribute within an inclusive range.
    NumericAttribute {
        /// Attribute key; may be empty.
        key: String,
        /// Inclusive; `i64::MIN` when the file has 0 or nothing (the Collector's "unset").
        min_value: i64,
        /// Inclusive; `i64::MAX` when the file has 0 or nothing.
        max_value: i64,
        /// A trace without a match matches.
        invert_match: bool,
    },
    /// Resource or span attribute with this value.
    BooleanAttribute {
        /// Attribute key; may be empty.
        key: String,
        /// Value looked for.
        value: bool,
        /// A trace without a match matches.
        invert_match: bool,
    },
    /// Hash of salt and trace id against a threshold.
    Probabilistic {
        /// Not NaN; below 0 keeps none, 100 and more keeps all.
        sampling_percentage: f64,
        /// Never empty: `default-hash-seed` when the file has none, as in the Collector.
        hash_salt: String,
    },
    /// Number of spans, both bounds inclusive.
    SpanCount {
        /// At least.
        min_spans: i32,
        /// At most; 0 = no bound.
        max_spans: i32,
    },
    /// Any span whose tracestate has the member.
    TraceState {
        /// Member key.
        key: String,
        /// Texts that match; empty ones are left out.
        values: Vec<String>,
    },
    /// Any span with the sampled flag.
    TraceFlags,
    /// A token bucket of spans.
    RateLimiting {
        /// Refill.
        spans_per_second: i64,
        /// Size of the bucket; 0 = twice the rate.
        burst_capacity: i64,
    },
    /// A token bucket of bytes, as the Collector would encode the trace.
    BytesLimiting {
        /// Refill.
        bytes_per_second: i64,
        /// Size of the bucket; 0 = twice the rate.
        burst_capacity: i64,
    },
    /// A condition in the OpenTelemetry Transformation Language on any span or event.
    OttlCondition {
        /// What a failed evaluation does.
        error_mode: ErrorMode,
        /// On spans; each parses.
        span: Vec<String>,
        /// On events; each parses.
        spanevent: Vec<String>,
    },
    /// The first child that matches, within its share of spans a second.
    Composite {
        /// Of all children, spans.
        max_total_spans_per_second: i64,
        /// The children in the order of the file, each with its percentage; `None`: not in `rate_allocation`.
        children: Vec<(PolicySpec, Option<i64>)>,
    },
    /// All children match; without children, matches.
    And(Vec<PolicySpec>),
    /// The child does not match.
    Not(Box<PolicySpec>),
    /// All children match: the trace is dropped whatever the other policies say.
    Drop(Vec<PolicySpec>),
    /// Slower than a percentile of the past, by key values.
    LatencyPercentile {
        /// Above 0 and below 100.
        percentile: f64,
        /// Attribute keys whose values tell one distribution from another; may be empty.
        by: Vec<String>,
        /// Never keeps a trace at or below this many ms.
        floor_ms: u64,
        /// Threshold in ms while there are fewer than `min_count` observations.
        warmup_ms: u64,
        /// Observations before the percentile counts.
        min_count: u64,
        /// What is observed.
        of: PercentileOf,
        /// How many of these tokens there are is the last of the keys, in buckets of powers of two.
        by_tokens: Option<Tokens>,
    },
    /// What the model calls say.
    Calls(CallRule),
    /// A prompt or an answer holds one of the keywords.
    PromptKeyword {
        /// Never empty, none of them empty; files are already read in, a keyword a line.
        keywords: Vec<String>,
    },
}

impl PolicyKind {
    /// It needs the whole trace: `span-ingest` cannot ask it for a piece alone. As the Collector has it: limiters, an
    /// upper bound on time or spans, and what holds one of these; percentiles of ours.
    #[must_use]
    pub fn is_stateful(&self) -> bool {
        match self {
            Self::RateLimiting { .. }
            | Self::BytesLimiting { .. }
            | Self::LatencyPercentile { .. } => true,
            Self::Calls(rule) => rule.is_stateful(),
            Self::Latency {
                upper_threshold_ms, ..
            } => *upper_threshold_ms > 0,
            Self::SpanCount { max_spans, .. } => *max_spans > 0,
            Self::And(children) | Self::Drop(children) => {
                children.iter().any(|child| child.kind.is_stateful())
            }
            Self::Not(child) => child.kind.is_stateful(),
            Self::Composite { children, .. } => {
                children.iter().any(|(child, _)| child.kind.is_stateful())
            }
            _ => false,
        }
    }

    /// The `type` in the file.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::AlwaysSample => "always_sample",
            Self::Latency { .. } => "latency",
            Self::StatusCode { .. } => "status_code",
            Self::StringAttribute { .. } => "string_attribute",
            Self::NumericAttribute { .. } => "numeric_attribute",
            Self::BooleanAttribute { .. } => "boolean_attribute",
            Self::Probabilistic { .. } => "probabilistic",
            Self::SpanCount { .. } => "span_count",
            Self::TraceState { .. } => "trace_state",
            Self::TraceFlags => "trace_flags",
            Self::RateLimiting { .. } => "rate_limiting",
            Self::BytesLimiting { .. } => "bytes_limiting",
            Self::OttlCondition { .. } => "ottl_condition",
            Self::Composite { .. } => "composite",
            Self::And(_) => "and",
            Self::Not(_) => "not",
            Self::Drop(_) => "drop",
            Self::LatencyPercentile { .. } => "latency_percentile",
            Self::PromptKeyword { .. } => "prompt_keyword",
            Self::Calls(rule) => rule.type_name(),
        }
    }
}

#[allow(clippy::too_many_lines, reason = "a table: one row for each type")]
impl fmt::Debug for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct(self.type_name());
        match self {
            Self::AlwaysSample | Self::TraceFlags => &mut out,
            Self::Latency {
                threshold_ms,
                upper_threshold_ms,
            } => out
                .field("threshold_ms", threshold_ms)
                .field("upper_threshold_ms", upper_threshold_ms),
            Self::StatusCode { codes } => out.field("codes", codes),
            Self::StringAttribute {
                key,
                values,
                enabled_regex_matching,
                cache_max_size,
                invert_match,
            } => out
                .field("key", key)
                .field("values", &values.len())
                .field("enabled_regex_matching", enabled_regex_matching)
                .field("cache_max_size", cache_max_size)
                .field("invert_match", invert_match),
            Self::NumericAttribute {
                key,
                min_value,
                max_value,
                invert_match,
            } => out
                .field("key", key)
                .field("min_value", min_value)
                .field("max_value", max_value)
                .field("invert_match", invert_match),
            Self::BooleanAttribute {
                key,
                value,
                invert_match,
            } => out
                .field("key", key)
                .field("value", value)
                .field("invert_match", invert_match),
            Self::Probabilistic {
                sampling_percentage,
                ..
            } => out.field("sampling_percentage", sampling_percentage),
            Self::SpanCount {
                min_spans,
                max_spans,
            } => out
                .field("min_spans", min_spans)
                .field("max_spans", max_spans),
            Self::TraceState { key, values } => {
                out.field("key", key).field("values", &values.len())
            }
            Self::RateLimiting {
                spans_per_second,
                burst_capacity,
            } => out
                .field("spans_per_second", spans_per_second)
                .field("burst_capacity", burst_capacity),
            Self::BytesLimiting {
                bytes_per_second,
                burst_capacity,
            } => out
                .field("bytes_per_second", bytes_per_second)
                .field("burst_capacity", burst_capacity),
            Self::OttlCondition {
                error_mode,
                span,
                spanevent,
            } => out
                .field("error_mode", error_mode)
                .field("span", &span.len())
                .field("spanevent", &spanevent.len()),
            Self::Composite {
                max_total_spans_per_second,
                children,
            } => out
                .field("max_total_spans_per_second", max_total_spans_per_second)
                .field("children", children),
            Self::And(children) | Self::Drop(children) => out.field("children", children),
            Self::Not(child) => out.field("child", child),
            Self::LatencyPercentile {
                percentile,
                by,
                floor_ms,
                warmup_ms,
                min_count,
                of,
                by_tokens,
            } => out
                .field("percentile", percentile)
                .field("by", by)
                .field("floor_ms", floor_ms)
                .field("warmup_ms", warmup_ms)
                .field("min_count", min_count)
                .field("of", of)
                .field("by_tokens", by_tokens),
            Self::PromptKeyword { keywords } => out.field("keywords", &keywords.len()),
            Self::Calls(rule) => out.field("rule", rule),
        }
        .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_keyword() {
        let kind = PolicyKind::PromptKeyword {
            keywords: vec!["canary-7f3".into()],
        };
        let shown = format!(
            "{:?}",
            PolicySpec {
                name: "risky".into(),
                kind
            }
        );
        assert!(shown.contains("prompt_keyword { keywords: 1 }"), "{shown}");
        assert!(!shown.contains("canary"), "{shown}");
    }
}
