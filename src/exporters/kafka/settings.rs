//! Checked settings of the `kafka` exporter.

use crate::exporters::QueueSettings;
use crate::kafka::{ConnectionSettings, Encoding, Hasher, ProducerSettings};

/// Where one signal goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicSettings {
    /// `topic`.
    pub topic: String,
    /// `encoding`.
    pub encoding: Encoding,
}

impl TopicSettings {
    fn new(topic: &str) -> Self {
        Self {
            topic: topic.to_owned(),
            encoding: Encoding::OtlpProto,
        }
    }
}

/// `kafka`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaExporterSettings {
    /// Brokers, TLS, user.
    pub connection: ConnectionSettings,
    /// `traces`.
    pub traces: TopicSettings,
    /// `logs`.
    pub logs: TopicSettings,
    /// A record for each trace, with its id as the key; otherwise one for each batch, without a key.
    pub partition_traces_by_id: bool,
    /// The same for log records; those of no trace have an empty key.
    pub partition_logs_by_trace_id: bool,
    /// `record_partitioner.sticky_key.hasher`.
    pub hasher: Hasher,
    /// `producer`.
    pub producer: ProducerSettings,
}

impl KafkaExporterSettings {
    /// The Collector's defaults.
    #[must_use]
    pub fn new() -> Self {
        Self {
            connection: ConnectionSettings::new(),
            traces: TopicSettings::new("otlp_spans"),
            logs: TopicSettings::new("otlp_logs"),
            partition_traces_by_id: false,
            partition_logs_by_trace_id: false,
            hasher: Hasher::SaramaCompat,
            producer: ProducerSettings::new(),
        }
    }

    /// Batches that fit into one record: four fifths of its limit for protobuf, whose resources are added when a batch is
    /// stitched; two fifths for JSON, which is about twice as long. What is still too large is cut when it is sent.
    pub fn bound(&self, queue: &mut QueueSettings) {
        let encodings = [self.traces.encoding, self.logs.encoding];
        let fifths = if encodings.contains(&Encoding::OtlpJson) {
            2
        } else {
            4
        };
        let most = u64::from(self.producer.max_message_bytes) * fifths / 5;
        queue.batch_max_bytes = queue.batch_max_bytes.min(most.max(1));
        queue.batch_min_bytes = queue.batch_min_bytes.min(queue.batch_max_bytes);
    }
}

impl Default for KafkaExporterSettings {
    fn default() -> Self {
        Self::new()
    }
}
