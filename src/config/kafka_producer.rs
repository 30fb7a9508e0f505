//! `producer` of the Kafka exporter and of the log in Kafka.

use super::fields::Fields;
use super::item::Item;
use crate::kafka::{Acks, Codec, KafkaLogSettings, ProducerSettings};

/// Decodes the exporter's block.
pub(crate) fn decode(item: &Item<'_>, defaults: &ProducerSettings) -> Option<ProducerSettings> {
    let mut fields = item.fields()?;
    let acks = fields.get("required_acks").map(|item| acks(&item));
    let create = fields.boolean("allow_auto_topic_creation");
    let settings = shared(&mut fields, defaults)?;
    Some(ProducerSettings {
        required_acks: acks.unwrap_or(Some(defaults.required_acks))?,
        allow_auto_topic_creation: create.unwrap_or(defaults.allow_auto_topic_creation),
        ..settings
    })
}

/// Decodes the log's block: what loses records or makes topics with a broker's defaults is refused.
pub(crate) fn decode_for_log(item: &Item<'_>) -> Option<ProducerSettings> {
    let mut fields = item.fields()?;
    if let Some(item) = fields.get("required_acks")
        && item.i64().is_some_and(|acks| acks != -1)
    {
        item.error(
            "an acknowledged span must be in the log: all in-sync replicas (-1); leave it out",
        );
    }
    if let Some(item) = fields.get("allow_auto_topic_creation")
        && item.boolean() == Some(true)
    {
        let help = "`create: true` beside `producer` makes the topics as they must be";
        item.error_help("a broker would make the topics with its own defaults", help);
    }
    shared(&mut fields, &KafkaLogSettings::producer())
}

fn shared(fields: &mut Fields<'_>, defaults: &ProducerSettings) -> Option<ProducerSettings> {
    // librdkafka's own bounds.
    let max_message_bytes = in_range(fields, "max_message_bytes", 1000, 1_000_000_000);
    let flush_max_messages = in_range(fields, "flush_max_messages", 1, 1_000_000);
    fields.no_effect("max_broker_write_bytes", "one request holds one batch");
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
    let linger = fields.duration("linger").unwrap_or(defaults.linger);
    Some(ProducerSettings {
        max_message_bytes: max_message_bytes.unwrap_or(Some(defaults.max_message_bytes))?,
        compression,
        compression_level: level,
        flush_max_messages: flush_max_messages.unwrap_or(Some(defaults.flush_max_messages))?,
        // librdkafka's bound, 15 minutes.
        linger: linger.min(std::time::Duration::from_secs(900)),
        ..defaults.clone()
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
