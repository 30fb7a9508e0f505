//! Which models answer at present: one series for each, gone an hour after its last trace, so that a dashboard's variables
//! follow what runs.

use super::series::Series;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::collections::HashMap;

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
    /// When each was seen last.
    seen: HashMap<Model, u64>,
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
        if series.model.is_empty() {
            return;
        }
        let model = Model {
            provider: series.provider.clone(),
            model: series.model.clone(),
            family: series.family.clone(),
            version: series.version.clone(),
        };
        self.info.get_or_create(&model).set(1);
        self.seen.insert(model, now);
    }

    pub(super) fn forget(&mut self, now: u64) {
        let info = &self.info;
        self.seen.retain(|model, seen| {
            let live = now.saturating_sub(*seen) < LIVE;
            if !live {
                info.remove(model);
            }
            live
        });
    }
}
