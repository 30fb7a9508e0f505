//! The processors of a pipeline, before and behind its `tail_sampling`, and the rule set that they are a part of.

use super::start_error::StartError;
use crate::config::settings::{Config, Gates, PipelineSettings};
use crate::processors::{self, Chain};
use crate::rules::fingerprint;
use std::sync::Arc;

/// Of one pipeline.
#[derive(Debug, Clone)]
pub(super) struct Chains {
    pub(super) front: Arc<Chain>,
    pub(super) back: Arc<Chain>,
}

impl Chains {
    pub(super) fn of(pipeline: &PipelineSettings) -> Result<Self, StartError> {
        Ok(Self {
            front: Arc::new(Chain::new(&pipeline.front)?),
            back: Arc::new(Chain::new(&pipeline.back)?),
        })
    }
}

/// The fingerprint of a pipeline's rule set: its policies, and the processors that spans pass on their way to them.
pub(super) fn rules_of(pipeline: &PipelineSettings, gates: Gates) -> u32 {
    let settings = &pipeline.sampler;
    let policies = fingerprint(&settings.policies, settings.semantics(gates));
    policies ^ processors::fingerprint(&pipeline.front)
}

/// The fingerprint of each pipeline's rule set.
pub(crate) fn rule_sets(config: &Config) -> impl Iterator<Item = u32> {
    let pipelines = config.instances.iter();
    pipelines.map(|pipeline| rules_of(pipeline, config.gates))
}
