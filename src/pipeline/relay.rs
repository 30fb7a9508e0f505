//! Which of a receiver's requests go into the log, and which pass to exporters at once.

use super::export::Built;
use crate::clock::SharedClock;
use crate::config::settings::Config;
use crate::exporters::{Outlet, Relay};
use crate::otlp::{IntakeBudget, Signal, SourceId, Telemetry};
use crate::receivers::{Way, Ways};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The ways of every receiver. What is passed on is charged to `budget`, and tried no further after `stop`.
pub(super) fn ways(
    config: &Config,
    built: &[Built],
    budget: &IntakeBudget,
    (clock, stop): (&SharedClock, &CancellationToken),
) -> Vec<(String, Ways)> {
    let into_log = |signal: Signal, receiver: &String| {
        let mut pipelines = config.instances.iter();
        let fed = pipelines.any(|pipeline| match signal {
            Signal::Traces => pipeline.receivers.contains(receiver),
            Signal::Logs => pipeline.logs.contains(receiver),
        });
        if fed { Way::Log(signal) } else { Way::Closed }
    };
    let past = |telemetry: Telemetry, receiver: &String| {
        let outlets = outlets(config, built, (telemetry, receiver), (clock, stop));
        if outlets.is_empty() {
            return Way::Closed;
        }
        let seed = u64::from(SourceId::of(receiver).0);
        Way::Past(Arc::new(Relay::new(outlets, budget.clone(), seed)))
    };
    let of = |receiver: &String| Ways {
        traces: into_log(Signal::Traces, receiver),
        logs: match into_log(Signal::Logs, receiver) {
            Way::Closed => past(Telemetry::Logs, receiver),
            joined => joined,
        },
        metrics: past(Telemetry::Metrics, receiver),
    };
    let receivers = config.receivers.iter().map(|receiver| &receiver.id);
    receivers.map(|id| (id.clone(), of(id))).collect()
}

/// The exporters of all pipelines that pass this on.
fn outlets(
    config: &Config,
    built: &[Built],
    (telemetry, receiver): (Telemetry, &String),
    (clock, stop): (&SharedClock, &CancellationToken),
) -> Vec<Outlet> {
    let own = config
        .relays
        .iter()
        .filter(|relay| relay.telemetry == telemetry && relay.receivers.contains(receiver));
    let outlet = |pipeline: &str, exporter: &String| {
        let built = built.iter().find(|built| built.id() == exporter)?;
        Some(built.outlet(pipeline, clock, stop))
    };
    own.flat_map(|relay| {
        let exporters = relay.exporters.iter();
        exporters.filter_map(|exporter| outlet(&relay.name, exporter))
    })
    .collect()
}
