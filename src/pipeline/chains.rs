//! The processors of a pipeline, before and behind its `tail_sampling`, and the rule set that they are a part of.

use super::start_error::StartError;
use crate::config::settings::{Config, Gates, PipelineSettings, ServicePlan};
use crate::log::Services;
use crate::processors::{self, Chain};
use crate::rules::fingerprint;
use crate::sampler::{ServiceMode, ServiceModes};
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

impl Chains {
    /// Those before `tail_sampling`.
    #[cfg(feature = "kafka")]
    pub(super) fn front(&self) -> Arc<Chain> {
        self.front.clone()
    }
}

/// The fingerprint of a pipeline's rule set: its policies, the processors that spans pass on their way to them, and which
/// services' spans never come to them.
pub(super) fn rules_of(pipeline: &PipelineSettings, gates: Gates) -> u32 {
    let settings = &pipeline.sampler;
    let policies = fingerprint(&settings.policies, settings.semantics(gates));
    policies ^ processors::fingerprint(&pipeline.front) ^ modes_fingerprint(&settings.services)
}

/// Services that are not sampled at the tail; one set for all pipelines.
pub(super) fn modes_of(config: &Config, services: &Services) -> ServiceModes {
    let plans = config.instances.first().into_iter();
    let plans = plans.flat_map(|pipeline| &pipeline.sampler.services);
    let modes = plans.map(|plan| (plan.name.as_str(), plan.mode));
    ServiceModes::new(modes, services, config.gates.use_trace_state)
}

/// 0 where every service is sampled at the tail. FNV-1a 32, in the order of the names.
fn modes_fingerprint(plans: &[ServicePlan]) -> u32 {
    let apart = plans.iter().filter(|plan| plan.mode != ServiceMode::Tail);
    let mut texts: Vec<String> = apart
        .map(|plan| format!("{:?}{:?}", plan.name, plan.mode))
        .collect();
    texts.sort_unstable();
    texts.iter().fold(0, |sum, text| {
        let hash = text.bytes().fold(0x811c_9dc5, |hash: u32, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        sum ^ hash
    })
}

/// The fingerprint of each pipeline's rule set.
pub(crate) fn rule_sets(config: &Config) -> impl Iterator<Item = u32> {
    let pipelines = config.instances.iter();
    pipelines.map(|pipeline| rules_of(pipeline, config.gates))
}
