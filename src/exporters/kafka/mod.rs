//! The `kafka` exporter: kept traces as OTLP records of a topic, as the Collector's exporter writes them.

#[cfg(feature = "kafka")]
mod exporter;
#[cfg(feature = "kafka")]
mod lanes;
#[cfg(feature = "kafka")]
mod parts;
mod settings;
#[cfg(feature = "kafka")]
mod unfinished;

#[cfg(feature = "kafka")]
pub(super) use exporter::KafkaExporter;
pub use settings::{KafkaExporterSettings, TopicSettings};
