//! `tail_sampling.policies` to [`PolicySpec`]s: types, nesting, names, and the values that the Collector would wrap
//! around or crash on.

use std::collections::HashMap;

use super::decoder::Item;
use super::fields::Fields;
use super::keywords;
use super::nearest::nearest;
use crate::rules::{PercentileOf, PolicyKind, PolicySpec, StatusCode};

/// Where a policy stands: which types may stand there differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Top,
    /// Below `and` or `drop`.
    Child,
    /// Below `not`.
    Negated,
}

const LEAVES: [&str; 10] = [
    "always_sample",
    "latency",
    "status_code",
    "string_attribute",
    "numeric_attribute",
    "boolean_attribute",
    "probabilistic",
    "span_count",
    "latency_percentile",
    "prompt_keyword",
];
/// The Collector's and ours that are still to come, with what to do meanwhile.
const LATER: [(&str, &str); 7] = [
    ("trace_state", "leave the policy out, or write the member into an attribute and use `string_attribute`"),
    ("trace_flags", "leave the policy out"),
    ("rate_limiting", "leave the policy out, or thin with `probabilistic`"),
    ("bytes_limiting", "leave the policy out, or thin with `probabilistic`"),
    ("ottl_condition", "use `string_attribute`, `numeric_attribute`, `boolean_attribute`, `status_code` or `latency`"),
    ("composite", "list the sub-policies at the top level"),
    ("evaluation_score", "leave the policy out"),
];
const COMBINING: [&str; 3] = ["and", "not", "drop"];
/// The Collector's default salt.
const DEFAULT_SALT: &str = "default-hash-seed";
/// The Collector's default size.
const CACHE_SIZE: u64 = 128;
/// Fewer observations than this and the 99th percentile is the largest one.
const MIN_COUNT: u64 = 100;
/// As in design.md section 3: a request slower than this is slow whatever the others do.
const WARMUP_MS: u64 = 5000;

/// Decodes the list. Names must be unique at the top level.
pub(crate) fn decode(item: &Item<'_>) -> Vec<PolicySpec> {
    let mut first: HashMap<String, String> = HashMap::new();
    let mut out = Vec::new();
    for item in item.list() {
        let Some(policy) = policy(&item, Level::Top, &mut first) else { continue };
        out.push(policy);
    }
    out
}

fn policy(item: &Item<'_>, level: Level, names: &mut HashMap<String, String>) -> Option<PolicySpec> {
    let mut fields = item.fields()?;
    let name_item = fields.get("name");
    let name = name_item.as_ref().map_or(Some(String::new()), Item::string);
    if level == Level::Top {
        check_name(item, name_item.as_ref(), name.as_deref(), names);
    }
    let kind = match fields.require("type", "the type of the policy") {
        Some(item) => kind(&mut fields, &item, level),
        None => {
            // Without a type nothing is known about the rest.
            fields.take_rest();
            None
        }
    };
    Some(PolicySpec { name: name?, kind: kind? })
}

fn check_name(item: &Item<'_>, at: Option<&Item<'_>>, name: Option<&str>, names: &mut HashMap<String, String>) {
    match name {
        Some("") => at.unwrap_or(item).error("a policy must have a `name`"),
        Some(name) => {
            let at = at.unwrap_or(item);
            let place = at.decoder.sources.describe(at.node.place, item.node.place);
            if let Some(earlier) = names.get(name) {
                at.error(format!("another policy has this name already, on {earlier}"));
            } else {
                names.insert(name.to_owned(), place);
            }
        }
        None => {}
    }
}

fn kind(fields: &mut Fields<'_>, item: &Item<'_>, level: Level) -> Option<PolicyKind> {
    let Some(name) = item.string() else {
        fields.take_rest();
        return None;
    };
    let Some(known) = LEAVES.iter().chain(&COMBINING).find(|known| **known == name) else {
        fields.take_rest();
        refuse_type(item, &name);
        return None;
    };
    let block = fields.get(known);
    ignore_other_blocks(fields, known);
    if !allowed(known, level) {
        refuse_nesting(item, known, level);
        return None;
    }
    decode_kind(fields, known, block.as_ref())
}

fn allowed(kind: &str, level: Level) -> bool {
    match level {
        Level::Top => true,
        Level::Child => kind == "not" || LEAVES.contains(&kind),
        Level::Negated => LEAVES.contains(&kind),
    }
}

fn refuse_nesting(item: &Item<'_>, kind: &str, level: Level) {
    let where_ = match level {
        Level::Negated => "`not`",
        _ => "`and` or `drop`",
    };
    let help = match (kind, level) {
        ("and", Level::Child) => "put its sub-policies into the outer list",
        ("drop", _) => "put it at the top level",
        _ => "combine at the top level, as in the Collector",
    };
    item.error_help(format!("a policy of type `{kind}` must not stand below {where_}"), help);
}

fn refuse_type(item: &Item<'_>, name: &str) {
    if let Some((later, help)) = LATER.iter().find(|(later, _)| *later == name) {
        item.error_help(format!("the policy type `{later}` is not supported yet"), *help);
        return;
    }
    let known = || LEAVES.iter().chain(&COMBINING).copied();
    if let Some(close) = nearest(name, known().chain(LATER.iter().map(|(later, _)| *later))) {
        item.error(format!("unknown policy type{}; did you mean `{close}`?", item.shown()));
    } else {
        let all: Vec<String> = known().map(|known| format!("`{known}`")).collect();
        item.error_help(format!("unknown policy type{}", item.shown()), format!("known types: {}", all.join(", ")));
    }
}

/// Blocks of other types change nothing in the Collector; here they get a warning.
fn ignore_other_blocks(fields: &mut Fields<'_>, kind: &str) {
    let why = "the `type` of this policy is another one";
    let later = LATER.iter().map(|(later, _)| *later);
    for other in LEAVES.iter().chain(&COMBINING).copied().chain(later).filter(|other| *other != kind) {
        fields.no_effect(other, why);
    }
}

fn decode_kind(fields: &Fields<'_>, kind: &str, block: Option<&Item<'_>>) -> Option<PolicyKind> {
    let item = fields.item();
    match (kind, block) {
        ("always_sample", Some(block)) => block.fields().map(|_| PolicyKind::AlwaysSample),
        ("always_sample", None) => Some(PolicyKind::AlwaysSample),
        ("latency", block) => latency(block),
        ("probabilistic", block) => probabilistic(block),
        ("span_count", block) => span_count(block),
        ("and", block) => Some(PolicyKind::And(children(item, block, "and_sub_policy")?)),
        ("drop", block) => Some(PolicyKind::Drop(children(item, block, "drop_sub_policy")?)),
        (_, None) => {
            item.error(format!("missing: expected a block `{kind}` with the settings of the policy"));
            None
        }
        ("status_code", Some(block)) => status_code(block),
        ("string_attribute", Some(block)) => string_attribute(block),
        ("numeric_attribute", Some(block)) => numeric_attribute(block),
        ("boolean_attribute", Some(block)) => boolean_attribute(block),
        ("latency_percentile", Some(block)) => latency_percentile(block),
        ("prompt_keyword", Some(block)) => keywords::decode(block),
        ("not", Some(block)) => negated(block),
        _ => None,
    }
}

/// A number that is 0 when it is not written, `None` when it is wrong.
fn or_zero<'a, T: Default>(item: Option<Item<'a>>, read: impl FnOnce(&Item<'a>) -> Option<T>) -> Option<T> {
    item.map_or(Some(T::default()), |item| read(&item))
}

fn latency(block: Option<&Item<'_>>) -> Option<PolicyKind> {
    let Some(block) = block else { return Some(PolicyKind::Latency { threshold_ms: 0, upper_threshold_ms: 0 }) };
    let mut fields = block.fields()?;
    let threshold = or_zero(fields.get("threshold_ms"), Item::i64);
    let upper = or_zero(fields.get("upper_threshold_ms"), Item::i64);
    let (threshold_ms, upper_threshold_ms) = (threshold?, upper?);
    if upper_threshold_ms != 0 && upper_threshold_ms <= threshold_ms {
        block.warning("matches nothing: `upper_threshold_ms` is not above `threshold_ms`");
    }
    Some(PolicyKind::Latency { threshold_ms, upper_threshold_ms })
}

fn probabilistic(block: Option<&Item<'_>>) -> Option<PolicyKind> {
    let salt = DEFAULT_SALT.to_owned();
    let Some(block) = block else {
        return Some(PolicyKind::Probabilistic { sampling_percentage: 0.0, hash_salt: salt });
    };
    let mut fields = block.fields()?;
    let percentage = or_zero(fields.get("sampling_percentage"), Item::f64);
    let hash_salt = fields.string("hash_salt").filter(|salt| !salt.is_empty()).unwrap_or(salt);
    Some(PolicyKind::Probabilistic { sampling_percentage: percentage?, hash_salt })
}

fn span_count(block: Option<&Item<'_>>) -> Option<PolicyKind> {
    let Some(block) = block else { return Some(PolicyKind::SpanCount { min_spans: 0, max_spans: 0 }) };
    let mut fields = block.fields()?;
    let min = or_zero(fields.get("min_spans"), Item::i32);
    let max = or_zero(fields.get("max_spans"), Item::i32);
    let (min_spans, max_spans) = (min?, max?);
    if max_spans != 0 && max_spans < min_spans {
        block.warning("matches nothing: `max_spans` is below `min_spans`");
    }
    Some(PolicyKind::SpanCount { min_spans, max_spans })
}

fn status_code(block: &Item<'_>) -> Option<PolicyKind> {
    const CODES: [(&str, StatusCode); 3] =
        [("OK", StatusCode::Ok), ("ERROR", StatusCode::Error), ("UNSET", StatusCode::Unset)];
    let mut fields = block.fields()?;
    let list = fields.require("status_codes", "a list of `OK`, `ERROR`, `UNSET`")?;
    let items = list.list();
    if list.list_is_empty() {
        list.error("expected at least one of `OK`, `ERROR`, `UNSET`");
        return None;
    }
    let mut codes: Vec<StatusCode> = items.iter().filter_map(|item| item.one_of(&CODES)).collect();
    let complete = !codes.is_empty() && codes.len() == items.len();
    codes.sort_unstable();
    codes.dedup();
    complete.then_some(PolicyKind::StatusCode { codes })
}

fn string_attribute(block: &Item<'_>) -> Option<PolicyKind> {
    let mut fields = block.fields()?;
    let key = attribute_key(&mut fields);
    let items = fields.get("values").map(|item| item.list()).unwrap_or_default();
    let enabled_regex_matching = fields.boolean("enabled_regex_matching").unwrap_or(false);
    // 0 and less mean the default in the Collector.
    let cache = fields.i64("cache_max_size").and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
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
    Some(PolicyKind::StringAttribute { key, values, enabled_regex_matching, cache_max_size, invert_match })
}

/// The attribute's key. An empty one is a key in the Collector; it is worth a warning.
fn attribute_key(fields: &mut Fields<'_>) -> Option<String> {
    match fields.get("key") {
        Some(item) => item.string(),
        None => {
            fields.item().warning("no `key`: the attribute whose key is empty is looked at");
            Some(String::new())
        }
    }
}

fn compiles(item: &Item<'_>, expression: &str) -> bool {
    let Err(error) = regex_syntax::Parser::new().parse(expression) else { return true };
    // The kind, without the expression: it may come from the environment.
    let why = match error {
        regex_syntax::Error::Parse(error) => error.kind().to_string(),
        regex_syntax::Error::Translate(error) => error.kind().to_string(),
        _ => "it cannot be compiled".to_owned(),
    };
    item.error(format!("not a valid regular expression: {why}{}", item.shown()));
    false
}

fn numeric_attribute(block: &Item<'_>) -> Option<PolicyKind> {
    let mut fields = block.fields()?;
    let key = attribute_key(&mut fields);
    let min = or_zero(fields.get("min_value"), Item::i64);
    let max = or_zero(fields.get("max_value"), Item::i64);
    let invert_match = fields.boolean("invert_match").unwrap_or(false);
    let (key, min, max) = (key?, min?, max?);
    if min == 0 && max == 0 {
        let help = "0 means \"not set\", as in the Collector, which crashes on such a policy";
        block.error_help("expected `min_value`, `max_value` or both, other than 0", help);
        return None;
    }
    // 0 cannot be expressed: the Collector takes it as unset.
    let min_value = if min == 0 { i64::MIN } else { min };
    let max_value = if max == 0 { i64::MAX } else { max };
    if min_value > max_value {
        block.warning("no value is in the range: `min_value` is above `max_value`");
    }
    Some(PolicyKind::NumericAttribute { key, min_value, max_value, invert_match })
}

fn boolean_attribute(block: &Item<'_>) -> Option<PolicyKind> {
    let mut fields = block.fields()?;
    let key = attribute_key(&mut fields);
    let value = or_zero(fields.get("value"), Item::boolean);
    let invert_match = fields.boolean("invert_match").unwrap_or(false);
    Some(PolicyKind::BooleanAttribute { key: key?, value: value?, invert_match })
}

fn latency_percentile(block: &Item<'_>) -> Option<PolicyKind> {
    let mut fields = block.fields()?;
    let percentile = fields.require("percentile", "a number above 0 and below 100").and_then(|item| {
        let value = item.f64()?;
        let good = value > 0.0 && value < 100.0;
        if !good {
            item.error("out of range: expected a number above 0 and below 100");
        }
        good.then_some(value)
    });
    let by = fields.strings("by");
    let floor_ms = or_zero(fields.get("floor_ms"), Item::u64);
    let warmup_ms = fields.get("warmup_ms").map_or(Some(WARMUP_MS), |item| item.u64());
    let min_count = fields.get("min_count").map_or(Some(MIN_COUNT), |item| item.u64_in(1, u64::MAX));
    let of = fields.one_of("of", &[("trace", PercentileOf::Trace), ("span", PercentileOf::Span)]).unwrap_or_default();
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
    })
}

/// Sub-policies of `and` and `drop`; none when the block or the list is missing, as in the Collector.
fn children(policy_item: &Item<'_>, block: Option<&Item<'_>>, key: &'static str) -> Option<Vec<PolicySpec>> {
    let items = match block {
        Some(block) => block.fields()?.get(key).map(|item| item.list()).unwrap_or_default(),
        None => Vec::new(),
    };
    if items.is_empty() {
        block.unwrap_or(policy_item).warning(format!("without `{key}` it matches every trace"));
    }
    let mut names = HashMap::new();
    let out: Vec<PolicySpec> = items.iter().filter_map(|item| policy(item, Level::Child, &mut names)).collect();
    (out.len() == items.len()).then_some(out)
}

fn negated(block: &Item<'_>) -> Option<PolicyKind> {
    let mut fields = block.fields()?;
    let child = fields.require("not_sub_policy", "a policy (a mapping, not a list)")?;
    let child = policy(&child, Level::Negated, &mut HashMap::new())?;
    Some(PolicyKind::Not(Box::new(child)))
}
