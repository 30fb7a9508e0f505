//! The settings of the leaf policies, with the Collector's defaults, and the values that it would wrap around or crash on.

use super::fields::Fields;
use super::item::Item;
use crate::rules::{DEFAULT_SALT, PercentileOf, PolicyKind, StatusCode, Tokens};

/// The Collector's default size.
const CACHE_SIZE: u64 = 128;
/// A 99th percentile of a thousand observations keeps 1 % give or take a third; of a hundred it is the largest one.
const MIN_COUNT: u64 = 1000;
/// As in design.md section 3: a request slower than this is slow whatever the others do.
const WARMUP_MS: u64 = 5000;

/// A number that is 0 when it is not written, `None` when it is wrong.
fn or_zero<'a, T: Default>(
    item: Option<Item<'a>>,
    read: impl FnOnce(&Item<'a>) -> Option<T>,
) -> Option<T> {
    item.map_or(Some(T::default()), |item| read(&item))
}

/// What a policy is without its block where the Collector starts all the same, with defaults that match nothing.
pub(crate) fn without_block(kind: &str) -> Option<PolicyKind> {
    Some(match kind {
        "string_attribute" => PolicyKind::StringAttribute {
            key: String::new(),
            values: Vec::new(),
            enabled_regex_matching: false,
            cache_max_size: CACHE_SIZE,
            invert_match: false,
        },
        "trace_state" => PolicyKind::TraceState {
            key: String::new(),
            values: Vec::new(),
        },
        "rate_limiting" => PolicyKind::RateLimiting {
            spans_per_second: 0,
            burst_capacity: 0,
        },
        "bytes_limiting" => PolicyKind::BytesLimiting {
            bytes_per_second: 0,
            burst_capacity: 0,
        },
        "composite" => PolicyKind::Composite {
            max_total_spans_per_second: 0,
            children: Vec::new(),
        },
        _ => return None,
    })
}

pub(crate) fn latency(block: Option<&Item<'_>>) -> Option<PolicyKind> {
    let Some(block) = block else {
        return Some(PolicyKind::Latency {
            threshold_ms: 0,
            upper_threshold_ms: 0,
        });
    };
    let mut fields = block.fields()?;
    let threshold = or_zero(fields.get("threshold_ms"), Item::i64);
    let upper = or_zero(fields.get("upper_threshold_ms"), Item::i64);
    let (threshold_ms, upper_threshold_ms) = (threshold?, upper?);
    if upper_threshold_ms != 0 && upper_threshold_ms <= threshold_ms {
        block.warning("matches nothing: `upper_threshold_ms` is not above `threshold_ms`");
    }
    Some(PolicyKind::Latency {
        threshold_ms,
        upper_threshold_ms,
    })
}

pub(crate) fn probabilistic(block: Option<&Item<'_>>) -> Option<PolicyKind> {
    let salt = DEFAULT_SALT.to_owned();
    let Some(block) = block else {
        return Some(PolicyKind::Probabilistic {
            sampling_percentage: 0.0,
            hash_salt: salt,
        });
    };
    let mut fields = block.fields()?;
    let percentage = or_zero(fields.get("sampling_percentage"), Item::f64);
    let hash_salt = fields
        .string("hash_salt")
        .filter(|salt| !salt.is_empty())
        .unwrap_or(salt);
    Some(PolicyKind::Probabilistic {
        sampling_percentage: percentage?,
        hash_salt,
    })
}

pub(crate) fn span_count(block: Option<&Item<'_>>) -> Option<PolicyKind> {
    let Some(block) = block else {
        return Some(PolicyKind::SpanCount {
            min_spans: 0,
            max_spans: 0,
        });
    };
    let mut fields = block.fields()?;
    let min = or_zero(fields.get("min_spans"), Item::i32);
    let max = or_zero(fields.get("max_spans"), Item::i32);
    let (min_spans, max_spans) = (min?, max?);
    if max_spans != 0 && max_spans < min_spans {
        block.warning("matches nothing: `max_spans` is below `min_spans`");
    }
    Some(PolicyKind::SpanCount {
        min_spans,
        max_spans,
    })
}

pub(crate) fn status_code(block: &Item<'_>) -> Option<PolicyKind> {
    const CODES: [(&str, StatusCode); 3] = [
        ("OK", StatusCode::Ok),
        ("ERROR", StatusCode::Error),
        ("UNSET", StatusCode::Unset),
    ];
    let mut fields = block.fields()?;
    let list = fields.require("status_codes", "a list of `OK`, `ERROR`, `UNSET`")?;
    let items = list.list();
    if list.list_is_empty() {
        list.error("expected at least one of `OK`, `ERROR`, `UNSET`");
        return None;
    }
    let mut codes: Vec<StatusCode> = items
        .iter()
        .filter_map(|item| item.one_of(&CODES))
        .collect();
    let complete = !codes.is_empty() && codes.len() == items.len();
    codes.sort_unstable();
    codes.dedup();
    complete.then_some(PolicyKind::StatusCode { codes })
}

pub(crate) fn string_attribute(block: &Item<'_>) -> Option<PolicyKind> {
    let mut fields = block.fields()?;
    let key = attribute_key(&mut fields);
    let items = fields
        .get("values")
        .map(|item| item.list())
        .unwrap_or_default();
    let enabled_regex_matching = fields.boolean("enabled_regex_matching").unwrap_or(false);
    // 0 and less mean the default in the Collector.
    let cache = fields
        .i64("cache_max_size")
        .and_then(|n| u64::try_from(n).ok())
        .filter(|n| *n > 0);
    let invert_match = fields.boolean("invert_match").unwrap_or(false);
    let mut values: Vec<String> = Vec::new();
    let mut complete = true;
    for item in &items {
        match item.string() {
            Some(value) if enabled_regex_matching && !compiles(item, &value) => complete = false,
            // An empty value matches nothing in exact mode: the Collector leaves it out.
            Some(value) if value.is_empty() && !enabled_regex_matching => {}
            Some(value) => values.push(value),
            None => complete = false,
        }
    }
    if items.is_empty() {
        block.warning("no value is looked for: `values` is empty");
    }
    let cache_max_size = cache.unwrap_or(CACHE_SIZE);
    let key = key.filter(|_| complete)?;
    Some(PolicyKind::StringAttribute {
        key,
        values,
        enabled_regex_matching,
        cache_max_size,
        invert_match,
    })
}

/// The attribute's key. An empty one is a key in the Collector; it is worth a warning.
fn attribute_key(fields: &mut Fields<'_>) -> Option<String> {
    match fields.get("key") {
        Some(item) => item.string(),
        None => {
            fields
                .item()
                .warning("no `key`: the attribute whose key is empty is looked at");
            Some(String::new())
        }
    }
}

pub(crate) fn compiles(item: &Item<'_>, expression: &str) -> bool {
    let Err(error) = regex_syntax::Parser::new().parse(expression) else {
        return true;
    };
    // The kind, without the expression: it may come from the environment.
    let why = match error {
        regex_syntax::Error::Parse(error) => error.kind().to_string(),
        regex_syntax::Error::Translate(error) => error.kind().to_string(),
        _ => "it cannot be compiled".to_owned(),
    };
    item.error(format!(
        "not a valid regular expression: {why}{}",
        item.shown()
    ));
    false
}

pub(crate) fn numeric_attribute(block: &Item<'_>) -> Option<PolicyKind> {
    let mut fields = block.fields()?;
    let key = attribute_key(&mut fields);
    let min = or_zero(fields.get("min_value"), Item::i64);
    let max = or_zero(fields.get("max_value"), Item::i64);
    let invert_match = fields.boolean("invert_match").unwrap_or(false);
    let (key, min, max) = (key?, min?, max?);
    if min == 0 && max == 0 {
        let help = "0 means \"not set\", as in the Collector, which crashes on such a policy";
        block.error_help(
            "expected `min_value`, `max_value` or both, other than 0",
            help,
        );
        return None;
    }
    // 0 cannot be expressed: the Collector takes it as unset.
    let min_value = if min == 0 { i64::MIN } else { min };
    let max_value = if max == 0 { i64::MAX } else { max };
    if min_value > max_value {
        block.warning("no value is in the range: `min_value` is above `max_value`");
    }
    Some(PolicyKind::NumericAttribute {
        key,
        min_value,
        max_value,
        invert_match,
    })
}

pub(crate) fn boolean_attribute(block: &Item<'_>) -> Option<PolicyKind> {
    let mut fields = block.fields()?;
    let key = attribute_key(&mut fields);
    let value = or_zero(fields.get("value"), Item::boolean);
    let invert_match = fields.boolean("invert_match").unwrap_or(false);
    Some(PolicyKind::BooleanAttribute {
        key: key?,
        value: value?,
        invert_match,
    })
}

pub(crate) fn trace_state(block: &Item<'_>) -> Option<PolicyKind> {
    let mut fields = block.fields()?;
    let key = fields
        .get("key")
        .map_or(Some(String::new()), |item| item.string());
    let items = fields
        .get("values")
        .map(|item| item.list())
        .unwrap_or_default();
    let values: Vec<String> = items.iter().filter_map(Item::string).collect();
    let complete = values.len() == items.len();
    let key = key?;
    // Keys and values of a tracestate have 256 characters at most; the Collector leaves out what is longer.
    let matches = |value: &String| !value.is_empty() && key.len() + value.len() < 256;
    if complete && !values.iter().any(matches) {
        block.warning("matches nothing: no value is left that a tracestate could have");
    }
    complete.then_some(PolicyKind::TraceState { key, values })
}

pub(crate) fn latency_percentile(block: &Item<'_>) -> Option<PolicyKind> {
    let mut fields = block.fields()?;
    let percentile = fields
        .require("percentile", "a number above 0 and below 100")
        .and_then(|item| {
            let value = item.f64()?;
            let good = value > 0.0 && value < 100.0;
            if !good {
                item.error("out of range: expected a number above 0 and below 100");
            }
            good.then_some(value)
        });
    let by = fields.strings("by");
    let floor_ms = or_zero(fields.get("floor_ms"), Item::u64);
    let warmup_ms = fields
        .get("warmup_ms")
        .map_or(Some(WARMUP_MS), |item| item.u64());
    let min_count = fields
        .get("min_count")
        .map_or(Some(MIN_COUNT), |item| item.u64_in(1, u64::MAX));
    let of = fields
        .one_of(
            "of",
            &[
                ("trace", PercentileOf::Trace),
                ("duration", PercentileOf::Trace),
                ("span", PercentileOf::Span),
                ("ttft", PercentileOf::Ttft),
                ("time_per_output_token", PercentileOf::TimePerOutputToken),
                ("queue", PercentileOf::Queue),
            ],
        )
        .unwrap_or_default();
    let by_tokens = match fields.get("by_tokens") {
        Some(item) => Some(item.one_of(&Tokens::WORDS)?),
        None => None,
    };
    if by.len() > 8 {
        fields.item().error("`by` has more than 8 keys");
    }
    Some(PolicyKind::LatencyPercentile {
        percentile: percentile?,
        by,
        floor_ms: floor_ms?,
        warmup_ms: warmup_ms?,
        min_count: min_count?,
        of,
        by_tokens,
    })
}
