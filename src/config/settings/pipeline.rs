//! The whole checked config.

use std::time::Duration;

use super::{Gates, InstanceSettings, ReceiverSettings, TelemetrySettings};
use crate::exporters::ExporterSettings;
use crate::otlp::Telemetry;
use crate::processors::ProcessorSettings;

/// What a config file says, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Receivers that a pipeline uses.
    pub receivers: Vec<ReceiverSettings>,
    /// Traces pipelines, in the order of the file; at least one.
    pub instances: Vec<PipelineSettings>,
    /// Pipelines that pass requests on: of metrics, and of logs without `tail_sampling`.
    pub relays: Vec<RelaySettings>,
    /// Exporters that a pipeline uses.
    pub exporters: Vec<ExporterSettings>,
    /// `service.telemetry`.
    pub telemetry: TelemetrySettings,
    /// `host:port` of `health_check`, when it stands in `service.extensions`.
    pub health: Option<String>,
    /// `--feature-gates`.
    pub gates: Gates,
}

/// One pipeline that passes requests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelaySettings {
    /// `metrics`, `logs/name`.
    pub name: String,
    /// What it passes on.
    pub telemetry: Telemetry,
    /// Ids of receivers, each once.
    pub receivers: Vec<String>,
    /// Ids of exporters, each once.
    pub exporters: Vec<String>,
}

/// One traces pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct PipelineSettings {
    /// `traces` or `traces/name`.
    pub name: String,
    /// Ids of receivers, each once.
    pub receivers: Vec<String>,
    /// Of these, the receivers whose logs join the traces: those of the `logs` pipeline with the same `tail_sampling`.
    pub logs: Vec<String>,
    /// Processors before `tail_sampling`, in their order.
    pub front: Vec<ProcessorSettings>,
    /// The `tail_sampling` of this pipeline.
    pub sampler: InstanceSettings,
    /// Processors behind it, in their order.
    pub back: Vec<ProcessorSettings>,
    /// Ids of exporters, each once.
    pub exporters: Vec<String>,
    /// The `batch` processor, for the exporters' batching.
    pub batch: Option<BatchSettings>,
}

/// The `batch` processor. Sizes count spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchSettings {
    /// A batch leaves at the latest after this time; 200 ms as in the Collector.
    pub timeout: Duration,
    /// A batch leaves when it has so many spans; 8192 as in the Collector. 0: at once.
    pub send_batch_size: u64,
    /// No batch has more spans; 0: no limit.
    pub send_batch_max_size: u64,
}
