//! Checked settings: what the config hands to the modules.

mod exporter;
mod instance;
mod pipeline;
mod receiver;
mod secret;
mod telemetry;

pub use exporter::{
    Compression, DebugOutput, DebugSettings, ExporterKind, ExporterSettings, FileFormat, FileSettings, Headers,
    HttpEncoding, HttpTarget, KeepaliveSettings, OtlpGrpcSettings as OtlpGrpcExporterSettings,
    OtlpHttpSettings as OtlpHttpExporterSettings, Pem, QueueSettings, RetrySettings, RotationSettings,
    TlsClientSettings, TlsVersion, Verbosity,
};
pub use instance::{Compat, InstanceSettings, MemoryPlan, MemoryTotal};
pub use pipeline::{BatchSettings, Config, PipelineSettings};
pub use receiver::{Cors, OtlpGrpcSettings, OtlpHttpSettings, ReceiverSettings, ServerKeepalive, TlsServerSettings};
pub use secret::Secret;
pub use telemetry::{LogFormat, LogLevel, TelemetrySettings};
