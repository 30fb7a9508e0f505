//! The settings of the policies over model calls. Numbers are checked here, so that a rule is never one that cannot match
//! by mistake.

use super::fields::Fields;
use super::item::Item;
use crate::genai::Finish;
use crate::rules::{CallRule, Price, Tokens};

/// The types, as the file writes them.
pub(crate) const TYPES: [&str; 8] = [
    "token_count",
    "token_ratio",
    "cost",
    "finish_reason",
    "cache_hit",
    "evaluation_score",
    "tool_error",
    "gen_ai_error",
];

/// Above any price list, and far below what a sum could not hold.
const DEAREST: f64 = 1e6;

/// Decodes the block of a type of [`TYPES`]; without a block those are taken that need no key.
pub(crate) fn decode(kind: &str, block: Option<&Item<'_>>) -> Option<CallRule> {
    match (kind, block) {
        ("cache_hit", None) => Some(CallRule::CacheHit { hit: true }),
        ("tool_error", None) => Some(CallRule::ToolError { tools: Vec::new() }),
        ("gen_ai_error", None) => Some(CallRule::GenAiError { types: Vec::new() }),
        (kind, Some(block)) => with_block(kind, block),
        _ => None,
    }
}

/// Whether a type must have a block.
pub(crate) fn needs_block(kind: &str) -> bool {
    decode(kind, None).is_none()
}

fn with_block(kind: &str, block: &Item<'_>) -> Option<CallRule> {
    let mut fields = block.fields()?;
    match kind {
        "token_count" => token_count(block, &mut fields),
        "token_ratio" => token_ratio(block, &mut fields),
        "cost" => cost(block, &mut fields),
        "finish_reason" => finish_reason(&mut fields),
        "cache_hit" => {
            let hit = fields.get("hit").map_or(Some(true), |item| item.boolean());
            Some(CallRule::CacheHit { hit: hit? })
        }
        "evaluation_score" => evaluation_score(block, &mut fields),
        "tool_error" => {
            let tools = texts(&mut fields, "tools")?;
            Some(CallRule::ToolError { tools })
        }
        "gen_ai_error" => {
            let types = texts(&mut fields, "types")?;
            Some(CallRule::GenAiError { types })
        }
        _ => None,
    }
}

fn token_count(block: &Item<'_>, fields: &mut Fields<'_>) -> Option<CallRule> {
    let of = tokens(fields, "of", Tokens::Total);
    let min = fields.get("min").map(|item| item.u64());
    let max = fields.get("max").map(|item| item.u64());
    let (of, min, max) = (of?, or(min, 0)?, or(max, u64::MAX)?);
    range(block, (min > 0, max < u64::MAX), min > max)?;
    Some(CallRule::TokenCount { of, min, max })
}

fn token_ratio(block: &Item<'_>, fields: &mut Fields<'_>) -> Option<CallRule> {
    let of = tokens(fields, "of", Tokens::Output);
    let to = tokens(fields, "to", Tokens::Input);
    let (min, max) = bounds(fields);
    let (of, to, (min, max)) = (of?, to?, (min?, max?));
    if of == to {
        block.error("`of` and `to` are the same: the ratio is always 1");
        return None;
    }
    range(block, (min > 0.0, max.is_finite()), min > max)?;
    Some(CallRule::TokenRatio { of, to, min, max })
}

fn cost(block: &Item<'_>, fields: &mut Fields<'_>) -> Option<CallRule> {
    let (min, max) = bounds(fields);
    let unknown = match fields.get("unknown_model") {
        Some(item) => item.one_of(&[("ignore", false), ("match", true)]),
        None => Some(false),
    };
    let prices = fields.require("prices", "a list of models with their prices")?;
    let items = prices.list();
    let table: Vec<Price> = items.iter().filter_map(price).collect();
    let complete = table.len() == items.len();
    if items.is_empty() {
        prices.error("expected at least one model with its prices");
    }
    let mut sound = complete && !items.is_empty();
    for (at, item) in items.iter().enumerate() {
        let model = table.get(at).filter(|_| complete).map(|price| &price.model);
        if let Some(model) = model
            && table.iter().take(at).any(|other| other.model == *model)
        {
            item.error("this model has a price already");
            sound = false;
        }
    }
    let (min, max, unknown_matches) = (min?, max?, unknown?);
    range(block, (min > 0.0, max.is_finite()), min > max)?;
    sound.then_some(CallRule::Cost {
        prices: table,
        unknown_matches,
        min,
        max,
    })
}

fn price(item: &Item<'_>) -> Option<Price> {
    let mut fields = item.fields()?;
    let model = fields.require("model", "a model's name").and_then(|item| {
        let name = item.string()?;
        if name.is_empty() {
            item.error("expected a model's name");
        }
        Some(name).filter(|name| !name.is_empty())
    });
    let mut amount = |key: &'static str, default: Option<f64>| match fields.get(key) {
        None => default,
        Some(item) => {
            let value = item.f64()?;
            let good = (0.0..=DEAREST).contains(&value);
            if !good {
                item.error(
                    "out of range: expected a price for a million tokens, from 0 to 1000000",
                );
            }
            good.then_some(value)
        }
    };
    let (input, output) = (amount("input", Some(0.0)), amount("output", Some(0.0)));
    // A cache that is not billed apart is billed as what goes in.
    let cached = amount("cached", input);
    Some(Price {
        model: model?,
        input: input?,
        output: output?,
        cached: cached?,
    })
}

fn finish_reason(fields: &mut Fields<'_>) -> Option<CallRule> {
    let words: Vec<(&str, Finish)> = Finish::ALL.iter().map(|it| (it.word(), *it)).collect();
    let list = fields.require("reasons", "a list of finish reasons")?;
    if list.list_is_empty() {
        list.error("expected at least one finish reason");
        return None;
    }
    let items = list.list();
    let mut reasons: Vec<Finish> = items
        .iter()
        .filter_map(|item| item.one_of(&words))
        .collect();
    let complete = reasons.len() == items.len() && !items.is_empty();
    reasons.sort_unstable();
    reasons.dedup();
    complete.then_some(CallRule::FinishReason { reasons })
}

fn evaluation_score(block: &Item<'_>, fields: &mut Fields<'_>) -> Option<CallRule> {
    let name = fields
        .require("name", "the evaluation's name")
        .and_then(|item| {
            let name = item.string()?;
            if name.is_empty() {
                item.error("expected the evaluation's name");
            }
            Some(name).filter(|name| !name.is_empty())
        });
    let above = fields.get("above").map(|item| item.f64());
    let below = fields.get("below").map(|item| item.f64());
    let labels = texts(fields, "labels");
    let (name, labels) = (name?, labels?);
    let (above, below) = (optional(above)?, optional(below)?);
    if let (Some(above), Some(below)) = (above, below)
        && above >= below
    {
        block.error("matches nothing: `above` is not below `below`");
        return None;
    }
    Some(CallRule::EvaluationScore {
        name,
        above,
        below,
        labels,
    })
}

/// A key that names tokens.
pub(crate) fn tokens(
    fields: &mut Fields<'_>,
    key: &'static str,
    default: Tokens,
) -> Option<Tokens> {
    let item = fields.get(key);
    item.map_or(Some(default), |item| item.one_of(&Tokens::WORDS))
}

/// `min` and `max` as numbers that are not negative.
fn bounds(fields: &mut Fields<'_>) -> (Option<f64>, Option<f64>) {
    let mut bound = |key: &'static str, default: f64| {
        let Some(item) = fields.get(key) else {
            return Some(default);
        };
        let value = item.f64()?;
        let good = value >= 0.0 && value.is_finite();
        if !good {
            item.error("out of range: expected a number that is not negative");
        }
        good.then_some(value)
    };
    (bound("min", 0.0), bound("max", f64::INFINITY))
}

/// At least one bound, and in order.
fn range(block: &Item<'_>, (least, most): (bool, bool), empty: bool) -> Option<()> {
    if !least && !most {
        block.error("expected `min` above 0, `max` or both");
        return None;
    }
    if empty {
        block.error("matches nothing: `min` is above `max`");
    }
    (!empty).then_some(())
}

/// Of a key that is not there the default, of one that is wrong nothing.
fn or<T>(read: Option<Option<T>>, default: T) -> Option<T> {
    read.unwrap_or(Some(default))
}

fn optional<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    match read {
        None => Some(None),
        Some(read) => read.map(Some),
    }
}

fn texts(fields: &mut Fields<'_>, key: &'static str) -> Option<Vec<String>> {
    let items = fields.get(key).map(|item| item.list()).unwrap_or_default();
    let read: Vec<String> = items.iter().filter_map(Item::string).collect();
    (read.len() == items.len()).then_some(read)
}
