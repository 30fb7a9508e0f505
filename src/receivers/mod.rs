//! The ways in: OTLP over gRPC, OTLP over HTTP, OTLP records of Kafka topics, and calls from the same process.
//!
//! A receiver turns a transport into one `Bytes` of protobuf, hands it to [`crate::otlp::Submit`] and spells the answer.
//! It never looks into a span, and knows neither log nor rules.
//!
//! Invariant: every byte of a request that is held here stands in the [`crate::otlp::IntakeBudget`], from the moment it
//! has arrived until `submit` has resolved, inflated copies included. Memory is bounded by bytes, not by requests.

mod activity;
mod body;
mod connections;
mod cors;
mod destination;
mod error;
mod fault;
mod grpc_answer;
mod grpc_frame;
mod http2;
mod http_answer;
mod http_request;
mod in_process;
mod inflate;
mod kafka;
mod listener;
mod offload;
mod otlp_grpc;
mod otlp_http;
mod rpc_status;
mod settings;
mod stats;
mod tls;
mod ways;

pub use destination::Destination;
pub use error::ReceiverError;
pub use in_process::InProcess;
#[cfg(feature = "kafka")]
pub use kafka::KafkaReceiver;
pub use kafka::{InitialOffset, KafkaReceiverSettings, KafkaStats, Strategy, Topics};
pub use listener::bind;
pub use otlp_grpc::OtlpGrpc;
pub use otlp_http::OtlpHttp;
pub use settings::{
    ContentEncoding, CorsSettings, GrpcKeepalive, OtlpGrpcSettings, OtlpHttpSettings, TlsSettings,
    TlsVersion,
};
pub use stats::{ReceiverStats, RefusalReason, Transport, TransportStats};
pub use ways::{Way, Ways};

#[cfg(test)]
mod tests;
