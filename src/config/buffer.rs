//! `tail_sampling.buffer` and `TAILWATER_BUFFER`: where accepted spans lie until they are decided and delivered.

use std::path::PathBuf;
use std::time::Duration;

use super::fields::Fields;
use super::item::Item;
use super::kafka_log;
use super::node::Place;
use crate::kafka::KafkaLogSettings;
use crate::log::{Durability, LogSettings, StoreKind};

/// Where the log is unless the file or `TAILWATER_BUFFER` says otherwise (design.md section 3).
const DIRECTORY: &str = "/var/lib/tailwater";
/// design.md section 3; 20 GiB hold about 45 million spans of 450 bytes.
const MAX_SIZE: u64 = 20 << 30;
/// A decision share and two segments must fit.
const LEAST_SIZE: u64 = 16 << 20;
/// A buffer in memory competes with everything else for it.
const MEMORY_SIZE: u64 = 256 << 20;
/// design.md section 2.
const PARTITIONS: u16 = 16;
/// Large enough that rolling is rare, small enough that retention is fine-grained (`LogSettings::segment_size`).
const SEGMENT: u64 = 128 << 20;

/// A `buffer` block and where it stands; for Kafka, where `kafka` does.
#[derive(Debug, Clone)]
pub(crate) struct Buffer {
    pub place: Place,
    pub path: String,
    pub log: LogSettings,
}

/// The disk log with its defaults.
pub(crate) fn disk(directory: PathBuf) -> LogSettings {
    LogSettings {
        store: StoreKind::Disk(directory),
        max_size: MAX_SIZE,
        retention: None,
        durability: Durability::Os,
        partitions: PARTITIONS,
        segment_size: SEGMENT,
    }
}

/// The log when nothing says what it is.
pub(crate) fn default_log() -> LogSettings {
    disk(PathBuf::from(DIRECTORY))
}

fn memory() -> LogSettings {
    LogSettings {
        store: StoreKind::Memory,
        max_size: MEMORY_SIZE,
        segment_size: MEMORY_SIZE / 16,
        ..default_log()
    }
}

/// `TAILWATER_BUFFER`: `memory` or `disk:DIR`.
pub(crate) fn from_env(text: &str) -> Result<LogSettings, &'static str> {
    match text.split_once(':') {
        None if text == "memory" => Ok(memory()),
        Some(("disk", directory)) if !directory.is_empty() => Ok(disk(directory.into())),
        _ => Err("expected `memory` or `disk:DIRECTORY`"),
    }
}

/// Decodes the block: exactly one of `disk`, `memory`, `kafka`. `needed` is how long a trace's spans must be there.
pub(crate) fn decode(item: &Item<'_>, needed: Duration) -> Option<Buffer> {
    let mut fields = item.fields()?;
    let disk = fields.get_or_null("disk");
    let memory = fields.get_or_null("memory");
    let kafka = fields.get_or_null("kafka");
    let found: Vec<&str> = [
        (&disk, "`disk`"),
        (&memory, "`memory`"),
        (&kafka, "`kafka`"),
    ]
    .iter()
    .filter_map(|(block, name)| block.as_ref().map(|_| *name))
    .collect();
    match found.as_slice() {
        [] => item.error("expected `disk`, `memory` or `kafka`"),
        [_] => {}
        [first, others @ ..] => {
            let others = others.join(" and ");
            item.error(format!("expected one log, found {first} and {others}"));
        }
    }
    let kafka = kafka.map(|item| (kafka_log::decode(&item, needed), item));
    let at = kafka.as_ref().map_or(item, |(_, item)| item);
    let (place, path) = (at.node.place, at.path.clone());
    let disk = disk.and_then(|item| decode_disk(&item));
    let log = disk.or(memory.and_then(|item| decode_memory(&item)));
    let log = log.or(kafka.and_then(|(kafka, _)| kafka.map(in_kafka)))?;
    Some(Buffer { place, path, log })
}

/// What is the topics' own has the embedded log's defaults, which nobody looks at.
fn in_kafka(kafka: KafkaLogSettings) -> LogSettings {
    LogSettings {
        partitions: kafka.partitions,
        retention: None,
        store: StoreKind::Kafka(Box::new(kafka)),
        ..default_log()
    }
}

fn decode_disk(item: &Item<'_>) -> Option<LogSettings> {
    let mut fields = item.fields()?;
    let defaults = default_log();
    let directory = fields
        .string("directory")
        .map_or_else(|| PathBuf::from(DIRECTORY), PathBuf::from);
    if directory.as_os_str().is_empty() {
        item.error("`directory` is empty");
    }
    let durability = fields.one_of(
        "durability",
        &[("os", Durability::Os), ("fsync", Durability::Fsync)],
    );
    let max_size = sized(&mut fields, "max_size", LEAST_SIZE).unwrap_or(defaults.max_size);
    let segment_size = sized(&mut fields, "segment_size", 1 << 20)
        .unwrap_or(defaults.segment_size.min(max_size / 8));
    if segment_size > max_size / 4 {
        item.error("`segment_size` is more than a quarter of `max_size`");
    }
    Some(LogSettings {
        store: StoreKind::Disk(directory),
        max_size,
        retention: retention(&mut fields),
        durability: durability.unwrap_or(defaults.durability),
        partitions: partitions(&mut fields),
        segment_size,
    })
}

fn decode_memory(item: &Item<'_>) -> Option<LogSettings> {
    let mut fields = item.fields()?;
    let max_size = sized(&mut fields, "max_size", LEAST_SIZE).unwrap_or(MEMORY_SIZE);
    let (retention, partitions) = (retention(&mut fields), partitions(&mut fields));
    Some(LogSettings {
        max_size,
        retention,
        partitions,
        segment_size: max_size / 16,
        ..memory()
    })
}

fn sized(fields: &mut Fields<'_>, key: &'static str, least: u64) -> Option<u64> {
    let item = fields.get(key)?;
    let size = item.bytes()?;
    if size < least {
        item.error(format!("too small: expected at least {} MiB", least >> 20));
        return None;
    }
    Some(size)
}

fn retention(fields: &mut Fields<'_>) -> Option<Duration> {
    fields.duration("retention").filter(|time| !time.is_zero())
}

fn partitions(fields: &mut Fields<'_>) -> u16 {
    let wanted = fields
        .get("partitions")
        .and_then(|item| item.u64_in(1, 1024));
    wanted
        .and_then(|n| u16::try_from(n).ok())
        .unwrap_or(PARTITIONS)
}
