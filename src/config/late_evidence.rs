//! `tail_sampling.late_evidence`: which policies a late span is asked for when its trace was dropped.

use super::item::Item;
use super::nearest::nearest;
use crate::rules::PolicySpec;

/// Decodes the block to names of policies; `policies` are the instance's.
pub(crate) fn decode(item: &Item<'_>, policies: &[PolicySpec]) -> Option<Vec<String>> {
    let mut fields = item.fields()?;
    let names = fields.require("policies", "a list of policy names")?;
    if names.list_is_empty() {
        names.error("expected at least one policy name");
    }
    for name in names.list() {
        check_name(&name, policies);
    }
    Some(names.strings())
}

fn check_name(item: &Item<'_>, policies: &[PolicySpec]) {
    let Some(name) = item.string() else {
        return;
    };
    let names = || policies.iter().map(|policy| policy.name.as_str());
    match policies.iter().find(|policy| policy.name == name) {
        Some(policy) if policy.kind.takes_late_evidence() => {}
        Some(_) => item.error_help(
            "a late span alone cannot fulfil this policy: it asks for the whole trace, for what a trace does not have, or for a budget",
            "name policies that test spans: status_code, the attribute policies, trace_state, trace_flags, ottl_condition, prompt_keyword, and `and` of these",
        ),
        None => match nearest(&name, names()) {
            Some(close) => item.error(format!("no policy has this name; did you mean `{close}`?")),
            None => item.error("no policy has this name"),
        },
    }
}
