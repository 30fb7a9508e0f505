//! Checked `service.telemetry`.

use crate::admin::Spelling;

/// Lowest level that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum LogLevel {
    /// Everything.
    Debug,
    /// The Collector's default.
    #[default]
    Info,
    /// Warnings and errors.
    Warn,
    /// Errors only.
    Error,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people; the Collector's default.
    #[default]
    Console,
    /// One JSON object a line.
    Json,
}

/// `service.telemetry`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// `logs.level`.
    pub log_level: LogLevel,
    /// `logs.encoding`.
    pub log_format: LogFormat,
    /// `host:port` of `/metrics`; the Collector's default `localhost:8888`. None: `metrics.level: none`.
    pub metrics_address: Option<String>,
    /// How the Collector's own metrics are spelled there; as they are unless the reader says otherwise.
    pub metrics_spelling: Spelling,
}
