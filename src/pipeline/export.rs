//! One cursor for each exporter of each pipeline.

use super::chains::{Chains, rules_of};
use super::start_error::StartError;
use crate::clock::SharedClock;
use crate::config::settings::{BatchSettings, Compat, Gates, PipelineSettings};
use crate::exporters::{
    Cursor, Deliverer, ExporterSettings, ExporterStats, Notation, Outbound, Outlet, QueueSettings,
    Routing, Transport, build, names_of,
};
use crate::log::Log;
use crate::otlp::SourceId;
use crate::redaction::Redactor;
use crate::sampler::{Sampler, Scanned};
use crate::thinning::Thinner;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// About a span's size on the wire, for batches that the config counts in spans (rust.md: 350 to 700 bytes).
const SPAN_BYTES: u64 = 500;

/// An exporter that is built and does not run yet.
pub(super) struct Built {
    settings: ExporterSettings,
    transport: Arc<dyn Transport>,
    redactor: Arc<Redactor>,
    pub(super) stats: Arc<ExporterStats>,
}

impl Built {
    pub(super) fn id(&self) -> &str {
        &self.settings.id
    }

    /// The exporter as the end of a pipeline that passes requests on.
    pub(super) fn outlet(
        &self,
        pipeline: &str,
        clock: &SharedClock,
        stop: &CancellationToken,
    ) -> Outlet {
        Outlet {
            name: format!("{pipeline} > {}", self.settings.id),
            transport: self.transport.clone(),
            retry: self.settings.retry.clone(),
            redactor: self.redactor.clone(),
            stats: self.stats.clone(),
            clock: clock.clone(),
            stop: stop.clone(),
        }
    }
}

/// What cursors need beside their exporter.
pub(super) struct Surroundings {
    pub(super) log: Arc<dyn Log<Scanned>>,
    pub(super) clock: SharedClock,
    pub(super) gates: Gates,
    /// Payload that a cursor may have in flight.
    pub(super) in_flight_bytes: u64,
    pub(super) tracker: TaskTracker,
    /// Nothing new comes: cursors end at the end of the decision log.
    pub(super) last: CancellationToken,
    /// Nobody waits any longer.
    pub(super) stop: CancellationToken,
}

/// Builds the transports; what can fail at start fails here.
pub(super) fn build_all(
    exporters: &[ExporterSettings],
    tracker: &TaskTracker,
    clock: &SharedClock,
) -> Result<Vec<Built>, StartError> {
    let built = exporters.iter().map(|settings| {
        let transport = build(settings, tracker, clock.clone())?;
        Ok(Built {
            settings: settings.clone(),
            transport,
            redactor: Arc::new(redactor(settings)?),
            stats: Arc::default(),
        })
    });
    built.collect()
}

fn redactor(settings: &ExporterSettings) -> Result<Redactor, StartError> {
    if settings.redact.is_empty() {
        return Ok(Redactor::default());
    }
    Ok(Redactor::new(&settings.redact)?)
}

/// Starts the cursors of one pipeline.
pub(super) fn start(
    pipeline: &PipelineSettings,
    (sampler, chains): (&Sampler, &Chains),
    built: &[Built],
    around: &Surroundings,
) {
    let thinner = Arc::new(Thinner::new(pipeline.sampler.thinning.clone()));
    for (number, (exporter, delivery)) in pipeline
        .exporters
        .iter()
        .zip(&sampler.deliveries)
        .enumerate()
    {
        let Some(built) = built.iter().find(|built| built.settings.id == *exporter) else {
            continue;
        };
        let seed = u64::from(SourceId::of(&delivery.name).0);
        let deliverer = Deliverer::new(
            &delivery.name,
            built.transport.clone(),
            &built.settings,
            built.stats.clone(),
            around.clock.clone(),
            around.stop.clone(),
            seed,
        );
        let cursor = Cursor {
            decisions: sampler.decisions.clone(),
            log: around.log.clone(),
            delivery: delivery.clone(),
            deliverer: Arc::new(deliverer),
            in_flight_bytes: around.in_flight_bytes,
            queue: queue_of(&built.settings.queue, pipeline.batch),
            outbound: Arc::new(Outbound {
                routing: Routing::of(exporter, &pipeline.sampler.routes),
                front: chains.front.clone(),
                thinner: thinner.clone(),
                notation: notation(pipeline, sampler, around.gates, number == 0),
                back: chains.back.clone(),
                redactor: built.redactor.clone(),
            }),
            tracker: around.tracker.clone(),
            last: around.last.clone(),
        };
        around.tracker.spawn(cursor.run());
    }
}

/// What kept traces say of their decisions; one exporter counts for all.
fn notation(
    pipeline: &PipelineSettings,
    sampler: &Sampler,
    gates: Gates,
    counts: bool,
) -> Notation {
    let settings = &pipeline.sampler;
    Notation {
        thresholds: gates.use_trace_state,
        policies: gates.record_policy,
        names: names_of(&settings.policies),
        rules: rules_of(pipeline, gates),
        release: Some(settings.compat_version),
        strict: settings.compat == Compat::Strict,
        stats: counts.then(|| sampler.stats.clone()),
    }
}

/// The exporter's queue with the pipeline's `batch` processor on top.
fn queue_of(queue: &QueueSettings, batch: Option<BatchSettings>) -> QueueSettings {
    let mut queue = queue.clone();
    if let Some(batch) = batch {
        queue.flush_interval = batch.timeout;
        queue.batch_min_bytes = batch
            .send_batch_size
            .saturating_mul(SPAN_BYTES)
            .clamp(1, queue.batch_max_bytes);
        if batch.send_batch_size == 0 {
            queue.flush_interval = Duration::ZERO;
        }
    }
    queue
}
