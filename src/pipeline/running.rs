//! A running pipeline: what an embedder and the daemon's `main` hold.

use super::admin::{Admin, Parts};
use super::budgets::Budgets;
use super::build::{Core, build};
use super::chains::Chains;
use super::consume;
use super::export::{self, Built, Surroundings};
#[cfg(feature = "kafka")]
use super::fleet::Fleet;
#[cfg(feature = "kafka")]
use super::fleet_cursors;
use super::health::{Health, Readiness};
use super::receive::{Intakes, bind_all};
use super::redacting::Redacting;
use super::relay;
use super::start_error::StartError;
use crate::admin::{Format, Metrics};
use crate::clock::{SharedClock, SystemClock};
use crate::config::memory_limit;
use crate::config::settings::{Compat, Config};
use crate::exporters::{ExporterStats, IN_FLIGHT_BYTES};
use crate::log::{Log, LogStats, Services};
use crate::otlp::{Accepted, IntakeBudget, Refusal, Submit};
use crate::receivers::{InProcess, ReceiverStats, Ways};
use crate::redaction::Redactor;
use crate::sampler::{Delivery, Intake, Sampler, SamplerStats, Scanned, Shared};
use bytes::Bytes;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The receiver id of [`Pipeline::submit`]; a pipeline that lists no such receiver takes it from the first one's name.
const IN_PROCESS: &str = "in_process";

/// Receivers, log, samplers and exporters of one config.
pub struct Pipeline {
    pub(super) shared: Shared,
    pub(super) samplers: Vec<Sampler>,
    #[cfg(feature = "kafka")]
    pub(super) fleet: Option<Fleet>,
    pub(super) budget: IntakeBudget,
    pub(super) receivers: TaskTracker,
    pub(super) exporters: TaskTracker,
    pub(super) stop_intake: CancellationToken,
    pub(super) last: CancellationToken,
    pub(super) abandon: CancellationToken,
    pub(super) health: Health,
    in_process: InProcess,
    pub(super) admin: Admin,
    metrics: Arc<Metrics>,
    receiver_stats: Vec<(String, Arc<ReceiverStats>)>,
    exporter_stats: Vec<(String, Arc<ExporterStats>)>,
    addresses: Vec<(String, SocketAddr)>,
    budgets: Budgets,
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipeline")
            .field("listening", &self.addresses)
            .finish_non_exhaustive()
    }
}

/// One sampler, for whoever reads counters.
#[derive(Debug, Clone, Copy)]
pub struct SamplerView<'a> {
    /// The pipeline's id.
    pub id: &'a str,
    /// Its counters.
    pub stats: &'a SamplerStats,
    /// Its exporters' positions.
    pub deliveries: &'a [Arc<Delivery>],
    /// Bytes of its decision log.
    pub decision_log_bytes: u64,
    /// Position behind the last entry.
    pub decision_log_end: u64,
}

/// One receiver, for whoever reads counters.
#[derive(Debug, Clone, Copy)]
pub struct ReceiverView<'a> {
    /// The receiver's id.
    pub id: &'a str,
    /// Its counters.
    pub stats: &'a ReceiverStats,
}

/// One exporter, for whoever reads counters.
#[derive(Debug, Clone, Copy)]
pub struct ExporterView<'a> {
    /// The exporter's id.
    pub id: &'a str,
    /// Its counters.
    pub stats: &'a ExporterStats,
}

/// Opens what stands on the disk, on a thread for blocking work.
async fn open(config: &Config, clock: SharedClock) -> Result<Core, StartError> {
    let none = || StartError::Thread(std::io::Error::other("the config has no pipeline"));
    let plan = &config.instances.first().ok_or_else(none)?.sampler.memory;
    let (memory, stopgap) = plan.resolve(memory_limit());
    if stopgap {
        tracing::warn!(
            bytes = memory.total,
            "no memory limit in the config or the cgroup; taking 1 GiB"
        );
    }
    let config = config.clone();
    tokio::task::spawn_blocking(move || build(&config, &memory, clock))
        .await
        .map_err(|error| StartError::Thread(std::io::Error::other(error)))?
}

/// What in-process requests count as.
fn first_receiver(config: &Config) -> &str {
    let first = config.receivers.first();
    first.map_or(IN_PROCESS, |receiver| receiver.id.as_str())
}

fn intakes_of(
    config: &Config,
    shared: &Shared,
    budgets: Budgets,
    (ways, relays): (Vec<(String, Ways)>, IntakeBudget),
) -> Result<Intakes, StartError> {
    let strict = config
        .instances
        .iter()
        .any(|pipeline| pipeline.sampler.compat == Compat::Strict);
    let intake = Intake::new(
        shared.atoms.clone(),
        shared.services.clone(),
        shared.inlet.clone(),
        shared.partitions,
    )
    .by_resource(strict)
    .with_modes(shared.modes.clone());
    let submit: Arc<dyn Submit> = Arc::new(intake);
    let mut redacting = Vec::new();
    for receiver in &config.receivers {
        if !receiver.redact.is_empty() {
            let redactor = Redactor::new(&receiver.redact)?;
            let door: Arc<dyn Submit> = Arc::new(Redacting::new(submit.clone(), redactor));
            redacting.push((receiver.id.clone(), door));
        }
    }
    Ok(Intakes {
        submit,
        redacting,
        budget: IntakeBudget::new(budgets.intake),
        relays,
        ways,
        stats: receiver_stats(config, first_receiver(config)),
    })
}

impl Pipeline {
    /// Starts everything that `config` says, within the present tokio runtime.
    ///
    /// # Errors
    /// What the operator has to put right; nothing runs then.
    pub async fn start(config: &Config) -> Result<Self, StartError> {
        Self::start_with(config, Arc::new(SystemClock::new())).await
    }

    /// [`Pipeline::start`] on another clock.
    ///
    /// # Errors
    /// As there.
    pub async fn start_with(config: &Config, clock: SharedClock) -> Result<Self, StartError> {
        let health = Health::default();
        let admin = Admin::start(config, health.clone(), clock.clone()).await?;
        let exporters = TaskTracker::new();
        let built = export::build_all(&config.exporters, &exporters, &clock)?;
        let Core {
            shared,
            log,
            samplers,
            chains,
            gone,
            budgets,
            #[cfg(feature = "kafka")]
            fleet,
        } = open(config, clock.clone()).await?;
        let first = first_receiver(config);
        let stop_intake = CancellationToken::new();
        let relays = IntakeBudget::new(budgets.relays);
        let ways = relay::ways(config, &built, &relays, (&clock, &stop_intake));
        let intakes = intakes_of(config, &shared, budgets, (ways, relays))?;
        let exporter_stats: Vec<_> = built
            .iter()
            .map(|built| (built.id().to_owned(), built.stats.clone()))
            .collect();
        let (last, abandon) = (CancellationToken::new(), CancellationToken::new());
        let built = Arc::new(built);
        #[cfg(feature = "kafka")]
        let fleet = match fleet {
            Some(seed) => {
                let cursors = fleet_cursors::starting(config, &chains, &built, &clock, &last);
                Some(Fleet::start(seed, cursors, abandon.clone(), &health)?)
            }
            None => None,
        };
        let parts = Parts {
            config,
            intakes: &intakes,
            samplers: &samplers,
            gone: &gone,
            exporters: &exporter_stats,
            shared: &shared,
            budgets,
            #[cfg(feature = "kafka")]
            fleet: fleet.as_ref(),
        };
        let metrics = Arc::new(Metrics::new(
            parts.sources(clock.clone(), admin.board.started()),
            config.telemetry.metrics_spelling,
        ));
        let pulse = |sampler: &Sampler| (sampler.id.clone(), sampler.pulse());
        health.watch(samplers.iter().map(pulse).collect());
        let pipeline = Self {
            in_process: InProcess::new(intakes.destination(first)),
            budget: intakes.budget.clone(),
            receivers: TaskTracker::new(),
            exporters,
            stop_intake,
            last,
            abandon,
            health,
            admin,
            metrics,
            receiver_stats: intakes.stats.clone(),
            exporter_stats,
            addresses: Vec::new(),
            budgets,
            shared,
            samplers,
            #[cfg(feature = "kafka")]
            fleet,
        };
        if let Some(log) = log {
            pipeline.start_cursors(config, log, clock, (&chains, &built));
        }
        pipeline.listen(config, &intakes).await
    }

    /// Those of all samplers, over the one log.
    fn start_cursors(
        &self,
        config: &Config,
        log: Arc<dyn Log<Scanned>>,
        clock: SharedClock,
        (chains, built): (&[Chains], &[Built]),
    ) {
        let around = Surroundings {
            log,
            clock,
            gates: config.gates,
            in_flight_bytes: IN_FLIGHT_BYTES,
            tracker: self.exporters.clone(),
            last: self.last.clone(),
            stop: self.abandon.clone(),
        };
        let samplers = self.samplers.iter().zip(chains);
        for (settings, sampler) in config.instances.iter().zip(samplers) {
            export::start(settings, sampler, built, &around);
        }
    }

    async fn listen(mut self, config: &Config, intakes: &Intakes) -> Result<Self, StartError> {
        let opened = match bind_all(&config.receivers, intakes).await {
            Ok(bound) => consume::make_all(&config.receivers, intakes, &self.shared.clock)
                .map(|consumers| (bound, consumers)),
            Err(error) => Err(error),
        };
        let (bound, consumers) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.stop(std::time::Duration::ZERO).await;
                return Err(error);
            }
        };
        for consumer in consumers {
            consumer.start(&self.receivers, self.stop_intake.clone())?;
        }
        for bound in bound {
            self.addresses.push((bound.name.clone(), bound.address));
            bound.serve(&self.receivers, self.stop_intake.clone());
        }
        self.admin.board.open(self.metrics.clone());
        self.health.set(Readiness::Ready);
        Ok(self)
    }

    /// Takes one `ExportTraceServiceRequest` from the same process; as durable as from a socket.
    ///
    /// # Errors
    /// As OTLP answers: see [`Refusal`].
    pub async fn submit(&self, request: Bytes) -> Result<Accepted, Refusal> {
        self.in_process.submit(request).await
    }

    /// Where the receivers listen: `otlp grpc`, `otlp/edge http`.
    #[must_use]
    pub fn addresses(&self) -> &[(String, SocketAddr)] {
        &self.addresses
    }

    /// Whether it takes and decides spans. A worker that has ended by itself is a failure.
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        self.health.get()
    }

    /// The samplers' counters.
    pub fn samplers(&self) -> impl Iterator<Item = SamplerView<'_>> {
        self.samplers.iter().map(|sampler| SamplerView {
            id: &sampler.id,
            stats: &sampler.stats,
            deliveries: &sampler.deliveries,
            decision_log_bytes: sampler.decisions.bytes(),
            decision_log_end: sampler.decisions.end(),
        })
    }

    /// The exporters' counters.
    pub fn exporters(&self) -> impl Iterator<Item = ExporterView<'_>> {
        self.exporter_stats
            .iter()
            .map(|(id, stats)| ExporterView { id, stats })
    }

    /// The receivers' counters.
    pub fn receivers(&self) -> impl Iterator<Item = ReceiverView<'_>> {
        self.receiver_stats
            .iter()
            .map(|(id, stats)| ReceiverView { id, stats })
    }

    /// All metrics as Prometheus text, as `/metrics` serves them. Blocks for a moment; from async code use
    /// `spawn_blocking` with [`Pipeline::metrics`].
    #[must_use]
    pub fn render_metrics(&self) -> String {
        self.metrics.render(Format::Prometheus)
    }

    /// What [`Pipeline::render_metrics`] renders. Drop it before the directory is opened again.
    #[must_use]
    pub fn metrics(&self) -> Arc<Metrics> {
        self.metrics.clone()
    }

    /// Where the admin pages listen: `metrics`, `health_check`.
    #[must_use]
    pub fn admin_addresses(&self) -> &[(String, SocketAddr)] {
        &self.admin.addresses
    }

    /// The log's counters.
    #[must_use]
    pub fn log_stats(&self) -> LogStats {
        self.shared.inlet.stats()
    }

    /// Memory by service.
    #[must_use]
    pub fn services(&self) -> &Services {
        &self.shared.services
    }

    /// Whether all that was acknowledged is folded, all ticks up to now have fired, and every kept span has left. For
    /// tests that drive the clock: nothing happens then before it moves or a request comes.
    #[doc(hidden)]
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let log = self.shared.inlet.stats();
        self.samplers.iter().all(|sampler| {
            let stats = &sampler.stats;
            // A worker counts a kept span as awaiting before it says that it has read or seen the time so far.
            stats.read.load(Ordering::Acquire) >= log.end
                && stats.log_time.load(Ordering::Acquire) >= log.now
                && sampler
                    .deliveries
                    .iter()
                    .all(|delivery| delivery.awaiting() + delivery.awaiting_records() == 0)
        })
    }

    /// Bytes that receivers hold, and may hold.
    #[must_use]
    pub fn intake_bytes(&self) -> (u64, u64) {
        (self.budget.used(), self.budgets.intake)
    }
}

/// Counters for each receiver, and for `first`, which takes what is submitted in process.
fn receiver_stats(config: &Config, first: &str) -> Vec<(String, Arc<ReceiverStats>)> {
    let mut ids: Vec<&str> = config
        .receivers
        .iter()
        .map(|receiver| receiver.id.as_str())
        .collect();
    if ids.is_empty() {
        ids.push(first);
    }
    ids.into_iter()
        .map(|id| (id.to_owned(), Arc::default()))
        .collect()
}
