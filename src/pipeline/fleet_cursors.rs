//! Exporters' cursors where each owned partition has its own.

use super::chains::Chains;
use super::export::{self, Built, Surroundings};
use super::fleet::Cursors;
use crate::clock::SharedClock;
use crate::config::settings::Config;
use crate::exporters::IN_FLIGHT_BYTES;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A cursor can always send something.
const LEAST_IN_FLIGHT: u64 = 512 << 10;

/// Starts the cursors of a partition. What an exporter may have in flight is dealt out among all partitions.
pub(super) fn starting(
    config: &Config,
    chains: &[Chains],
    built: &Arc<Vec<Built>>,
    clock: &SharedClock,
    last: &CancellationToken,
) -> Cursors {
    let pipeline = config.instances.first().cloned();
    let chains = chains.first().cloned();
    let (built, clock, last, gates) = (built.clone(), clock.clone(), last.clone(), config.gates);
    let partitions = pipeline
        .as_ref()
        .map_or(1, |pipeline| pipeline.sampler.log.partitions);
    let part = (IN_FLIGHT_BYTES / u64::from(partitions.max(1))).max(LEAST_IN_FLIGHT);
    Box::new(move |sampler, log, tracker, stop| {
        let (Some(pipeline), Some(chains)) = (&pipeline, &chains) else {
            return;
        };
        let around = Surroundings {
            log,
            clock: clock.clone(),
            gates,
            in_flight_bytes: part,
            tracker: tracker.clone(),
            last: last.clone(),
            stop,
        };
        export::start(pipeline, (sampler, chains), &built, &around);
    })
}
