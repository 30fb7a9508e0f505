//! What the worker tells the meter of model calls: each trace at its decision, each evaluation as it comes.

use super::skeletons::Skeleton;
use super::worker::Worker;
use crate::genai::{Observation, ScoreObservation};
use crate::log::ServiceId;
use crate::rules::{Facts, Features};
use std::ops::Range;

impl Worker {
    /// A trace is decided.
    pub(super) fn meter(&self, skeleton: &Skeleton, features: Option<&Features>, keep: bool) {
        let (Some(meter), Some(features)) = (&self.parts.meter, features) else {
            return;
        };
        let record = &features.record;
        let name = |id: Option<u64>| id.map(|id| self.parts.atoms.name(id)).unwrap_or_default();
        meter.observe(&Observation {
            record,
            provider: &name(record.provider()),
            model: &name(record.response_model().or(record.request_model())),
            environment: &name(record.environment()),
            service: &self.parts.services.name(skeleton.service),
            error_type: &name(record.error_type()),
            kept: keep.then(|| skeleton.trace().to_bytes()),
            decided: self.now,
        });
    }

    /// Spans of a piece were judged.
    pub(super) fn meter_scores(&self, service: ServiceId, facts: &Facts, spans: Range<usize>) {
        let Some(meter) = &self.parts.meter else {
            return;
        };
        for (_, record) in facts.records_of(spans) {
            let name = |id: u64| self.parts.atoms.name(id);
            for score in record.scores.iter() {
                if let (Some(evaluation), Some(value)) = (score.name, score.value) {
                    meter.observe_score(&ScoreObservation {
                        evaluation: &name(evaluation),
                        environment: &record.environment.map(name).unwrap_or_default(),
                        service: &self.parts.services.name(service),
                        value,
                    });
                }
            }
        }
    }
}
