//! Keys of ours that decide otherwise than the Collector: refused where traces are to be decided as there.

use super::decoder::Decoder;
use super::item::Item;
use super::node::Place;
use super::settings::{Compat, SamplingStrategy};
use super::tail_sampling::Instance;

/// A key that is set, and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct OwnKey {
    place: Place,
    path: String,
}

impl OwnKey {
    pub(crate) fn of(item: &Item<'_>) -> Self {
        Self {
            place: item.node.place,
            path: item.path.clone(),
        }
    }
}

/// Refuses them under `compat: strict` and `span-ingest`; `compat` is that of the environment.
pub(crate) fn refuse(decoder: &Decoder<'_>, instances: &[&Instance], compat: Compat) {
    for instance in instances {
        let strict = instance.compat.unwrap_or(compat) == Compat::Strict;
        let ingest = instance.sampling_strategy == SamplingStrategy::SpanIngest;
        let with = match (strict, ingest) {
            (true, _) => "`compat: strict`: the Collector has nothing like it",
            (_, true) => "`sampling_strategy: span-ingest`: it decides over each piece alone",
            _ => continue,
        };
        for key in &instance.own_keys {
            decoder.error(key.place, &key.path, format!("must not be set with {with}"));
        }
    }
}
