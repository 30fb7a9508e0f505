//! `tail_sampling.late_evidence`: which policies a late span is asked for when its trace was dropped.

use super::decoder::Decoder;
use super::item::Item;
use super::nearest::nearest;
use super::node::Place;
use super::settings::{Compat, SamplingStrategy};
use super::tail_sampling::Instance;
use crate::rules::PolicySpec;

/// The block and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct LateEvidence {
    pub place: Place,
    pub path: String,
    pub policies: Vec<String>,
}

/// Decodes the block; `policies` are the instance's.
pub(crate) fn decode(item: &Item<'_>, policies: &[PolicySpec]) -> Option<LateEvidence> {
    let mut fields = item.fields()?;
    let names = fields.require("policies", "a list of policy names")?;
    if names.list_is_empty() {
        names.error("expected at least one policy name");
    }
    for name in names.list() {
        check_name(&name, policies);
    }
    Some(LateEvidence {
        place: item.node.place,
        path: item.path.clone(),
        policies: names.strings(),
    })
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

/// Refuses the key where traces are decided as in the Collector; `compat` is that of the environment.
pub(crate) fn refuse(decoder: &Decoder<'_>, instances: &[&Instance], compat: Compat) {
    for instance in instances {
        let Some(block) = &instance.late_evidence else {
            continue;
        };
        let strict = instance.compat.unwrap_or(compat) == Compat::Strict;
        let ingest = instance.sampling_strategy == SamplingStrategy::SpanIngest;
        if strict || ingest {
            let why = if strict {
                "`compat: strict`: the Collector never brings a dropped trace back"
            } else {
                "`sampling_strategy: span-ingest`"
            };
            decoder.error(
                block.place,
                &block.path,
                format!("must not be set with {why}"),
            );
        }
    }
}
