//! Checked settings of the `otlp` receiver.

use std::path::PathBuf;
use std::time::Duration;

use super::TlsVersion;

/// One `otlp` receiver: at least one of the two protocols.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceiverSettings {
    /// `otlp` or `otlp/name`.
    pub id: String,
    /// `protocols.grpc`.
    pub grpc: Option<OtlpGrpcSettings>,
    /// `protocols.http`.
    pub http: Option<OtlpHttpSettings>,
}

/// `tls` of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsServerSettings {
    /// PEM file with the certificate chain.
    pub cert_file: PathBuf,
    /// PEM file with the private key.
    pub key_file: PathBuf,
    /// Clients must show a certificate signed by one of these.
    pub client_ca_file: Option<PathBuf>,
    /// Lowest version taken; 1.2 as in the Collector.
    pub min_version: TlsVersion,
}

/// `keepalive.server_parameters`. What is not set is as in gRPC: no limits, a ping after two hours, 20 s for its answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerKeepalive {
    /// An idle connection is closed after this time.
    pub max_connection_idle: Option<Duration>,
    /// Any connection is closed after this time...
    pub max_connection_age: Option<Duration>,
    /// ...and cut off this long after that.
    pub max_connection_age_grace: Option<Duration>,
    /// A ping after this time without traffic.
    pub time: Option<Duration>,
    /// How long the answer to a ping may take.
    pub timeout: Option<Duration>,
}

/// `protocols.grpc`.
#[derive(Debug, Clone, PartialEq)]
pub struct OtlpGrpcSettings {
    /// `host:port`; the Collector's default `localhost:4317`.
    pub endpoint: String,
    /// None: clear text.
    pub tls: Option<TlsServerSettings>,
    /// Bytes of one message, inflated; 16 MiB (the default of issue 3; the Collector's was 4 MiB).
    pub max_recv_msg_size: u64,
    /// Calls at once on one connection; none: no limit.
    pub max_concurrent_streams: Option<u32>,
    /// Pings and the age of connections.
    pub keepalive: ServerKeepalive,
}

/// `cors` of the HTTP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cors {
    /// Origins, with `*` as a wildcard.
    pub allowed_origins: Vec<String>,
    /// Headers beside the safelisted ones.
    pub allowed_headers: Vec<String>,
    /// Headers that a script may read.
    pub exposed_headers: Vec<String>,
    /// How long a browser may keep the answer to a preflight; none: the browser's own default.
    pub max_age: Option<Duration>,
}

/// `protocols.http`.
#[derive(Debug, Clone, PartialEq)]
pub struct OtlpHttpSettings {
    /// `host:port`; the Collector's default `localhost:4318`.
    pub endpoint: String,
    /// None: clear text.
    pub tls: Option<TlsServerSettings>,
    /// Bytes of one body, inflated; the Collector's default 20 MiB.
    pub max_request_body_size: u64,
    /// None: no CORS headers at all.
    pub cors: Option<Cors>,
    /// The Collector's default `/v1/traces`; begins with `/`.
    pub traces_url_path: String,
    /// Content encodings that are taken, in the Collector's words; empty: all that we have.
    pub compression_algorithms: Vec<String>,
    /// Added to every answer. Values are the user's own.
    pub response_headers: Vec<(String, super::Secret)>,
    /// Time for a request's headers; the Collector's default 1 min.
    pub read_header_timeout: Duration,
    /// Time for a whole request; none: no limit, as in the Collector.
    pub read_timeout: Option<Duration>,
    /// Time for an answer; the Collector's default 30 s.
    pub write_timeout: Duration,
    /// Time between requests of one connection; the Collector's default 1 min.
    pub idle_timeout: Duration,
    /// Connections serve more than one request.
    pub keep_alives_enabled: bool,
}
