//! The `kafka` exporter.

use super::component::ComponentId;
use super::delivery;
use super::fields::Fields;
use super::item::Item;
use super::kafka_client;
use super::kafka_producer;
use super::redact;
use crate::exporters::{ExporterKind, ExporterSettings, KafkaExporterSettings};
use crate::kafka::{Hasher, ProducerSettings};

const METADATA: &str = "request metadata is not passed on";
const ONE_TOPIC: &str = "all traces go to one topic, `traces.topic`";
const BY_KEY: &str = "use `partition_traces_by_id`; without it records are spread at random";

/// Decodes `kafka`.
pub(crate) fn decode(id: &ComponentId, item: &Item<'_>) -> Option<ExporterSettings> {
    let mut fields = item.fields()?;
    let mut kafka = KafkaExporterSettings::new();
    let connection = kafka_client::connection(&mut fields);
    let topic = fields
        .fields("traces")
        .map_or(Some(kafka.topic.clone()), |mut traces| {
            let topic = traces.get("topic");
            kafka.encoding = kafka_client::encoding(&mut traces).unwrap_or(kafka.encoding);
            traces.not_yet("topic_from_metadata_key", ONE_TOPIC);
            traces.not_yet("message_key_from_metadata_key", METADATA);
            topic.map_or(Some(kafka.topic.clone()), |item| kafka_client::topic(&item))
        });
    kafka_client::other_signals(&mut fields, "only traces are sent");
    fields.not_yet("topic_from_attribute", ONE_TOPIC);
    fields.no_effect("include_metadata_keys", METADATA);
    fields.not_yet("record_headers", "leave it out");
    kafka.partition_traces_by_id = fields.boolean("partition_traces_by_id").unwrap_or(false);
    for other in [
        "partition_metrics_by_resource_attributes",
        "partition_logs_by_resource_attributes",
        "partition_logs_by_trace_id",
    ] {
        fields.no_effect(other, "only traces are sent");
    }
    kafka.hasher = fields
        .fields("record_partitioner")
        .map_or(kafka.hasher, partitioner);
    let producer = fields.get("producer");
    let producer = producer.map_or(Some(ProducerSettings::new()), |item| {
        kafka_producer::decode(&item, &ProducerSettings::new())
    });
    let mut settings = ExporterSettings::new(id.text.clone(), ExporterKind::Kafka(kafka.clone()));
    settings.retry = delivery::retry(&mut fields);
    settings.queue = delivery::queue(&mut fields);
    settings.redact = redact::decode(&mut fields);
    settings.timeout = delivery::timeout(&mut fields, settings.timeout);
    kafka.connection = connection?;
    kafka.topic = topic?;
    kafka.producer = producer?;
    kafka.bound(&mut settings.queue);
    settings.kind = ExporterKind::Kafka(kafka);
    kafka_client::is_built(item).then_some(settings)
}

fn partitioner(mut fields: Fields<'_>) -> Hasher {
    let hasher = fields.fields("sticky_key").and_then(|mut fields| {
        let hashers = [
            ("sarama_compat", Hasher::SaramaCompat),
            ("murmur2", Hasher::Murmur2),
        ];
        fields.one_of("hasher", &hashers)
    });
    fields.not_yet("round_robin", BY_KEY);
    fields.not_yet("least_backup", BY_KEY);
    fields.not_yet("extension", BY_KEY);
    hasher.unwrap_or(Hasher::SaramaCompat)
}
