//! Keys of everything that speaks to Kafka: receiver, exporter, log.

use super::Key;
use super::Shape::{self, Block, Duration, Flag, Many, Text, Whole, Words};
use super::delivery::{PARAMETERS, TLS_CLIENT};

pub(crate) const KAFKA_ENCODINGS: &[&str] = &["otlp_proto", "otlp_json"];

pub(crate) const BROKERS: Key = Key::new(
    "brokers",
    Many(&Text),
    "host:port of brokers; localhost:9092.",
);
pub(crate) const CLIENT_ID: Key = Key::new("client_id", Text, "What brokers see; tailwater.");
pub(crate) const CANONICAL: Key = Key::new(
    "resolve_canonical_bootstrap_servers_only",
    Flag,
    "Brokers' names are looked up and reversed.",
);
pub(crate) const CONN_IDLE: Key = Key::new(
    "conn_idle_timeout",
    Duration,
    "An idle connection is closed after this time; 9m.",
);

const METADATA: Shape = Block(&[
    Key::new(
        "refresh_interval",
        Duration,
        "How often the cluster is asked for its leaders; 10m.",
    ),
    Key::ignored("full"),
    Key::ignored("retry"),
]);
pub(crate) const KAFKA_METADATA: Key = Key::new("metadata", METADATA, "Of the cluster.");

const PLAIN: Shape = Block(&[
    Key::new("username", Text, "The user."),
    Key::new("password", Text, "The password."),
]);

const SASL: Shape = Block(&[
    Key::new(
        "mechanism",
        Words(&["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]),
        "How the password is shown.",
    ),
    Key::new("username", Text, "The user."),
    Key::new("password", Text, "The password."),
    Key::ignored("version"),
]);

const AUTH: Shape = Block(&[
    Key::new("sasl", SASL, "User and password."),
    Key::new("plain_text", PLAIN, "The same with the mechanism PLAIN."),
]);
pub(crate) const KAFKA_AUTH: Key = Key::new("auth", AUTH, "Who we are.");

pub(crate) const KAFKA_PRODUCER: Shape = Block(&[
    Key::new(
        "max_message_bytes",
        Whole,
        "Bytes of one record before compression; 1000000.",
    ),
    Key::new(
        "required_acks",
        Whole,
        "-1: all in-sync replicas have a record (the default here), 1: the leader, 0: nobody says so.",
    ),
    Key::new(
        "compression",
        Words(&["none", "", "gzip", "snappy", "lz4", "zstd"]),
        "none; for the log lz4.",
    ),
    Key::new("compression_params", PARAMETERS, "Of the compression."),
    Key::new(
        "flush_max_messages",
        Whole,
        "Records of one request; 10000.",
    ),
    Key::new(
        "allow_auto_topic_creation",
        Flag,
        "The broker may make a missing topic; true, for the log never.",
    ),
    Key::new(
        "linger",
        Duration,
        "How long a partition waits for more records; 10ms.",
    ),
    Key::ignored("max_broker_write_bytes"),
]);

/// `buffer.kafka`.
pub(crate) const KAFKA_LOG: Shape = Block(&[
    BROKERS,
    CLIENT_ID,
    CANONICAL,
    CONN_IDLE,
    KAFKA_METADATA,
    Key::new("tls", TLS_CLIENT, "TLS; without it clear text."),
    KAFKA_AUTH,
    Key::new(
        "topic",
        Text,
        "Where accepted spans lie until retention; tailwater.spans.",
    ),
    Key::new(
        "decisions_topic",
        Text,
        "Where decisions lie; the topic's name with .decisions for .spans.",
    ),
    Key::new(
        "dead_letter_topic",
        Text,
        "Where records go that nobody can read; none: counted and told.",
    ),
    Key::new(
        "group_id",
        Text,
        "Daemons of one group share the partitions; tailwater.",
    ),
    Key::new(
        "group_protocol",
        Words(&["classic", "consumer"]),
        "Who deals the partitions out: the members, or the brokers (KIP-848, from 4.0 on); classic.",
    ),
    Key::new(
        "session_timeout",
        Duration,
        "A silent daemon is dead after this time; 30s.",
    ),
    Key::new(
        "transactional_id",
        Text,
        "Names this daemon's producer of decisions, unlike any other's; group id and host name.",
    ),
    Key::new("partitions", Whole, "Partitions of both topics; 12."),
    Key::new("create", Flag, "Make topics that are missing; false."),
    Key::new(
        "replication_factor",
        Whole,
        "Replicas of a topic that is made; 3.",
    ),
    Key::new(
        "retention",
        Duration,
        "How long a topic that is made keeps spans; 2h.",
    ),
    Key::new("producer", KAFKA_PRODUCER, "Sizes, compression."),
    Key::ignored("protocol_version"),
]);
