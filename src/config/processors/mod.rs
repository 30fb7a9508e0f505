//! The processors that stand beside `tail_sampling`: the Collector's keys and defaults, for traces.

mod actions;
mod filter;
mod literal;
mod matching;
mod sampler;

use super::component::ComponentId;
use super::item::Item;
use crate::processors::{AttributesSettings, ProcessorKind, ProcessorSettings};

/// Decodes one block; `None` also when the type is another one.
pub(crate) fn decode(id: &ComponentId, item: &Item<'_>) -> Option<ProcessorSettings> {
    let kind = match id.kind.as_str() {
        "filter" => ProcessorKind::Filter(filter::decode(item)?),
        "attributes" => attributes(item)?,
        "resource" => resource(item)?,
        "probabilistic_sampler" => ProcessorKind::ProbabilisticSampler(sampler::decode(item)?),
        _ => return None,
    };
    Some(ProcessorSettings {
        id: id.text.clone(),
        kind,
    })
}

fn attributes(item: &Item<'_>) -> Option<ProcessorKind> {
    let mut fields = item.fields()?;
    let spans = matching::rule(&mut fields);
    let actions = actions::list(&mut fields, "actions");
    Some(ProcessorKind::Attributes(AttributesSettings {
        actions: actions?,
        spans: spans?,
    }))
}

fn resource(item: &Item<'_>) -> Option<ProcessorKind> {
    let mut fields = item.fields()?;
    actions::list(&mut fields, "attributes").map(ProcessorKind::Resource)
}
