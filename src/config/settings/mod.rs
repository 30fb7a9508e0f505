//! Checked settings: what the config hands to the modules. Receivers' and exporters' own settings live with them.

mod gates;
mod instance;
mod pipeline;
mod receiver;
mod telemetry;

pub use gates::Gates;
pub use instance::{
    Compat, InstanceSettings, MemoryPlan, MemoryTotal, SamplingStrategy, ServicePlan,
};
pub use pipeline::{BatchSettings, Config, PipelineSettings, RelaySettings};
pub use receiver::ReceiverSettings;
pub use telemetry::{LogFormat, LogLevel, TelemetrySettings};
