//! Which models answer at present: one series for each, gone an hour after its last trace, so that a dashboard's variables
//! follow what runs.

use super::series::Series;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::collections::{HashMap, HashSet};

/// The range that Grafana shows unless told otherwise.
const LIVE: u64 = 3600 * 1_000_000_000;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Model {
    provider: String,
    model: String,
    family: String,
    version: String,
}

#[derive(Debug)]
pub(super) struct LiveModels {
    info: Family<Model, Gauge>,
    /// When each series was seen last; several may have one model.
    seen: HashMap<Series, u64>,
}

impl Model {
    fn of(series: &Series) -> Self {
        Self {
            provider: series.provider.clone(),
            model: series.model.clone(),
            family: series.family.clone(),
            version: series.version.clone(),
        }
    }
}

impl LiveModels {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let info = Family::default();
        registry.register(
            "tailwater_llm_model_info",
            "1 for each model of which a trace was decided within the last hour",
            info.clone(),
        );
        Self {
            info,
            seen: HashMap::new(),
        }
    }

    pub(super) fn see(&mut self, series: &Series, now: u64) {
        if let Some(seen) = self.seen.get_mut(series) {
            *seen = now;
        } else if !series.model.is_empty() {
            self.info.get_or_create(&Model::of(series)).set(1);
            self.seen.insert(series.clone(), now);
        }
    }

    pub(super) fn forget(&mut self, now: u64) {
        let live = |seen: u64| now.saturating_sub(seen) < LIVE;
        let gone: Vec<Model> = self
            .seen
            .extract_if(|_, seen| !live(*seen))
            .map(|(series, _)| Model::of(&series))
            .collect();
        let still: HashSet<Model> = self.seen.keys().map(Model::of).collect();
        for model in gone.iter().filter(|model| !still.contains(*model)) {
            self.info.remove(model);
        }
    }
}
