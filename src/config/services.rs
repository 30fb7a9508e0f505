//! `tail_sampling.services`: how the spans of one service are sampled, and what happens at its memory cap.

use super::decoder::Decoder;
use super::fields::Fields;
use super::item::Item;
use super::node::Place;
use super::settings::{Compat, SamplingStrategy, ServicePlan};
use super::tail_sampling::Instance;
use crate::log::{OTHER_SERVICES, OnFull, SERVICE_NAME_MAX};
use crate::sampler::ServiceMode;

/// How `on_full` is written, here and for all services.
pub(crate) const ON_FULL: [(&str, OnFull); 3] = [
    ("spill", OnFull::Spill),
    ("decide_early", OnFull::DecideEarly),
    ("refuse", OnFull::Refuse),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Tail,
    Head,
    Off,
}

const MODES: [(&str, Mode); 3] = [
    ("tail", Mode::Tail),
    ("head", Mode::Head),
    ("off", Mode::Off),
];

/// A `services` block and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Services {
    place: Place,
    path: String,
    plans: Vec<ServicePlan>,
}

/// Decodes the block.
pub(crate) fn decode(item: &Item<'_>) -> Services {
    let plan = |(name, item): (&str, Item<'_>)| {
        check_name(name, &item);
        let mut fields = item.fields()?;
        let mode = mode(&mut fields);
        if name == OTHER_SERVICES && mode != ServiceMode::Tail {
            item.error_help(
                "is all services beyond the thousandth and none of its own: only `on_full` can be set",
                "name the services that are not to be sampled at the tail",
            );
        }
        Some(ServicePlan {
            name: name.to_owned(),
            mode,
            on_full: fields.one_of("on_full", &ON_FULL),
        })
    };
    let pairs = item.pairs().into_iter();
    let named = pairs.map(|(entry, item)| (entry.key.as_str(), item));
    Services {
        place: item.node.place,
        path: item.path.clone(),
        plans: named.filter_map(plan).collect(),
    }
}

fn check_name(name: &str, item: &Item<'_>) {
    if name == "default" {
        item.error_help(
            "no service is meant by `default` here",
            "`memory.per_service.default` and `memory.on_full` hold for services without settings; all of them are sampled at the tail",
        );
    } else if name.len() > SERVICE_NAME_MAX {
        item.error(format!(
            "a service's name is cut at {SERVICE_NAME_MAX} bytes: none has this one"
        ));
    }
}

fn mode(fields: &mut Fields<'_>) -> ServiceMode {
    let mode = fields.one_of("mode", &MODES).unwrap_or(Mode::Tail);
    if mode == Mode::Head {
        let item = fields.require("sampling_percentage", "the share of traces in percent");
        let percentage = item.and_then(|item| percentage(&item));
        return ServiceMode::Head(percentage.unwrap_or_default());
    }
    if let Some(item) = fields.get("sampling_percentage") {
        item.error("is the coin's of `mode: head`, and has no meaning without it");
    }
    match mode {
        Mode::Off => ServiceMode::Off,
        Mode::Tail | Mode::Head => ServiceMode::Tail,
    }
}

fn percentage(item: &Item<'_>) -> Option<f64> {
    let value = item.f64()?;
    let valid = (0.0..=100.0).contains(&value);
    if !valid {
        item.error("out of range: expected a number of percent from 0 to 100");
    }
    valid.then_some(value)
}

/// The plans that hold for all instances; `compat` is that of the environment.
pub(crate) fn settle(
    decoder: &Decoder<'_>,
    instances: &[&Instance],
    compat: Compat,
) -> Vec<ServicePlan> {
    let blocks: Vec<&Services> = instances
        .iter()
        .filter_map(|instance| instance.services.as_ref())
        .collect();
    let Some((first, others)) = blocks.split_first() else {
        return Vec::new();
    };
    for other in others.iter().filter(|other| other.plans != first.plans) {
        let at = decoder.sources.describe(first.place, other.place);
        decoder.error(
            other.place,
            &other.path,
            format!("all instances share one log, and their services: they are others on {at}"),
        );
    }
    let has_mode = first
        .plans
        .iter()
        .any(|plan| plan.mode != ServiceMode::Tail);
    let whole = |instance: &&&Instance| {
        instance.compat.unwrap_or(compat) == Compat::Strict
            || instance.sampling_strategy == SamplingStrategy::SpanIngest
    };
    if let Some(instance) = instances.iter().find(whole).filter(|_| has_mode) {
        decoder.error(
            first.place,
            &first.path,
            format!(
                "a `mode` must not be set where `{}` decides as the Collector does, which has nothing like it (`compat: strict`, `span-ingest`)",
                instance.id
            ),
        );
    }
    first.plans.clone()
}
