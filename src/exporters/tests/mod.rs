//! The transports against real servers and files, in this process.

mod certificates;
mod debug;
mod file;
mod grpc;
mod grpc_server;
mod grpc_tls;
mod http;
mod http_server;
mod http_tls;
mod large;
mod relay;
mod spans;
