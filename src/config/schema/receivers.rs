//! Keys of the receivers.

use super::Key;
use super::Shape::{self, Block, Duration, Flag, Headers, Many, Size, Text, Whole, Words};
use super::delivery::{TLS_CLIENT, TLS_SERVER};
use super::kafka::{
    BROKERS, CANONICAL, CLIENT_ID, CONN_IDLE, KAFKA_AUTH, KAFKA_ENCODINGS, KAFKA_METADATA,
};
use super::redact::REDACT;

const TRANSPORTS: &[&str] = &["tcp", "tcp4", "tcp6"];
const ENCODINGS: &[&str] = &["", "gzip", "zstd", "zlib", "deflate"];

const PARAMETERS: Shape = Block(&[
    Key::new(
        "max_connection_idle",
        Duration,
        "An idle connection is closed after this time.",
    ),
    Key::new(
        "max_connection_age",
        Duration,
        "Any connection is closed after this time.",
    ),
    Key::new(
        "max_connection_age_grace",
        Duration,
        "Time that its calls have to end.",
    ),
    Key::new(
        "time",
        Duration,
        "A ping after this time without traffic; 2h.",
    ),
    Key::new("timeout", Duration, "Time for the answer to a ping; 20s."),
]);

const POLICY: Shape = Block(&[
    Key::ignored("min_time"),
    Key::ignored("permit_without_stream"),
]);

const KEEPALIVE: Shape = Block(&[
    Key::new(
        "server_parameters",
        PARAMETERS,
        "Pings and the age of connections.",
    ),
    Key::new("enforcement_policy", POLICY, "Taken, without effect."),
]);

const GRPC: Shape = Block(&[
    Key::new("endpoint", Text, "host:port to listen on; localhost:4317."),
    Key::new("transport", Words(TRANSPORTS), "tcp."),
    Key::new(
        "tls",
        TLS_SERVER,
        "Certificate of the server; without it clear text.",
    ),
    Key::new(
        "max_recv_msg_size_mib",
        Whole,
        "MiB of one message, inflated; 16.",
    ),
    Key::new(
        "max_concurrent_streams",
        Whole,
        "Calls at once on one connection; no limit.",
    ),
    Key::new("keepalive", KEEPALIVE, "Pings and the age of connections."),
    Key::ignored("read_buffer_size"),
    Key::ignored("write_buffer_size"),
    Key::ignored("include_metadata"),
    Key::ignored("dialer"),
]);

const CORS: Shape = Block(&[
    Key::new(
        "allowed_origins",
        Many(&Text),
        "Origins, with * as a wildcard.",
    ),
    Key::new(
        "allowed_headers",
        Many(&Text),
        "Headers beside the safelisted ones.",
    ),
    Key::new(
        "exposed_headers",
        Many(&Text),
        "Headers that a script may read.",
    ),
    Key::new(
        "max_age",
        Whole,
        "Seconds that a browser keeps the answer to a preflight.",
    ),
]);

const HTTP: Shape = Block(&[
    Key::new("endpoint", Text, "host:port to listen on; localhost:4318."),
    Key::new("transport", Words(TRANSPORTS), "tcp."),
    Key::new(
        "tls",
        TLS_SERVER,
        "Certificate of the server; without it clear text.",
    ),
    Key::new(
        "max_request_body_size",
        Size,
        "Bytes of one body, inflated; 20MiB.",
    ),
    Key::new("cors", CORS, "Which web pages may send."),
    Key::new("traces_url_path", Text, "/v1/traces."),
    Key::new(
        "compression_algorithms",
        Many(&Words(ENCODINGS)),
        "Content encodings that are taken; all.",
    ),
    Key::new("response_headers", Headers, "Added to every answer."),
    Key::new(
        "read_header_timeout",
        Duration,
        "Time for a request's headers; 1m.",
    ),
    Key::new(
        "read_timeout",
        Duration,
        "Time for a whole request; no limit.",
    ),
    Key::new("write_timeout", Duration, "Time for an answer; 30s."),
    Key::new(
        "idle_timeout",
        Duration,
        "Time between requests of one connection; 1m.",
    ),
    Key::new(
        "keep_alives_enabled",
        Flag,
        "Connections serve more than one request; true.",
    ),
    Key::new("metrics_url_path", Text, "Path of metrics; /v1/metrics."),
    Key::new("logs_url_path", Text, "Path of logs; /v1/logs."),
    Key::ignored("profiles_url_path"),
    Key::ignored("include_metadata"),
]);

const PROTOCOLS: Shape = Block(&[
    Key::new("grpc", GRPC, "OTLP over gRPC."),
    Key::new("http", HTTP, "OTLP over HTTP."),
]);

const OTLP: Shape = Block(&[
    Key::new(
        "protocols",
        PROTOCOLS,
        "At least one; a key without a value has its defaults.",
    ),
    Key::new(
        "redact",
        REDACT,
        "What is taken out before anything is stored, and before rules see it; nothing.",
    ),
]);

const KAFKA_TOPICS: Shape = Block(&[
    Key::new(
        "topics",
        Many(&Text),
        "The topics; otlp_spans, and of logs otlp_logs. One of traces that begins with ^ is a regular expression.",
    ),
    Key::new("encoding", Words(KAFKA_ENCODINGS), "otlp_proto."),
]);

const AUTOCOMMIT: Shape = Block(&[
    Key::new("enable", Flag, "Always true."),
    Key::new("interval", Duration, "How often offsets are committed; 1s."),
]);

const HEADER_EXTRACTION: Shape = Block(&[
    Key::new("extract_headers", Flag, "Always false."),
    Key::ignored("headers"),
]);

const STRATEGIES: Shape = Many(&Words(&["cooperative-sticky", "range", "roundrobin"]));

const KAFKA: Shape = Block(&[
    BROKERS,
    CLIENT_ID,
    CANONICAL,
    CONN_IDLE,
    KAFKA_METADATA,
    Key::new("tls", TLS_CLIENT, "TLS; without it clear text."),
    KAFKA_AUTH,
    Key::new(
        "traces",
        KAFKA_TOPICS,
        "The topics and what their records are.",
    ),
    Key::new(
        "logs",
        KAFKA_TOPICS,
        "The same for logs, which are read where a pipeline takes them.",
    ),
    Key::new(
        "group_id",
        Text,
        "Members of a group share the partitions; otel-collector.",
    ),
    Key::new(
        "group_instance_id",
        Text,
        "A member that comes back in time under this name keeps its partitions.",
    ),
    Key::new("rack_id", Text, "Read from the nearest replica."),
    Key::new(
        "initial_offset",
        Words(&["latest", "earliest"]),
        "Where a group begins that has committed nothing; latest.",
    ),
    Key::new(
        "session_timeout",
        Duration,
        "A silent member is dead after this time; 10s.",
    ),
    Key::new(
        "heartbeat_interval",
        Duration,
        "How often a member says that it lives; 3s.",
    ),
    Key::new(
        "group_rebalance_strategies",
        STRATEGIES,
        "How partitions are dealt out; cooperative-sticky.",
    ),
    Key::new(
        "group_rebalance_strategy",
        STRATEGIES,
        "The same, with one.",
    ),
    Key::new("min_fetch_size", Whole, "Bytes that a broker waits for; 1."),
    Key::new("max_fetch_wait", Duration, "For at most this long; 250ms."),
    Key::new("max_fetch_size", Whole, "Bytes of one answer; 1048576."),
    Key::new(
        "max_partition_fetch_size",
        Whole,
        "Bytes of one partition in an answer; 1048576.",
    ),
    Key::new("autocommit", AUTOCOMMIT, "When offsets are committed."),
    Key::new(
        "dead_letter_topic",
        Text,
        "Where records go that are no OTLP; without it they are counted and passed over.",
    ),
    Key::new(
        "redact",
        REDACT,
        "What is taken out before anything is stored, and before rules see it; nothing.",
    ),
    Key::new(
        "header_extraction",
        HEADER_EXTRACTION,
        "Taken when it is off.",
    ),
    Key::ignored("protocol_version"),
    Key::ignored("metrics"),
    Key::ignored("profiles"),
    Key::ignored("message_marking"),
    Key::ignored("error_backoff"),
    Key::ignored("partition_processing"),
    Key::ignored("use_leader_epoch"),
    Key::ignored("telemetry"),
]);

pub(crate) const RECEIVERS: Shape = Shape::Components(&[
    Key::new("otlp", OTLP, "OTLP over gRPC and HTTP."),
    Key::new("kafka", KAFKA, "OTLP records of Kafka topics."),
]);
