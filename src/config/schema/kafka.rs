//! Keys that the Kafka receiver and exporter have in common.

use super::Key;
use super::Shape::{self, Block, Duration, Flag, Many, Text, Words};

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
