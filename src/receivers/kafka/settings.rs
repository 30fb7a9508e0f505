//! Checked settings of the `kafka` receiver.

use crate::kafka::{ConnectionSettings, Encoding};
use std::time::Duration;

/// Where a group begins that has committed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitialOffset {
    /// With what comes from now on.
    Latest,
    /// With the oldest record that the topic has.
    Earliest,
}

/// How partitions are dealt out in the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// A range of each topic.
    Range,
    /// One after the other.
    RoundRobin,
    /// Partitions stay where they are when members come and go, and only those that move stop.
    CooperativeSticky,
}

impl Strategy {
    /// As it stands in the config, and as librdkafka has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::RoundRobin => "roundrobin",
            Self::CooperativeSticky => "cooperative-sticky",
        }
    }
}

/// The topics of one signal, and what their records are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topics {
    /// `topics`; of traces, one that begins with `^` is a regular expression. A topic named for logs holds logs, whatever
    /// the expressions are.
    pub topics: Vec<String>,
    /// `encoding`.
    pub encoding: Encoding,
}

impl Topics {
    fn new(topic: &str) -> Self {
        Self {
            topics: vec![topic.to_owned()],
            encoding: Encoding::OtlpProto,
        }
    }
}

/// `kafka`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaReceiverSettings {
    /// Brokers, TLS, user.
    pub connection: ConnectionSettings,
    /// `traces`.
    pub traces: Topics,
    /// `logs`: read where a pipeline takes the receiver's logs.
    pub logs: Topics,
    /// Members of one group share the partitions; offsets are the group's.
    pub group_id: String,
    /// A member that comes back under this name within the session timeout keeps its partitions.
    pub group_instance_id: Option<String>,
    /// The nearest replica is read where brokers know their racks.
    pub rack_id: Option<String>,
    /// Where a new group begins.
    pub initial_offset: InitialOffset,
    /// A silent member is dead after this time.
    pub session_timeout: Duration,
    /// How often a member says that it lives.
    pub heartbeat_interval: Duration,
    /// In order of preference.
    pub strategies: Vec<Strategy>,
    /// Bytes that a broker waits for before it answers...
    pub min_fetch_size: u32,
    /// ...for at most this long.
    pub max_fetch_wait: Duration,
    /// Bytes of one answer.
    pub max_fetch_size: u32,
    /// The same for each partition.
    pub max_partition_fetch_size: u32,
    /// How often offsets are committed.
    pub commit_interval: Duration,
    /// Where records go that are no OTLP (ours); none: they are counted and passed over.
    pub dead_letter_topic: Option<String>,
}

impl KafkaReceiverSettings {
    /// The Collector's defaults.
    #[must_use]
    pub fn new() -> Self {
        Self {
            connection: ConnectionSettings::new(),
            traces: Topics::new("otlp_spans"),
            logs: Topics::new("otlp_logs"),
            group_id: "otel-collector".to_owned(),
            group_instance_id: None,
            rack_id: None,
            initial_offset: InitialOffset::Latest,
            session_timeout: Duration::from_secs(10),
            heartbeat_interval: Duration::from_secs(3),
            strategies: vec![Strategy::CooperativeSticky],
            min_fetch_size: 1,
            max_fetch_wait: Duration::from_millis(250),
            max_fetch_size: 1 << 20,
            max_partition_fetch_size: 1 << 20,
            commit_interval: Duration::from_secs(1),
            dead_letter_topic: None,
        }
    }
}

impl Default for KafkaReceiverSettings {
    fn default() -> Self {
        Self::new()
    }
}
