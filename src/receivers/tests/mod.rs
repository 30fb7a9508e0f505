//! The receivers on real sockets, spoken to by real clients, in front of a [`crate::otlp::Submit`] that keeps what it
//! was given.

mod grpc;
mod grpc_client;
mod grpc_hostile;
mod http;
mod http_client;
mod http_hostile;
mod in_process;
mod recorder;
mod tls;
