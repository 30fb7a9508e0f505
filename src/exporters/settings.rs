//! Checked settings of the exporters: what `build` takes.
//!
//! The names are the Collector's keys. The constructors hold the Collector's defaults where a comment does not say
//! otherwise; reading YAML and refusing what we do not have is the config's.

use super::kafka::KafkaExporterSettings;
use super::retry::RetrySettings;
use crate::client_tls::TlsClientSettings;
use crate::redaction::RedactSettings;
use crate::secret::Secret;
use std::path::PathBuf;
use std::time::Duration;

/// One exporter of the config.
#[derive(Debug, Clone, PartialEq)]
pub struct ExporterSettings {
    /// `otlp`, `otlphttp/backup`: as in the config.
    pub id: String,
    /// What it is.
    pub kind: ExporterKind,
    /// `retry_on_failure`.
    pub retry: RetrySettings,
    /// `sending_queue`.
    pub queue: QueueSettings,
    /// Time for one try; zero is no limit. `file` and `debug` do not wait for anybody and have none.
    pub timeout: Duration,
    /// `redact`: nothing unless the file sets it.
    pub redact: RedactSettings,
}

impl ExporterSettings {
    /// `kind` with the Collector's retry, queue and timeout.
    #[must_use]
    pub fn new(id: impl Into<String>, kind: ExporterKind) -> Self {
        // The Collector: 5 s (exporterhelper, kafkaexporter), 30 s (otlphttpexporter), none for what does not wait for a network.
        let timeout = match kind {
            ExporterKind::OtlpGrpc(_) | ExporterKind::Kafka(_) => Duration::from_secs(5),
            ExporterKind::OtlpHttp(_) => Duration::from_secs(30),
            ExporterKind::File(_) | ExporterKind::Debug(_) => Duration::ZERO,
        };
        Self {
            id: id.into(),
            kind,
            retry: RetrySettings::collector(),
            queue: QueueSettings::new(),
            timeout,
            redact: RedactSettings::default(),
        }
    }
}

/// The five exporters.
#[derive(Debug, Clone, PartialEq)]
pub enum ExporterKind {
    /// `otlp`, also spelled `otlp_grpc`.
    OtlpGrpc(OtlpGrpcSettings),
    /// `otlphttp`, also spelled `otlp_http`.
    OtlpHttp(OtlpHttpSettings),
    /// `kafka`.
    Kafka(KafkaExporterSettings),
    /// `file`.
    File(FileSettings),
    /// `debug`.
    Debug(DebugSettings),
}

/// `sending_queue`. The decision log is the queue, so that size and storage have no counterpart here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSettings {
    /// Batches on their way at once.
    pub num_consumers: usize,
    /// A batch leaves when it has this many bytes...
    pub batch_min_bytes: u64,
    /// ...and is never larger than this, unless one span is: a larger trace leaves in several.
    pub batch_max_bytes: u64,
    /// A batch leaves at the latest this long after its first trace.
    pub flush_interval: Duration,
}

impl QueueSettings {
    /// The Collector's ten consumers and 200 ms (`sending_queue.batch.flush_timeout`). Its batches are counted in items;
    /// ours in bytes: 512 KiB is about a thousand spans, and 3 MiB stays below the 4 MiB that gRPC servers take unless
    /// they are told otherwise.
    #[must_use]
    pub fn new() -> Self {
        Self {
            num_consumers: 10,
            batch_min_bytes: 512 << 10,
            batch_max_bytes: 3 << 20,
            flush_interval: Duration::from_millis(200),
        }
    }
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self::new()
    }
}

/// How a payload is compressed on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// As it is: `none` or an empty string.
    None,
    /// RFC 1952; every OTLP server takes it. About 2.2 µs a span.
    Gzip,
    /// RFC 8878; an eighth of gzip's cost.
    Zstd,
}

/// Header names with their values, in order.
pub type Headers = Vec<(String, Secret)>;

/// `keepalive` of a gRPC client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepaliveSettings {
    /// A ping after so long without traffic; at least 10 s, as grpc-go has it.
    pub time: Duration,
    /// The connection is given up when no answer comes for so long.
    pub timeout: Duration,
    /// Pings also when no call is open.
    pub permit_without_stream: bool,
}

/// `otlp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpGrpcSettings {
    /// `host:port`, `http://`, `https://`, `dns:///host:port`, `unix:///path`.
    pub endpoint: String,
    /// TLS is on unless told otherwise here or by `http://`.
    pub tls: TlsClientSettings,
    /// Sent as metadata; a name in `-bin` carries bytes.
    pub headers: Headers,
    /// gzip unless set.
    pub compression: Compression,
    /// Pings.
    pub keepalive: Option<KeepaliveSettings>,
    /// Wait for a connection within the timeout instead of failing the try at once.
    pub wait_for_ready: bool,
    /// `:authority` in place of the endpoint's.
    pub authority: Option<String>,
}

impl OtlpGrpcSettings {
    /// The Collector's defaults for `endpoint`: gzip, no pings.
    #[must_use]
    pub fn new(endpoint: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into(),
            tls: TlsClientSettings::default(),
            headers: Headers::new(),
            compression: Compression::Gzip,
            keepalive: None,
            wait_for_ready: false,
            authority: None,
        }
    }
}

/// `encoding` of `otlphttp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpEncoding {
    /// `application/x-protobuf`.
    Proto,
    /// `application/json`.
    Json,
}

/// Where `otlphttp` posts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpTarget {
    /// `endpoint`: `/v1/traces` or `/v1/logs` is added.
    Base(String),
    /// `traces_endpoint`: taken whole.
    Traces(String),
}

/// `otlphttp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpHttpSettings {
    /// The URL.
    pub target: HttpTarget,
    /// `logs_endpoint`: where log records go, taken whole; without it `v1/logs` below the URL.
    pub logs_endpoint: Option<String>,
    /// `metrics_endpoint`: the same for metrics.
    pub metrics_endpoint: Option<String>,
    /// Protobuf unless set.
    pub encoding: HttpEncoding,
    /// For `https://`.
    pub tls: TlsClientSettings,
    /// Sent with every request.
    pub headers: Headers,
    /// gzip unless set.
    pub compression: Compression,
    /// `compression_params.level`; `None` is the algorithm's own default.
    pub compression_level: Option<i32>,
    /// How long an idle connection is kept.
    pub idle_conn_timeout: Duration,
    /// Idle connections that are kept; 0 keeps none.
    pub max_idle_conns_per_host: usize,
}

impl OtlpHttpSettings {
    /// The Collector's defaults for `target`: protobuf, gzip, idle connections kept for 90 s. It keeps two of them (Go's
    /// default); we keep one for each consumer, since closing and opening costs more than it saves.
    #[must_use]
    pub fn new(target: HttpTarget) -> Self {
        Self {
            target,
            logs_endpoint: None,
            metrics_endpoint: None,
            encoding: HttpEncoding::Proto,
            tls: TlsClientSettings::default(),
            headers: Headers::new(),
            compression: Compression::Gzip,
            compression_level: None,
            idle_conn_timeout: Duration::from_secs(90),
            max_idle_conns_per_host: 10,
        }
    }
}

/// `format` of `file`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// One OTLP JSON object a line.
    Json,
    /// Protobuf, each request behind its length (4 bytes, big endian).
    Proto,
}

/// `rotation` of `file`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotationSettings {
    /// MiB that a file may reach.
    pub max_megabytes: u64,
    /// Days after which a rotated file is removed; `None`: never.
    pub max_days: Option<u32>,
    /// Rotated files that are kept; 0 keeps all.
    pub max_backups: u32,
    /// Stamps in file names are local time, not UTC.
    pub localtime: bool,
}

impl RotationSettings {
    /// The Collector's defaults.
    #[must_use]
    pub fn new() -> Self {
        Self {
            max_megabytes: 100,
            max_days: None,
            max_backups: 100,
            localtime: false,
        }
    }
}

impl Default for RotationSettings {
    fn default() -> Self {
        Self::new()
    }
}

/// `file`. `flush_interval` has no counterpart: every request is with the operating system before it counts as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSettings {
    /// The file.
    pub path: PathBuf,
    /// Goes on where the file ends; `false` empties it at the start, but as in the Collector not beside `rotation`.
    pub append: bool,
    /// JSON unless set.
    pub format: FileFormat,
    /// `compression: zstd`: each request is a frame of its own, so that the file is a plain `.zst`.
    pub zstd: bool,
    /// Size and number of files; `None`: one file that grows.
    pub rotation: Option<RotationSettings>,
    /// Makes the directory with these permissions where it is missing (`create_directory`, `directory_permissions`).
    pub create_directory: Option<u32>,
}

impl FileSettings {
    /// The Collector's defaults for `path`, except that a restart appends: what was delivered before a crash would be
    /// lost otherwise. `append: false` in the user's file empties it, as there.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            append: true,
            format: FileFormat::Json,
            zstd: false,
            rotation: None,
            create_directory: None,
        }
    }
}

/// `verbosity` of `debug`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// One line a batch.
    Basic,
    /// One line a span.
    Normal,
    /// Everything.
    Detailed,
}

/// `output_paths` of `debug`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebugOutput {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// `debug`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebugSettings {
    /// How much is printed.
    pub verbosity: Verbosity,
    /// Batches printed in each second before sampling begins.
    pub sampling_initial: u64,
    /// Then each so-many-th; 1 prints all, 0 none.
    pub sampling_thereafter: u64,
    /// Where to.
    pub output: DebugOutput,
}

impl DebugSettings {
    /// The Collector's defaults.
    #[must_use]
    pub fn new() -> Self {
        Self {
            verbosity: Verbosity::Basic,
            sampling_initial: 2,
            sampling_thereafter: 1,
            output: DebugOutput::Stderr,
        }
    }
}

impl Default for DebugSettings {
    fn default() -> Self {
        Self::new()
    }
}
