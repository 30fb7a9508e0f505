//! A number for a rule set.

use super::release::Semantics;
use super::spec::{PolicyKind, PolicySpec};

/// A number that changes when a rule set does: it stands in every batch of decisions. FNV-1a 32 over all that is typed,
/// keywords included, of which it tells nothing.
#[must_use]
pub fn fingerprint(policies: &[PolicySpec], semantics: Semantics) -> u32 {
    let mut text = format!("{semantics:?}{policies:?}");
    policies
        .iter()
        .for_each(|policy| add_hidden(&policy.kind, &mut text));
    text.bytes().fold(0x811c_9dc5, |hash: u32, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// What `Debug` does not show.
fn add_hidden(kind: &PolicyKind, out: &mut String) {
    let mut list = |values: &[String]| {
        values
            .iter()
            .for_each(|value| *out += &format!("{value:?}"))
    };
    match kind {
        PolicyKind::StringAttribute { values, .. } => list(values),
        PolicyKind::PromptKeyword { keywords, .. } => list(keywords),
        PolicyKind::PromptRegex { expressions, .. } => list(expressions),
        PolicyKind::Probabilistic { hash_salt, .. } => list(std::slice::from_ref(hash_salt)),
        PolicyKind::And(children) | PolicyKind::Drop(children) => {
            children
                .iter()
                .for_each(|child| add_hidden(&child.kind, out));
        }
        PolicyKind::Composite { children, .. } => {
            children
                .iter()
                .for_each(|(child, _)| add_hidden(&child.kind, out));
        }
        PolicyKind::TraceState { values, .. } => list(values),
        PolicyKind::OttlCondition {
            span, spanevent, ..
        } => {
            list(span);
            list(spanevent);
        }
        PolicyKind::Not(child) => add_hidden(&child.kind, out),
        _ => {}
    }
}
