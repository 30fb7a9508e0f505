//! The admin pages of a pipeline: bound before anything starts, closed after everything has stopped.

use super::budgets::Budgets;
use super::health::Health;
use super::receive::Intakes;
use super::start_error::StartError;
use crate::admin::{
    Board, ExporterSource, MemoryCaps, ReceiverSource, SamplerSource, Samplers, Server, Sources,
    health_routes, metrics_routes,
};
use crate::clock::SharedClock;
use crate::config::settings::Config;
use crate::exporters::ExporterStats;
use crate::receivers::bind;
use crate::sampler::{GoneExporter, Sampler, Shared};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;

/// The pages and what stands behind them.
pub(super) struct Admin {
    pub(super) board: Arc<Board>,
    server: Server,
    /// `metrics` and `health_check`, and where they listen.
    pub(super) addresses: Vec<(String, SocketAddr)>,
}

const METRICS: (&str, &str) = ("metrics", "service.telemetry.metrics");
const HEALTH: (&str, &str) = ("health_check", "extensions.health_check");

impl Admin {
    /// Takes the ports of the config and serves them; not ready yet.
    pub(super) async fn start(
        config: &Config,
        health: Health,
        clock: SharedClock,
    ) -> Result<Self, StartError> {
        let board = Arc::new(Board::new(Box::new(health), clock));
        let mut this = Self {
            board: board.clone(),
            server: Server::default(),
            addresses: Vec::new(),
        };
        // Both first, so that a taken port is all that happens.
        let metrics = listener(METRICS.1, config.telemetry.metrics_address.as_deref()).await?;
        let health = listener(HEALTH.1, config.health.as_deref()).await?;
        if let Some((listener, address)) = metrics {
            this.serve(METRICS.0, listener, address, metrics_routes(board.clone()));
        }
        if let Some((listener, address)) = health {
            this.serve(HEALTH.0, listener, address, health_routes(board));
        }
        Ok(this)
    }

    fn serve(
        &mut self,
        page: &str,
        listener: TcpListener,
        address: SocketAddr,
        routes: axum::Router,
    ) {
        tracing::info!(page, %address, "listening");
        self.server.serve(listener, routes);
        self.addresses.push((page.to_owned(), address));
    }

    /// The last thing that stops: until then it tells that the others do.
    pub(super) async fn stop(self) {
        self.board.close();
        self.server.stop().await;
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.board.close();
    }
}

async fn listener(
    key: &'static str,
    endpoint: Option<&str>,
) -> Result<Option<(TcpListener, SocketAddr)>, StartError> {
    let Some(endpoint) = endpoint else {
        return Ok(None);
    };
    let listener = bind(endpoint)
        .await
        .map_err(|source| StartError::Admin { key, source })?;
    let address = listener.local_addr()?;
    Ok(Some((listener, address)))
}

/// What the parts of a pipeline have for the metrics page.
pub(super) struct Parts<'a> {
    pub(super) config: &'a Config,
    pub(super) intakes: &'a Intakes,
    pub(super) samplers: &'a [Sampler],
    pub(super) gone: &'a [GoneExporter],
    pub(super) exporters: &'a [(String, Arc<ExporterStats>)],
    pub(super) shared: &'a Shared,
    pub(super) budgets: Budgets,
    #[cfg(feature = "kafka")]
    pub(super) fleet: Option<&'a super::fleet::Fleet>,
}

impl Parts<'_> {
    pub(super) fn sources(&self, clock: SharedClock, started: u64) -> Sources {
        let receivers = self.intakes.stats.iter();
        let exporters = self.exporters.iter();
        Sources {
            receivers: receivers
                .map(|(id, stats)| ReceiverSource {
                    id: id.clone(),
                    stats: stats.clone(),
                })
                .collect(),
            samplers: self.all_samplers(),
            gone: self.gone(),
            exporters: exporters
                .map(|(id, stats)| ExporterSource {
                    id: id.clone(),
                    stats: stats.clone(),
                })
                .collect(),
            log: self.shared.inlet.clone(),
            services: self.shared.services.clone(),
            meter: self.shared.meter.clone(),
            intake: self.intakes.budget.clone(),
            relays: self.intakes.relays.clone(),
            caps: caps(self.budgets),
            clock,
            started,
        }
    }

    /// Of pipelines that are gone, and exporters that pipelines no longer have.
    fn gone(&self) -> Vec<GoneExporter> {
        let mut gone = self.gone.to_vec();
        for sampler in self.samplers {
            let exporters = sampler.gone.iter().cloned();
            gone.extend(exporters.map(|(exporter, delivery)| GoneExporter {
                pipeline: sampler.id.clone(),
                exporter,
                stats: sampler.stats.clone(),
                delivery,
            }));
        }
        gone
    }

    fn all_samplers(&self) -> Samplers {
        #[cfg(feature = "kafka")]
        if let Some(fleet) = self.fleet {
            return Samplers::Asked(fleet.sources());
        }
        Samplers::Fixed(self.samplers())
    }

    fn samplers(&self) -> Vec<SamplerSource> {
        let instances = self.config.instances.iter().zip(self.samplers);
        let source =
            |(settings, sampler): (&crate::config::settings::PipelineSettings, &Sampler)| {
                SamplerSource {
                    pipeline: sampler.id.clone(),
                    processor: settings.sampler.id.clone(),
                    stats: sampler.stats.clone(),
                    deliveries: settings
                        .exporters
                        .iter()
                        .cloned()
                        .zip(sampler.deliveries.iter().cloned())
                        .collect(),
                    decisions: vec![sampler.decisions.clone()],
                    counts_spans: self.config.gates.count_spans_sampled,
                    counts_bytes: self.config.gates.count_bytes_sampled,
                }
            };
        instances.map(source).collect()
    }
}

fn caps(budgets: Budgets) -> MemoryCaps {
    let Budgets {
        total,
        intake,
        window,
        skeletons,
        memory,
        relays,
        cache,
    } = budgets;
    MemoryCaps {
        total,
        intake,
        window,
        cache,
        skeletons,
        decisions: memory,
        relays,
    }
}
