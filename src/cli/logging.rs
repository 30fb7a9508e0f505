//! Log lines on standard error, as `service.telemetry.logs` says; `RUST_LOG` goes before it.

use std::io::IsTerminal;
use tailwater::config::settings::{LogFormat, LogLevel, TelemetrySettings};
use tracing_subscriber::EnvFilter;

pub(super) fn start(telemetry: &TelemetrySettings) {
    let level = match telemetry.log_level {
        LogLevel::Debug => "tailwater=debug,info",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // Colours are for people; in a file they break every search.
    let lines = lines.with_ansi(std::io::stderr().is_terminal());
    // A second start in one process (tests) keeps the first subscriber.
    let _ = match telemetry.log_format {
        LogFormat::Console => lines.try_init(),
        LogFormat::Json => lines.json().try_init(),
    };
}
