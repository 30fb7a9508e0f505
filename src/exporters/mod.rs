//! The ways out: OTLP over gRPC and HTTP, files, the console; retry policy and counts.
//!
//! A transport sends one batch of spans once. What is sent, in which order and from where after a restart is the
//! cursor's, which reads the decision log. Beside it a relay passes requests on that the log does not take.

mod build;
mod compress;
mod connection;
mod cursor;
mod debug;
mod debug_text;
mod debug_value;
mod deliver;
mod encode;
mod error;
mod file;
mod file_open;
mod file_rotation;
mod file_sink;
mod file_tail;
mod gather;
mod grpc_channel;
mod grpc_guard;
mod grpc_status;
mod grpc_target;
mod halve;
mod http_client;
mod http_status;
mod kafka;
mod notation;
mod otlp_grpc;
mod otlp_http;
mod outbound;
mod raw_codec;
mod relay;
mod response;
mod retry;
mod retry_after;
mod routing;
mod settings;
mod stats;
#[cfg(test)]
mod tests;
mod tls;
mod transport;
mod user_agent;
mod whole_append;

pub use crate::client_tls::{Pem, TlsClientSettings, TlsVersion};
pub use crate::secret::Secret;
pub use build::build;
pub(crate) use cursor::{Cursor, IN_FLIGHT_BYTES};
pub(crate) use deliver::Deliverer;
pub use error::ExporterError;
pub use kafka::{KafkaExporterSettings, TopicSettings};
pub(crate) use notation::{Notation, names_of};
pub(crate) use outbound::Outbound;
pub(crate) use relay::{Outlet, Relay};
pub use retry::{Backoff, RetrySettings};
pub use routing::Route;
pub(crate) use routing::Routing;
pub use settings::{
    Compression, DebugOutput, DebugSettings, ExporterKind, ExporterSettings, FileFormat,
    FileSettings, Headers, HttpEncoding, HttpTarget, KeepaliveSettings, OtlpGrpcSettings,
    OtlpHttpSettings, QueueSettings, RotationSettings, Verbosity,
};
pub use stats::{ExporterCounts, ExporterStats, InFlight, LastError};
pub use transport::{Flushing, LONGEST_ASKED_DELAY, Outgoing, SendError, Sending, Sent, Transport};
