//! The `kafka` exporter.

use super::component::ComponentId;
use super::delivery;
use super::fields::Fields;
use super::item::Item;
use super::kafka_client;
use super::kafka_producer;
use super::redact;
use crate::exporters::{ExporterKind, ExporterSettings, KafkaExporterSettings, TopicSettings};
use crate::kafka::{Hasher, ProducerSettings};

const METADATA: &str = "request metadata is not passed on";
const ONE_TOPIC: &str = "all traces go to one topic, `traces.topic`, and all logs to `logs.topic`";
const BY_TRACE: &str = "records of logs are spread at random, or by `partition_logs_by_trace_id`";
const BY_KEY: &str = "use `partition_traces_by_id`; without it records are spread at random";

/// Decodes `kafka`.
pub(crate) fn decode(id: &ComponentId, item: &Item<'_>) -> Option<ExporterSettings> {
    let mut fields = item.fields()?;
    let mut kafka = KafkaExporterSettings::new();
    let connection = kafka_client::connection(&mut fields);
    let traces = topic_of(&mut fields, "traces", &kafka.traces);
    let logs = topic_of(&mut fields, "logs", &kafka.logs);
    kafka_client::other_signals(&mut fields, "only traces and logs are sent");
    fields.not_yet("topic_from_attribute", ONE_TOPIC);
    fields.no_effect("include_metadata_keys", METADATA);
    fields.not_yet("record_headers", "leave it out");
    kafka.partition_traces_by_id = fields.boolean("partition_traces_by_id").unwrap_or(false);
    kafka.partition_logs_by_trace_id = fields
        .boolean("partition_logs_by_trace_id")
        .unwrap_or(false);
    fields.no_effect(
        "partition_metrics_by_resource_attributes",
        "only traces and logs are sent",
    );
    fields.no_effect("partition_logs_by_resource_attributes", BY_TRACE);
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
    kafka.traces = traces?;
    kafka.logs = logs?;
    kafka.producer = producer?;
    kafka.bound(&mut settings.queue);
    settings.kind = ExporterKind::Kafka(kafka);
    kafka_client::is_built(item).then_some(settings)
}

/// A signal's block; `None` when it has errors.
fn topic_of(
    fields: &mut Fields<'_>,
    signal: &'static str,
    defaults: &TopicSettings,
) -> Option<TopicSettings> {
    let mut settings = defaults.clone();
    let Some(mut fields) = fields.fields(signal) else {
        return Some(settings);
    };
    let topic = fields.get("topic");
    settings.encoding = kafka_client::encoding(&mut fields).unwrap_or(settings.encoding);
    fields.not_yet("topic_from_metadata_key", ONE_TOPIC);
    fields.not_yet("message_key_from_metadata_key", METADATA);
    if let Some(topic) = topic {
        settings.topic = kafka_client::topic(&topic)?;
    }
    Some(settings)
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
