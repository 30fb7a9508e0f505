//! Settings that the Kafka receiver and exporter have in common, with the Collector's names and defaults.

use crate::client_tls::TlsClientSettings;
use crate::secret::Secret;
use std::time::Duration;

/// How the brokers are reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionSettings {
    /// `host:port`; the others of the cluster are learned from these.
    pub brokers: Vec<String>,
    /// What brokers see in their quotas and logs.
    pub client_id: String,
    /// Each name is looked up, and each address reversed, before it is used (Kerberos, round-robin names).
    pub canonical_names: bool,
    /// TLS; none: clear text.
    pub tls: Option<TlsClientSettings>,
    /// User and password.
    pub sasl: Option<Sasl>,
    /// How often the cluster's leaders are asked for without a cause.
    pub metadata_refresh: Duration,
    /// An idle connection is closed after this time.
    pub conn_idle_timeout: Duration,
}

impl ConnectionSettings {
    /// The Collector's defaults: one broker on this machine, metadata every ten minutes, idle connections for nine.
    #[must_use]
    pub fn new() -> Self {
        Self {
            brokers: vec!["localhost:9092".to_owned()],
            client_id: "tailwater".to_owned(),
            canonical_names: false,
            tls: None,
            sasl: None,
            metadata_refresh: Duration::from_secs(600),
            conn_idle_timeout: Duration::from_secs(540),
        }
    }
}

impl Default for ConnectionSettings {
    fn default() -> Self {
        Self::new()
    }
}

/// `auth.sasl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sasl {
    /// How the password is shown to the broker.
    pub mechanism: Mechanism,
    /// The user; as secret as the password, because it stands below `auth`.
    pub username: Secret,
    /// The password.
    pub password: Secret,
}

/// SASL mechanisms that librdkafka has without other libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// The password itself; use it with TLS.
    Plain,
    /// RFC 7677.
    ScramSha256,
    /// The same with SHA-512.
    ScramSha512,
}

impl Mechanism {
    /// As it stands in the config, and as librdkafka has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

/// What a record's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// `ExportTraceServiceRequest`, protobuf.
    OtlpProto,
    /// The same as JSON.
    OtlpJson,
}

/// Which replicas must have a record before it counts as delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acks {
    /// None: the record was sent, and perhaps lost.
    None,
    /// The leader alone, which may die with it.
    Leader,
    /// All in-sync replicas.
    All,
}

/// How values are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    None,
    /// RFC 1952.
    Gzip,
    /// Google's.
    Snappy,
    /// Cheap, about 3:1 on spans.
    Lz4,
    /// RFC 8878, about 5:1 on spans.
    Zstd,
}

impl Codec {
    /// As it stands in the config, and as librdkafka has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

/// Which partition a key belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hasher {
    /// FNV-1a 32 as Sarama and the Collector compute it.
    SaramaCompat,
    /// As Java's clients compute it.
    Murmur2,
}

/// `producer`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducerSettings {
    /// Bytes of one record before compression.
    pub max_message_bytes: u32,
    /// When a record counts as delivered.
    pub required_acks: Acks,
    /// Compression.
    pub compression: Codec,
    /// Its level; none: the codec's own.
    pub compression_level: Option<i32>,
    /// Records of one request.
    pub flush_max_messages: u32,
    /// Whether the broker may make a missing topic, with its own defaults.
    pub allow_auto_topic_creation: bool,
    /// How long a partition waits for more records.
    pub linger: Duration,
}

impl ProducerSettings {
    /// The Collector's defaults, but for the acknowledgement: it takes the leader's word; a default of ours loses nothing,
    /// so it is that of all in-sync replicas.
    #[must_use]
    pub fn new() -> Self {
        Self {
            max_message_bytes: 1_000_000,
            required_acks: Acks::All,
            compression: Codec::None,
            compression_level: None,
            flush_max_messages: 10_000,
            allow_auto_topic_creation: true,
            linger: Duration::from_millis(10),
        }
    }
}

impl Default for ProducerSettings {
    fn default() -> Self {
        Self::new()
    }
}
