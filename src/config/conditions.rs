//! `ottl_condition`, and conditions wherever they stand: they are parsed here, so that a mistake has its place in the file.

use super::fields::Fields;
use super::item::Item;
use super::nearest::nearest;
use crate::rules::PolicyKind;
use crate::rules::ottl::{Condition, Context, ErrorMode};

const MODES: [(&str, ErrorMode); 3] = [
    ("ignore", ErrorMode::Ignore),
    ("silent", ErrorMode::Silent),
    ("propagate", ErrorMode::Propagate),
];

pub(crate) fn decode(block: &Item<'_>) -> Option<PolicyKind> {
    let mut fields = block.fields()?;
    // Unset acts as `silent`, whatever the Collector's documentation says.
    let error_mode = fields
        .get("error_mode")
        .map_or(Some(ErrorMode::default()), |item| mode(&item));
    let span = list(&mut fields, "span", Context::Span);
    let spanevent = list(&mut fields, "spanevent", Context::SpanEvent);
    let (error_mode, span, spanevent) = (error_mode?, span?, spanevent?);
    if span.is_empty() && spanevent.is_empty() {
        block.error("expected at least one condition in `span` or `spanevent`");
        return None;
    }
    Some(PolicyKind::OttlCondition {
        error_mode,
        span,
        spanevent,
    })
}

/// An `error_mode`. Letter case does not count, as in the Collector.
pub(crate) fn mode(item: &Item<'_>) -> Option<ErrorMode> {
    let text = item.string()?;
    let known = MODES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(&text));
    if known.is_none() {
        item.error(format!(
            "expected one of `ignore`, `silent`, `propagate`{}",
            item.shown()
        ));
    }
    known.map(|(_, mode)| *mode)
}

pub(crate) fn list(
    fields: &mut Fields<'_>,
    key: &'static str,
    context: Context,
) -> Option<Vec<String>> {
    let items = fields.get(key).map(|item| item.list()).unwrap_or_default();
    let parsed: Vec<String> = items
        .iter()
        .filter_map(|item| condition(item, context))
        .collect();
    (parsed.len() == items.len()).then_some(parsed)
}

pub(crate) fn condition(item: &Item<'_>, context: Context) -> Option<String> {
    let text = item.string()?;
    let Err(error) = Condition::parse(&text, context) else {
        return Some(text);
    };
    if item.node.secret {
        // What it holds came from the environment.
        item.error("not a valid condition");
        return None;
    }
    let close = error.unknown.as_ref().and_then(|unknown| {
        let known = unknown.known.iter().copied();
        nearest(&unknown.written, known)
    });
    let message = format!("not a valid condition: {error}");
    match close {
        Some(close) => item.error_help(message, format!("did you mean `{close}`?")),
        None => item.error(message),
    }
    None
}
