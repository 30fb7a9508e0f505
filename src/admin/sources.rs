//! Where the numbers come from: handles on the counters of the other modules, of one pipeline process.

use crate::clock::SharedClock;
use crate::exporters::ExporterStats;
use crate::genai::Meter;
use crate::log::{DecisionLog, Inlet, Services};
use crate::otlp::IntakeBudget;
use crate::receivers::ReceiverStats;
use crate::sampler::{Delivery, GoneExporter, SamplerStats, Scanned};
use std::borrow::Cow;
use std::sync::Arc;

/// A receiver of the config.
#[derive(Debug, Clone)]
pub struct ReceiverSource {
    /// `otlp` or `otlp/name`.
    pub id: String,
    /// Its counters.
    pub stats: Arc<ReceiverStats>,
}

/// A `tail_sampling` of one pipeline.
#[derive(Debug, Clone)]
pub struct SamplerSource {
    /// The pipeline's id.
    pub pipeline: String,
    /// The processor's id, `tail_sampling` or `tail_sampling/name`.
    pub processor: String,
    /// Its counters.
    pub stats: Arc<SamplerStats>,
    /// Its exporters by id, and what each has delivered.
    pub deliveries: Vec<(String, Arc<Delivery>)>,
    /// Its decision log.
    pub decisions: Vec<Arc<dyn DecisionLog>>,
    /// Spans are counted by policy.
    pub counts_spans: bool,
    /// Bytes are counted by policy.
    pub counts_bytes: bool,
}

/// The samplers of a process: always the same, or as they come and go with partitions.
#[derive(Clone)]
pub enum Samplers {
    /// For as long as the process runs.
    Fixed(Vec<SamplerSource>),
    /// Asked for at each scrape.
    Asked(Arc<dyn Fn() -> Vec<SamplerSource> + Send + Sync>),
}

impl std::fmt::Debug for Samplers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Samplers").finish_non_exhaustive()
    }
}

impl Samplers {
    /// Those there are now.
    #[must_use]
    pub fn now(&self) -> Cow<'_, [SamplerSource]> {
        match self {
            Self::Fixed(samplers) => Cow::Borrowed(samplers),
            Self::Asked(ask) => Cow::Owned(ask()),
        }
    }
}

/// An exporter of the config.
#[derive(Debug, Clone)]
pub struct ExporterSource {
    /// `otlp` or `otlp/name`.
    pub id: String,
    /// Its counters.
    pub stats: Arc<ExporterStats>,
}

/// Bytes that each part of the process may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryCaps {
    /// All parts together.
    pub total: u64,
    /// Requests that receivers hold.
    pub intake: u64,
    /// Scanned requests between the log and the workers.
    pub window: u64,
    /// Payload cache.
    pub cache: u64,
    /// Skeletons.
    pub skeletons: u64,
    /// Decision memory.
    pub decisions: u64,
    /// Requests that are passed on.
    pub relays: u64,
}

/// All of it.
#[derive(Clone)]
pub struct Sources {
    /// In the order of the config.
    pub receivers: Vec<ReceiverSource>,
    /// In the order of the config.
    pub samplers: Samplers,
    /// Exporters of pipelines, one of which has left the config.
    pub gone: Vec<GoneExporter>,
    /// In the order of the config.
    pub exporters: Vec<ExporterSource>,
    /// The span log.
    pub log: Arc<dyn Inlet<Scanned>>,
    /// Who is charged.
    pub services: Arc<Services>,
    /// Metrics of model calls, where they are wanted.
    pub meter: Option<Arc<Meter>>,
    /// What receivers hold.
    pub intake: IntakeBudget,
    /// What is passed on and not answered yet.
    pub relays: IntakeBudget,
    /// What all may hold.
    pub caps: MemoryCaps,
    /// For the time since the start.
    pub clock: SharedClock,
    /// Monotonic time of the start, nanoseconds.
    pub started: u64,
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources")
            .field("exporters", &self.exporters.len())
            .finish_non_exhaustive()
    }
}
