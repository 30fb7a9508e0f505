//! Checked settings of the `kafka` exporter.

use crate::exporters::QueueSettings;
use crate::kafka::{ConnectionSettings, Encoding, Hasher, ProducerSettings};

/// `kafka`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaExporterSettings {
    /// Brokers, TLS, user.
    pub connection: ConnectionSettings,
    /// `traces.topic`.
    pub topic: String,
    /// `traces.encoding`.
    pub encoding: Encoding,
    /// A record for each trace, with its id as the key; otherwise one for each batch, without a key.
    pub partition_traces_by_id: bool,
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
            topic: "otlp_spans".to_owned(),
            encoding: Encoding::OtlpProto,
            partition_traces_by_id: false,
            hasher: Hasher::SaramaCompat,
            producer: ProducerSettings::new(),
        }
    }

    /// Batches that fit into one record: four fifths of its limit for protobuf, whose resources are added when a batch is
    /// stitched; two fifths for JSON, which is about twice as long. What is still too large is cut when it is sent.
    pub fn bound(&self, queue: &mut QueueSettings) {
        let fifths = match self.encoding {
            Encoding::OtlpProto => 4,
            Encoding::OtlpJson => 2,
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
