//! Wires receivers, log, samplers and exporters from a config; starts, drains and stops them.
//!
//! The daemon is a thin user of [`Pipeline`]; an embedding process uses it just so.

mod admin;
mod budgets;
mod build;
#[cfg(feature = "kafka")]
mod build_kafka;
mod chains;
mod check;
mod consume;
mod erase;
mod export;
#[cfg(feature = "kafka")]
mod fleet;
#[cfg(feature = "kafka")]
mod fleet_cursors;
mod health;
#[cfg(feature = "kafka")]
mod kafka_watch;
mod receive;
mod redacting;
mod relay;
mod running;
mod start_error;
mod stop;

pub use check::check;
pub use erase::erase;
pub use health::{Health, Readiness};
pub use running::{ExporterView, Pipeline, ReceiverView, SamplerView};
pub use start_error::StartError;
