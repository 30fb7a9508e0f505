//! `tail_sampling.policies` to [`PolicySpec`]s: types, nesting and names.

use std::collections::HashMap;

use super::call_rules;
use super::conditions;
use super::fields::Fields;
use super::item::Item;
use super::keywords;
use super::leaves;
use super::limiting;
use super::nearest::nearest;
use super::routes;
use super::settings::SamplingStrategy;
use crate::exporters::Route;
use crate::rules::{PolicyKind, PolicySpec};

/// Where a policy stands: which types may stand there differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Top,
    /// Below `and` or `drop`.
    Child,
    /// Below `not`.
    Negated,
    /// Below `composite`.
    Share,
}

const LEAVES: [&str; 23] = [
    "always_sample",
    "latency",
    "status_code",
    "string_attribute",
    "numeric_attribute",
    "boolean_attribute",
    "probabilistic",
    "span_count",
    "trace_state",
    "trace_flags",
    "rate_limiting",
    "bytes_limiting",
    "ottl_condition",
    "latency_percentile",
    "prompt_keyword",
    "token_count",
    "token_ratio",
    "cost",
    "finish_reason",
    "cache_hit",
    "evaluation_score",
    "tool_error",
    "gen_ai_error",
];
const COMBINING: [&str; 4] = ["and", "not", "drop", "composite"];

/// Decodes the list. Names must be unique at the top level.
pub(crate) fn decode(item: &Item<'_>, strategy: SamplingStrategy) -> (Vec<PolicySpec>, Vec<Route>) {
    let mut first: HashMap<String, String> = HashMap::new();
    let (mut out, mut routes) = (Vec::new(), Vec::new());
    for item in item.list() {
        let Some(policy) = policy(&item, Level::Top, &mut first, &mut routes) else {
            continue;
        };
        if strategy == SamplingStrategy::SpanIngest && policy.kind.is_stateful() {
            item.error_help(
                "`span-ingest` asks policies for each piece alone, and this one needs the whole trace",
                "leave the policy out, or use `sampling_strategy: trace-complete` (the default)",
            );
        }
        out.push(policy);
    }
    (out, routes)
}

fn policy(
    item: &Item<'_>,
    level: Level,
    names: &mut HashMap<String, String>,
    routes: &mut Vec<Route>,
) -> Option<PolicySpec> {
    let mut fields = item.fields()?;
    let name_item = fields.get("name");
    let name = name_item.as_ref().map_or(Some(String::new()), Item::string);
    if level == Level::Top {
        check_name(item, name_item.as_ref(), name.as_deref(), names);
        let route = routes::decode(&mut fields, name.as_deref().unwrap_or_default());
        routes.extend(route);
    }
    let kind = match fields.require("type", "the type of the policy") {
        Some(item) => kind(&mut fields, &item, level),
        None => {
            // Without a type nothing is known about the rest.
            fields.take_rest();
            None
        }
    };
    Some(PolicySpec {
        name: name?,
        kind: kind?,
    })
}

fn check_name(
    item: &Item<'_>,
    at: Option<&Item<'_>>,
    name: Option<&str>,
    names: &mut HashMap<String, String>,
) {
    match name {
        Some("") => at.unwrap_or(item).error("a policy must have a `name`"),
        Some(name) => {
            let at = at.unwrap_or(item);
            let place = at.decoder.sources.describe(at.node.place, item.node.place);
            if let Some(earlier) = names.get(name) {
                at.error(format!(
                    "another policy has this name already, on {earlier}"
                ));
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
    let Some(known) = LEAVES
        .iter()
        .chain(&COMBINING)
        .find(|known| **known == name)
    else {
        fields.take_rest();
        refuse_type(item, &name);
        return None;
    };
    let block = fields.get(known);
    ignore_other_blocks(fields, known);
    ignore_unknown_blocks(fields);
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
        Level::Share => kind == "and" || LEAVES.contains(&kind),
    }
}

fn refuse_nesting(item: &Item<'_>, kind: &str, level: Level) {
    let where_ = match level {
        Level::Negated => "`not`",
        Level::Share => "`composite`",
        _ => "`and` or `drop`",
    };
    let help = match (kind, level) {
        ("and", Level::Child) => "put its sub-policies into the outer list",
        ("drop" | "composite", _) => "put it at the top level",
        _ => "combine at the top level, as in the Collector",
    };
    item.error_help(
        format!("a policy of type `{kind}` must not stand below {where_}"),
        help,
    );
}

fn refuse_type(item: &Item<'_>, name: &str) {
    let known = || LEAVES.iter().chain(&COMBINING).copied();
    if let Some(close) = nearest(name, known()) {
        item.error(format!(
            "unknown policy type{}; did you mean `{close}`?",
            item.shown()
        ));
    } else {
        let all: Vec<String> = known().map(|known| format!("`{known}`")).collect();
        item.error_help(
            format!("unknown policy type{}", item.shown()),
            format!("known types: {}", all.join(", ")),
        );
    }
}

/// Blocks of other types change nothing in the Collector; here they get a warning.
fn ignore_other_blocks(fields: &mut Fields<'_>, kind: &str) {
    let why = "the `type` of this policy is another one";
    for other in LEAVES
        .iter()
        .chain(&COMBINING)
        .copied()
        .filter(|other| *other != kind)
    {
        fields.no_effect(other, why);
    }
}

/// The Collector keeps unknown keys of a policy for its extensions when they hold a mapping or nothing, and does nothing
/// with them. A misspelt block is among them, so it is worth a warning; scalars and lists are errors there as here.
fn ignore_unknown_blocks(fields: &mut Fields<'_>) {
    let known = || LEAVES.iter().chain(&COMBINING).copied();
    fields.ignore_blocks(|key| match nearest(key, known()) {
        Some(close) => format!("has no effect: did you mean `{close}`?"),
        None => "has no effect: no policy type has this name".to_owned(),
    });
}

fn decode_kind(fields: &Fields<'_>, kind: &str, block: Option<&Item<'_>>) -> Option<PolicyKind> {
    let item = fields.item();
    match (kind, block) {
        ("always_sample", Some(block)) => block.fields().map(|_| PolicyKind::AlwaysSample),
        ("always_sample", None) => Some(PolicyKind::AlwaysSample),
        (kind, block)
            if call_rules::TYPES.contains(&kind)
                && (block.is_some() || !call_rules::needs_block(kind)) =>
        {
            call_rules::decode(kind, block).map(PolicyKind::Calls)
        }
        ("latency", block) => leaves::latency(block),
        ("probabilistic", block) => leaves::probabilistic(block),
        ("span_count", block) => leaves::span_count(block),
        ("and", block) => Some(PolicyKind::And(children(item, block, "and_sub_policy")?)),
        ("drop", block) => Some(PolicyKind::Drop(children(item, block, "drop_sub_policy")?)),
        ("trace_flags", Some(block)) => block.fields().map(|_| PolicyKind::TraceFlags),
        ("trace_flags", None) => Some(PolicyKind::TraceFlags),
        (kind, None) if leaves::without_block(kind).is_some() => {
            item.warning(format!("matches nothing: there is no block `{kind}`"));
            leaves::without_block(kind)
        }
        (_, None) => {
            item.error(format!(
                "missing: expected a block `{kind}` with the settings of the policy"
            ));
            None
        }
        ("status_code", Some(block)) => leaves::status_code(block),
        ("string_attribute", Some(block)) => leaves::string_attribute(block),
        ("numeric_attribute", Some(block)) => leaves::numeric_attribute(block),
        ("boolean_attribute", Some(block)) => leaves::boolean_attribute(block),
        ("latency_percentile", Some(block)) => leaves::latency_percentile(block),
        ("prompt_keyword", Some(block)) => keywords::decode(block),
        ("trace_state", Some(block)) => leaves::trace_state(block),
        ("rate_limiting", Some(block)) => limiting::rate(block),
        ("bytes_limiting", Some(block)) => limiting::bytes(block),
        ("composite", Some(block)) => limiting::composite(block, |item| {
            policy(item, Level::Share, &mut HashMap::new(), &mut Vec::new())
        }),
        ("ottl_condition", Some(block)) => conditions::decode(block),
        ("not", Some(block)) => negated(block),
        _ => None,
    }
}

/// Sub-policies of `and` and `drop`; none when the block or the list is missing, as in the Collector.
fn children(
    policy_item: &Item<'_>,
    block: Option<&Item<'_>>,
    key: &'static str,
) -> Option<Vec<PolicySpec>> {
    let items = match block {
        Some(block) => block
            .fields()?
            .get(key)
            .map(|item| item.list())
            .unwrap_or_default(),
        None => Vec::new(),
    };
    if items.is_empty() {
        block
            .unwrap_or(policy_item)
            .warning(format!("without `{key}` it matches every trace"));
    }
    let mut names = HashMap::new();
    let out: Vec<PolicySpec> = items
        .iter()
        .filter_map(|item| policy(item, Level::Child, &mut names, &mut Vec::new()))
        .collect();
    (out.len() == items.len()).then_some(out)
}

fn negated(block: &Item<'_>) -> Option<PolicyKind> {
    let mut fields = block.fields()?;
    let child = fields.require("not_sub_policy", "a policy (a mapping, not a list)")?;
    let child = policy(&child, Level::Negated, &mut HashMap::new(), &mut Vec::new())?;
    Some(PolicyKind::Not(Box::new(child)))
}
