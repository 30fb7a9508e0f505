//! Settings of the receivers: checked values, one struct for each protocol. Reading YAML is left to `config`.
//!
//! Defaults are the Collector's (otlp receiver, configgrpc and confighttp of v0.161) unless a line says otherwise.

use http::HeaderMap;
use std::path::PathBuf;
use std::time::Duration;

const MIB: u64 = 1024 * 1024;

/// Lowest TLS version that is spoken. rustls has no TLS 1.0 and 1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsVersion {
    /// TLS 1.2 and 1.3; the Collector's default.
    #[default]
    V1_2,
    /// TLS 1.3 only.
    V1_3,
}

/// `tls:` of a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// PEM with the certificate chain, leaf first.
    pub cert_file: PathBuf,
    /// PEM with the key.
    pub key_file: PathBuf,
    /// PEM with the CAs that sign client certificates; set: every client must show one.
    pub client_ca_file: Option<PathBuf>,
    /// `min_version`.
    pub min_version: TlsVersion,
}

/// `keepalive:` of the gRPC receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrpcKeepalive {
    /// A connection without a call for this long (up to twice as long) is closed. `None`: never.
    pub max_connection_idle: Option<Duration>,
    /// A connection of this age is closed; calls in flight are finished. `None`: never.
    pub max_connection_age: Option<Duration>,
    /// How long those calls may take. `None`: as long as they need.
    pub max_connection_age_grace: Option<Duration>,
    /// A silent connection is pinged after this long; zero: never. 30 s where grpc-go has 2 h: what a dead sender holds of the
    /// intake budget is freed within a minute.
    pub time: Duration,
    /// How long the ping may stay unanswered. 10 s where grpc-go has 20 s, for the same reason.
    pub timeout: Duration,
}

impl Default for GrpcKeepalive {
    fn default() -> Self {
        Self {
            max_connection_idle: None,
            max_connection_age: None,
            max_connection_age_grace: None,
            time: Duration::from_secs(30),
            timeout: Duration::from_secs(10),
        }
    }
}

/// `protocols.grpc` of the otlp receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpGrpcSettings {
    /// `host:port`.
    pub endpoint: String,
    /// Plain text without it.
    pub tls: Option<TlsSettings>,
    /// Bytes of one message, inflated. 16 MiB: what `max_recv_msg_size_mib` documents for LLM payloads here; grpc-go
    /// has 4.
    pub max_recv_msg_size: u64,
    /// HTTP/2 streams of one connection, 0 for any number. 256: SDKs use a handful, a gateway some dozen; memory is bounded by bytes.
    pub max_concurrent_streams: u32,
    /// Ages and pings.
    pub keepalive: GrpcKeepalive,
    /// `read_buffer_size`, in bytes: the Collector's 512 KiB. Taken for compatibility; HTTP/2 windows do its work.
    pub read_buffer_size: u64,
    /// `write_buffer_size`, in bytes. Taken for compatibility; answers are a few bytes long.
    pub write_buffer_size: u64,
    /// A request whose body is silent for this long is given up. Not in the Collector: 30 s, as the keepalive, so that
    /// a stalled sender does not hold its share of the budget.
    pub body_idle_timeout: Duration,
    /// How long requests in flight may take once the receiver stops. 10 s: most senders' own export timeout.
    pub drain_timeout: Duration,
}

impl Default for OtlpGrpcSettings {
    fn default() -> Self {
        Self {
            endpoint: "localhost:4317".to_owned(),
            tls: None,
            max_recv_msg_size: 16 * MIB,
            max_concurrent_streams: 256,
            keepalive: GrpcKeepalive::default(),
            read_buffer_size: 512 * 1024,
            write_buffer_size: 0,
            body_idle_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(10),
        }
    }
}

/// A `Content-Encoding` that the HTTP receiver may take; the entries of `compression_algorithms`. The Collector also
/// has snappy and lz4, which no OTLP exporter sends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentEncoding {
    /// None, or `identity`.
    Identity,
    /// `gzip`.
    Gzip,
    /// `zstd`.
    Zstd,
    /// `zlib`.
    Zlib,
    /// `deflate`: the same bytes as zlib.
    Deflate,
}

impl ContentEncoding {
    /// All that are supported, and the default.
    pub const ALL: [Self; 5] = [
        Self::Identity,
        Self::Gzip,
        Self::Zstd,
        Self::Zlib,
        Self::Deflate,
    ];
}

/// `cors:` of the HTTP receiver.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CorsSettings {
    /// Origins that may send, `*` standing for any run of characters in each.
    pub allowed_origins: Vec<String>,
    /// Headers that they may set beside `Accept`, `Content-Type` and `X-Requested-With`; `*` allows any.
    pub allowed_headers: Vec<String>,
    /// Headers of the answer that a script may read.
    pub exposed_headers: Vec<String>,
    /// Seconds for which a browser may remember the answer. `None`: not said, browsers take five.
    pub max_age: Option<u64>,
}

/// `protocols.http` of the otlp receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpHttpSettings {
    /// `host:port`.
    pub endpoint: String,
    /// Plain text without it.
    pub tls: Option<TlsSettings>,
    /// Bytes of one body, as it comes and inflated: 20 MiB.
    pub max_request_body_size: u64,
    /// Browsers are not answered without it.
    pub cors: Option<CorsSettings>,
    /// Where traces are posted.
    pub traces_url_path: String,
    /// Where logs are posted.
    pub logs_url_path: String,
    /// Where metrics are posted.
    pub metrics_url_path: String,
    /// Taken for compatibility: nothing behind the receiver reads client metadata.
    pub include_metadata: bool,
    /// Encodings that are taken.
    pub compression_algorithms: Vec<ContentEncoding>,
    /// Added to every answer; mark secret values as sensitive, so that they are not printed.
    pub response_headers: HeaderMap,
    /// How long a whole request may take to arrive. `None`, as in the Collector: as long as it goes on arriving.
    pub read_timeout: Option<Duration>,
    /// How long the headers of a request may take: 1 min. Zero: any time.
    pub read_header_timeout: Duration,
    /// A connection without a request for this long (up to twice as long) is closed: 1 min. Zero:
    /// never.
    pub idle_timeout: Duration,
    /// Taken for compatibility: answers are a few bytes long. 30 s.
    pub write_timeout: Duration,
    /// `keep_alives_enabled`.
    pub keep_alives_enabled: bool,
    /// A request whose body is silent for this long is given up. Not in the Collector, which waits for ever unless
    /// `read_timeout` is set: 30 s.
    pub body_idle_timeout: Duration,
    /// How long requests in flight may take once the receiver stops. 10 s: most senders' own export timeout.
    pub drain_timeout: Duration,
}

impl Default for OtlpHttpSettings {
    fn default() -> Self {
        Self {
            endpoint: "localhost:4318".to_owned(),
            tls: None,
            max_request_body_size: 20 * MIB,
            cors: None,
            traces_url_path: "/v1/traces".to_owned(),
            logs_url_path: "/v1/logs".to_owned(),
            metrics_url_path: "/v1/metrics".to_owned(),
            include_metadata: false,
            compression_algorithms: ContentEncoding::ALL.to_vec(),
            response_headers: HeaderMap::new(),
            read_timeout: None,
            read_header_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(30),
            keep_alives_enabled: true,
            body_idle_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(10),
        }
    }
}
