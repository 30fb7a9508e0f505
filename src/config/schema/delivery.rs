//! Keys that several components have: `tls`, `retry_on_failure`, `sending_queue`.

use super::Key;
use super::Shape::{self, Block, Duration, Flag, Number, Text, Whole, Words};

/// `compression_params`.
pub(crate) const PARAMETERS: Shape =
    Block(&[Key::new("level", Whole, "Level of the compression.")]);

const VERSIONS: &[&str] = &["", "1.2", "1.3"];

pub(crate) const TLS_SERVER: Shape = Shape::Shared("tls_server", &TLS_SERVER_KEYS);
const TLS_SERVER_KEYS: Shape = Block(&[
    Key::new("cert_file", Text, "PEM file with the certificate chain."),
    Key::new("key_file", Text, "PEM file with the private key."),
    Key::new(
        "client_ca_file",
        Text,
        "PEM file with the authorities of client certificates; set: clients must have one.",
    ),
    Key::new("min_version", Words(VERSIONS), "Lowest TLS version; 1.2."),
    Key::new("max_version", Words(VERSIONS), "Highest TLS version."),
    Key::ignored("reload_interval"),
    Key::ignored("client_ca_file_reload"),
    Key::ignored("ca_file"),
    Key::ignored("include_system_ca_certs_pool"),
]);

pub(crate) const TLS_CLIENT: Shape = Shape::Shared("tls_client", &TLS_CLIENT_KEYS);
const TLS_CLIENT_KEYS: Shape = Block(&[
    Key::new("insecure", Flag, "No TLS (gRPC)."),
    Key::new(
        "insecure_skip_verify",
        Flag,
        "TLS without checking who the server is.",
    ),
    Key::new(
        "ca_file",
        Text,
        "PEM file with the authorities of the server.",
    ),
    Key::new("ca_pem", Text, "The authorities as text."),
    Key::new(
        "include_system_ca_certs_pool",
        Flag,
        "The system's authorities beside those.",
    ),
    Key::new("cert_file", Text, "PEM file with the client's certificate."),
    Key::new("cert_pem", Text, "The client's certificate as text."),
    Key::new("key_file", Text, "PEM file with the client's key."),
    Key::new("key_pem", Text, "The client's key as text."),
    Key::new(
        "server_name_override",
        Text,
        "Name that the server's certificate must have.",
    ),
    Key::new("min_version", Words(VERSIONS), "Lowest TLS version; 1.2."),
    Key::new("max_version", Words(VERSIONS), "Highest TLS version."),
    Key::ignored("reload_interval"),
]);

pub(crate) const RETRY: Shape = Shape::Shared("retry", &RETRY_KEYS);
const RETRY_KEYS: Shape = Block(&[
    Key::new("enabled", Flag, "Whether a batch is tried again; true."),
    Key::new("initial_interval", Duration, "First delay; 5s."),
    Key::new("randomization_factor", Number, "Jitter, 0 to 1; 0.5."),
    Key::new("multiplier", Number, "Growth of the delay; 1.5."),
    Key::new("max_interval", Duration, "Largest delay; 30s."),
    Key::new(
        "max_elapsed_time",
        Duration,
        "A batch is given up after this time; 0, the default, is never.",
    ),
]);

const BATCH: Shape = Block(&[
    Key::new(
        "flush_timeout",
        Duration,
        "A batch leaves at the latest after this time; 200ms.",
    ),
    Key::new(
        "min_size",
        Whole,
        "A batch leaves when it has this size (with `sizer: bytes`).",
    ),
    Key::new(
        "max_size",
        Whole,
        "No batch is larger (with `sizer: bytes`).",
    ),
    Key::new(
        "sizer",
        Words(&["bytes", "items", "requests"]),
        "What sizes count; only bytes has an effect.",
    ),
]);

pub(crate) const QUEUE: Shape = Shape::Shared("queue", &QUEUE_KEYS);
const QUEUE_KEYS: Shape = Block(&[
    Key::new("num_consumers", Whole, "Batches on their way at once; 10."),
    Key::new("batch", BATCH, "How large batches are."),
    Key::ignored("enabled"),
    Key::ignored("queue_size"),
    Key::ignored("storage"),
    Key::ignored("wait_for_result"),
    Key::ignored("block_on_overflow"),
    Key::ignored("sizer"),
]);
