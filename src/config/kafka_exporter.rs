//! The `kafka` exporter.

use super::component::ComponentId;
use super::delivery;
use super::fields::Fields;
use super::item::Item;
use super::kafka_client;
use super::redact;
use crate::exporters::{ExporterKind, ExporterSettings, KafkaExporterSettings};
use crate::kafka::{Acks, Codec, Hasher, ProducerSettings};

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
    let producer = producer.map_or(Some(ProducerSettings::new()), |item| producer_of(&item));
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

fn producer_of(item: &Item<'_>) -> Option<ProducerSettings> {
    let mut fields = item.fields()?;
    let defaults = ProducerSettings::new();
    // librdkafka's own bounds.
    let max_message_bytes = in_range(&mut fields, "max_message_bytes", 1000, 1_000_000_000);
    let flush_max_messages = in_range(&mut fields, "flush_max_messages", 1, 1_000_000);
    fields.no_effect("max_broker_write_bytes", "one request holds one batch");
    let acks = fields.get("required_acks").map(|item| acks(&item));
    let compression = fields.one_of(
        "compression",
        &[
            ("none", Codec::None),
            ("", Codec::None),
            ("gzip", Codec::Gzip),
            ("snappy", Codec::Snappy),
            ("lz4", Codec::Lz4),
            ("zstd", Codec::Zstd),
        ],
    );
    let compression = compression.unwrap_or(defaults.compression);
    let level = fields
        .fields("compression_params")
        .and_then(|mut fields| level(&fields.get("level")?, compression));
    let create = fields.boolean("allow_auto_topic_creation");
    let linger = fields.duration("linger").unwrap_or(defaults.linger);
    Some(ProducerSettings {
        max_message_bytes: max_message_bytes.unwrap_or(Some(defaults.max_message_bytes))?,
        required_acks: acks.unwrap_or(Some(defaults.required_acks))?,
        compression,
        compression_level: level,
        flush_max_messages: flush_max_messages.unwrap_or(Some(defaults.flush_max_messages))?,
        allow_auto_topic_creation: create.unwrap_or(defaults.allow_auto_topic_creation),
        // librdkafka's bound, 15 minutes.
        linger: linger.min(std::time::Duration::from_secs(900)),
    })
}

/// -1: the codec's own.
fn level(item: &Item<'_>, codec: Codec) -> Option<i32> {
    let most = match codec {
        Codec::Gzip => 9,
        Codec::Zstd => 22,
        Codec::Lz4 => 12,
        Codec::None | Codec::Snappy => -1,
    };
    let level = item.i32()?;
    if most == -1 && level != -1 {
        item.error("this compression has no levels; leave it out");
        return None;
    }
    if !(-1..=most).contains(&level) {
        item.error(format!(
            "out of range: this compression has levels up to {most} (-1: its own)"
        ));
        return None;
    }
    Some(level).filter(|level| *level != -1)
}

/// -1, 0 or 1, as Kafka has it.
fn acks(item: &Item<'_>) -> Option<Acks> {
    match item.i64()? {
        -1 => Some(Acks::All),
        1 => Some(Acks::Leader),
        0 => {
            item.warning("spans count as delivered when they are sent: a broker may lose them");
            Some(Acks::None)
        }
        _ => {
            item.error("expected -1 (all in-sync replicas), 1 (the leader) or 0 (none)");
            None
        }
    }
}

/// `Some(None)`: out of range.
#[allow(
    clippy::option_option,
    reason = "a value with errors is not an absent one"
)]
fn in_range(fields: &mut Fields<'_>, key: &'static str, min: u64, max: u64) -> Option<Option<u32>> {
    let item = fields.get(key)?;
    Some(item.u64_in(min, max).and_then(|n| u32::try_from(n).ok()))
}
