//! Keys of the exporters.

use super::Key;
use super::Shape::{self, Block, Duration, Flag, Headers, Many, Text, Whole, Words};
use super::delivery::{PARAMETERS, QUEUE, RETRY, TLS_CLIENT};
use super::kafka::{
    BROKERS, CANONICAL, CLIENT_ID, CONN_IDLE, KAFKA_AUTH, KAFKA_ENCODINGS, KAFKA_METADATA,
    KAFKA_PRODUCER,
};
use super::redact::REDACT;

const COMPRESSIONS: &[&str] = &["gzip", "zstd", "none", ""];
const ABOUT_RETRY: &str = "When a batch that failed is tried again.";
const ABOUT_QUEUE: &str = "The decision log is the queue; this is how it is emptied.";

const ABOUT_REDACT: &str = "What is taken out before anything leaves by this exporter; nothing.";

const KEEPALIVE: Shape = Block(&[
    Key::new(
        "time",
        Duration,
        "A ping after this time without traffic; 10s.",
    ),
    Key::new("timeout", Duration, "Time for its answer; 10s."),
    Key::new("permit_without_stream", Flag, "Pings also without a call."),
]);

const OTLP_GRPC: Shape = Block(&[
    Key::new("endpoint", Text, "host:port of an OTLP gRPC server."),
    Key::new(
        "tls",
        TLS_CLIENT,
        "On unless `insecure` or http:// says otherwise.",
    ),
    Key::new("headers", Headers, "Sent with every request."),
    Key::new("compression", Words(COMPRESSIONS), "gzip."),
    Key::new("keepalive", KEEPALIVE, "Pings."),
    Key::new(
        "wait_for_ready",
        Flag,
        "Wait for a connection within the timeout.",
    ),
    Key::new("authority", Text, ":authority in place of the endpoint's."),
    Key::new(
        "balancer_name",
        Words(&["round_robin", "pick_first", ""]),
        "How addresses are used.",
    ),
    Key::new("timeout", Duration, "Time for one try; 5s."),
    Key::new("retry_on_failure", RETRY, ABOUT_RETRY),
    Key::new("sending_queue", QUEUE, ABOUT_QUEUE),
    Key::new("redact", REDACT, ABOUT_REDACT),
    Key::ignored("read_buffer_size"),
    Key::ignored("write_buffer_size"),
]);

const OTLP_HTTP: Shape = Block(&[
    Key::new("endpoint", Text, "URL; /v1/traces is added."),
    Key::new("traces_endpoint", Text, "URL, taken whole."),
    Key::new("tls", TLS_CLIENT, "For https://."),
    Key::new("headers", Headers, "Sent with every request."),
    Key::new("encoding", Words(&["proto", "json"]), "proto."),
    Key::new("compression", Words(COMPRESSIONS), "gzip."),
    Key::new("compression_params", PARAMETERS, "Of the compression."),
    Key::new(
        "idle_conn_timeout",
        Duration,
        "An idle connection is closed after this time; 90s.",
    ),
    Key::new(
        "max_idle_conns_per_host",
        Whole,
        "Idle connections that are kept; 10.",
    ),
    Key::new(
        "disable_keep_alives",
        Flag,
        "A connection for every request.",
    ),
    Key::new("timeout", Duration, "Time for one try; 30s."),
    Key::new("retry_on_failure", RETRY, ABOUT_RETRY),
    Key::new("sending_queue", QUEUE, ABOUT_QUEUE),
    Key::new("redact", REDACT, ABOUT_REDACT),
    Key::new(
        "metrics_endpoint",
        Text,
        "The whole URL for metrics; v1/metrics below the endpoint.",
    ),
    Key::new(
        "logs_endpoint",
        Text,
        "The whole URL for logs; v1/logs below the endpoint.",
    ),
    Key::ignored("profiles_endpoint"),
    Key::ignored("max_idle_conns"),
    Key::ignored("max_conns_per_host"),
    Key::ignored("read_buffer_size"),
    Key::ignored("write_buffer_size"),
    Key::ignored("force_attempt_http2"),
    Key::ignored("http2_read_idle_timeout"),
    Key::ignored("http2_ping_timeout"),
]);

const KAFKA_TOPIC: Shape = Block(&[
    Key::new(
        "topic",
        Text,
        "The topic; otlp_spans, and of logs otlp_logs.",
    ),
    Key::new("encoding", Words(KAFKA_ENCODINGS), "otlp_proto."),
]);

const STICKY_KEY: Shape = Block(&[Key::new(
    "hasher",
    Words(&["sarama_compat", "murmur2"]),
    "sarama_compat: as the Collector and Sarama; murmur2: as Java's clients.",
)]);

const PARTITIONER: Shape = Block(&[Key::new(
    "sticky_key",
    STICKY_KEY,
    "A key belongs to one partition.",
)]);

const KAFKA: Shape = Block(&[
    BROKERS,
    CLIENT_ID,
    CANONICAL,
    CONN_IDLE,
    KAFKA_METADATA,
    Key::new("tls", TLS_CLIENT, "TLS; without it clear text."),
    KAFKA_AUTH,
    Key::new("traces", KAFKA_TOPIC, "The topic and what its records are."),
    Key::new("logs", KAFKA_TOPIC, "The same for logs."),
    Key::new(
        "partition_traces_by_id",
        Flag,
        "A record for each trace, its id as the key; otherwise one for each batch.",
    ),
    Key::new(
        "partition_logs_by_trace_id",
        Flag,
        "The same for log records.",
    ),
    Key::new(
        "record_partitioner",
        PARTITIONER,
        "Which partition a key belongs to.",
    ),
    Key::new(
        "producer",
        KAFKA_PRODUCER,
        "Sizes, acknowledgement, compression.",
    ),
    Key::new("timeout", Duration, "Time for one record to arrive; 5s."),
    Key::new("retry_on_failure", RETRY, ABOUT_RETRY),
    Key::new("sending_queue", QUEUE, ABOUT_QUEUE),
    Key::new("redact", REDACT, ABOUT_REDACT),
    Key::ignored("protocol_version"),
    Key::ignored("metrics"),
    Key::ignored("profiles"),
    Key::ignored("include_metadata_keys"),
    Key::ignored("partition_metrics_by_resource_attributes"),
    Key::ignored("partition_logs_by_resource_attributes"),
]);

const ROTATION: Shape = Block(&[
    Key::new("max_megabytes", Whole, "MiB of a file; 100."),
    Key::new(
        "max_days",
        Whole,
        "Days after which a rotated file goes; never.",
    ),
    Key::new("max_backups", Whole, "Rotated files that are kept; 100."),
    Key::new("localtime", Flag, "Local time in file names."),
]);

const GROUPS: Shape = Block(&[
    Key::ignored("enabled"),
    Key::ignored("resource_attribute"),
    Key::ignored("max_open_files"),
]);

const FILE: Shape = Block(&[
    Key::new("path", Text, "The file."),
    Key::new("append", Flag, "Go on where the file ends; true."),
    Key::new(
        "format",
        Words(&["json", "proto"]),
        "json: one request a line.",
    ),
    Key::new("compression", Words(&["zstd", ""]), "none."),
    Key::new(
        "rotation",
        ROTATION,
        "Size and number of files; without it one file that grows.",
    ),
    Key::new(
        "create_directory",
        Flag,
        "Make the directory where it is missing.",
    ),
    Key::new("directory_permissions", Text, "In octal digits; \"0755\"."),
    Key::new("retry_on_failure", RETRY, ABOUT_RETRY),
    Key::new("sending_queue", QUEUE, ABOUT_QUEUE),
    Key::new("redact", REDACT, ABOUT_REDACT),
    Key::new("group_by", GROUPS, "Taken when it is off."),
    Key::ignored("flush_interval"),
]);

const DEBUG: Shape = Block(&[
    Key::new(
        "verbosity",
        Words(&["basic", "normal", "detailed"]),
        "basic.",
    ),
    Key::new(
        "sampling_initial",
        Whole,
        "Batches printed in each second; 2.",
    ),
    Key::new("sampling_thereafter", Whole, "Then each so-many-th; 1."),
    Key::new(
        "output_paths",
        Many(&Words(&["stdout", "stderr"])),
        "One of the two; stderr.",
    ),
    Key::new("retry_on_failure", RETRY, ABOUT_RETRY),
    Key::new("sending_queue", QUEUE, ABOUT_QUEUE),
    Key::new("redact", REDACT, ABOUT_REDACT),
    Key::ignored("use_internal_logger"),
]);

pub(crate) const EXPORTERS: Shape = Shape::Components(&[
    Key::new("otlp", OTLP_GRPC, "OTLP over gRPC."),
    Key::new("otlp_grpc", OTLP_GRPC, "OTLP over gRPC."),
    Key::new("otlphttp", OTLP_HTTP, "OTLP over HTTP."),
    Key::new("otlp_http", OTLP_HTTP, "OTLP over HTTP."),
    Key::new("kafka", KAFKA, "OTLP records of a Kafka topic."),
    Key::new("file", FILE, "OTLP JSON lines in a file."),
    Key::new("debug", DEBUG, "Prints what is exported."),
]);
