//! Metrics of model calls from all traffic: each decided trace that called a model is observed once, kept or not.
//!
//! Names are those of OpenTelemetry's conventions for GenAI where it has one. Labels are bounded: series beyond the limit
//! share one whose labels are `other`. Exemplars name kept traces alone: a link from a dashboard finds its trace.
//! Written by the `prometheus-client` crate, which knows exemplars; what a trace's record says is believed as it stands.

mod buckets;
mod families;
mod live_models;
mod observation;
mod series;

pub use observation::{Observation, ScoreObservation};

use families::Families;
use live_models::LiveModels;
use parking_lot::Mutex;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::registry::Registry;
use series::Bounds;

/// The metrics of one process.
pub struct Meter {
    state: Mutex<State>,
}

struct State {
    registry: Registry,
    families: Families,
    models: LiveModels,
    bounds: Bounds,
}

impl std::fmt::Debug for Meter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meter").finish_non_exhaustive()
    }
}

impl Meter {
    /// At most `max_series` sets of labels, one of which is that of all others.
    #[must_use]
    pub fn new(max_series: usize) -> Self {
        let mut registry = Registry::default();
        let families = Families::new(&mut registry);
        let models = LiveModels::new(&mut registry);
        let bounds = Bounds::new(max_series);
        let state = State {
            registry,
            families,
            models,
            bounds,
        };
        Self {
            state: Mutex::new(state),
        }
    }

    /// Adds a decided trace. One without a model call adds nothing.
    pub fn observe(&self, trace: &Observation<'_>) {
        if !trace.is_about_models() {
            return;
        }
        let mut state = self.state.lock();
        let series = state.bounds.of(trace);
        state.models.see(&series, trace.decided);
        let failed = trace.record.failed_calls() > 0;
        let error = failed.then(|| state.bounds.of_error(&series, trace.error_type));
        state.families.add(&series, trace, error);
    }

    /// Adds an evaluation.
    pub fn observe_score(&self, score: &ScoreObservation<'_>) {
        let mut state = self.state.lock();
        let series = state.bounds.of_score(score);
        state.families.add_score(&series, score.value);
    }

    /// All of it as OpenMetrics 1.0 text, without the line at its end. `now` is Unix time, ns: models that were not
    /// seen for an hour are no longer live.
    #[must_use]
    pub fn openmetrics(&self, now: u64) -> String {
        let mut state = self.state.lock();
        state.models.forget(now);
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode_registry(&mut text, &state.registry);
        text
    }
}

#[cfg(test)]
pub(crate) mod tests;
