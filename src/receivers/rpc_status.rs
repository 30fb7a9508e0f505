//! `google.rpc.Status` and `RetryInfo`: the details of a gRPC error and the body of an HTTP one.
//!
//! Source: google/rpc/status.proto and error_details.proto; five fields, so they are written here.

use std::time::Duration;

const RETRY_INFO_URL: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RpcStatus {
    /// A gRPC code.
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
    /// For a person; holds no payload.
    #[prost(string, tag = "2")]
    pub(super) message: String,
    /// Typed details.
    #[prost(message, repeated, tag = "3")]
    pub(super) details: Vec<AnyMessage>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AnyMessage {
    #[prost(string, tag = "1")]
    pub(super) type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    pub(super) retry_delay: Option<ProtoDuration>,
}

/// `google.protobuf.Duration`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ProtoDuration {
    #[prost(int64, tag = "1")]
    pub(super) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(super) nanos: i32,
}

impl RpcStatus {
    /// A status; with `retry_after` it carries a `RetryInfo`.
    pub(super) fn new(code: tonic::Code, message: String, retry_after: Option<Duration>) -> Self {
        let details = retry_after.map(|delay| {
            let retry_delay = Some(ProtoDuration {
                seconds: i64::try_from(delay.as_secs()).unwrap_or(i64::MAX),
                nanos: i32::try_from(delay.subsec_nanos()).unwrap_or(0),
            });
            AnyMessage {
                type_url: RETRY_INFO_URL.to_owned(),
                value: prost::Message::encode_to_vec(&RetryInfo { retry_delay }),
            }
        });
        Self {
            code: code as i32,
            message,
            details: details.into_iter().collect(),
        }
    }
}
