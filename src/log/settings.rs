//! Checked settings of the log.

use crate::kafka::KafkaLogSettings;
use std::path::PathBuf;
use std::time::Duration;

/// Which store holds the records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreKind {
    /// Segment files below a directory.
    Disk(PathBuf),
    /// The same segments in memory; lost with the process.
    Memory,
    /// Topics of a Kafka cluster, shared by a group of daemons.
    Kafka(Box<KafkaLogSettings>),
}

/// What an acknowledged request survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The death of the process: the bytes are with the operating system.
    Os,
    /// The loss of power: the bytes are synced, many requests in one sync.
    Fsync,
}

/// What happens when a service has reached its memory cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFull {
    /// Its oldest payload leaves the cache; the log still has it.
    Spill,
    /// Its oldest traces are decided on what they have.
    DecideEarly,
    /// Requests with its spans are refused until it is below the cap.
    Refuse,
}

/// Memory caps in bytes. The cache is what is left of `total` after intake, skeletons and decision memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySettings {
    /// All that the caps govern.
    pub total: u64,
    /// Cap of a service that has none of its own.
    pub per_service_default: u64,
    /// Caps by `service.name`.
    pub per_service: Vec<(String, u64)>,
    /// What happens at a service's cap.
    pub on_full: OnFull,
    /// The same for some, by `service.name`.
    pub on_full_of: Vec<(String, OnFull)>,
}

/// The log. Sizes and durability are those of an embedded one; in Kafka the topics have their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// Where records live.
    pub store: StoreKind,
    /// Bytes of segment files, decision log and positions included.
    pub max_size: u64,
    /// Age after which sealed segments go; `None`: as long as `max_size` allows.
    pub retention: Option<Duration>,
    /// What an acknowledgement promises.
    pub durability: Durability,
    /// Partitions of the log; written into it when it is created.
    pub partitions: u16,
    /// Bytes of one segment file. 128 MiB: large enough that rolling is rare, small enough that retention is fine-grained.
    pub segment_size: u64,
}
