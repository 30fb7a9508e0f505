//! A gRPC status as success, retry or refusal.
//!
//! Source: OTLP specification, "OTLP/gRPC Response": CANCELLED, DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE
//! and DATA_LOSS are retryable, RESOURCE_EXHAUSTED only with a RetryInfo. A status that our own client made up because
//! the connection failed is always retryable, whatever its code: the server has not refused anything.

use super::connection;
use super::transport::{LONGEST_ASKED_DELAY, SendError};
use std::error::Error;
use std::time::Duration;
use tonic::{Code, Status};

const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// `google.rpc.Status`, its details only.
#[derive(Clone, PartialEq, prost::Message)]
struct RpcStatus {
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<RetryDelay>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RetryDelay {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

/// What an answer that is not OK means for the batch.
pub(crate) fn classify(status: &Status) -> SendError {
    // Only statuses made up by the client have a source.
    if let Some(source) = status.source() {
        return SendError::retry(format!("gRPC: {}", connection::phrase(source)));
    }
    let asked = retry_info(status.details());
    let (name, phrase) = describe(status.code());
    let reason = format!("gRPC {name}: {phrase}");
    if retryable(status.code(), asked.is_some()) {
        return SendError::Retry {
            reason,
            after: asked.filter(|delay| !delay.is_zero()),
        };
    }
    match status.code() {
        Code::Unauthenticated | Code::PermissionDenied | Code::Unimplemented | Code::NotFound => {
            SendError::Unusable { reason }
        }
        _ => SendError::Permanent { reason },
    }
}

fn retryable(code: Code, has_retry_info: bool) -> bool {
    match code {
        Code::Cancelled
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unavailable
        | Code::DataLoss => true,
        Code::ResourceExhausted => has_retry_info,
        _ => false,
    }
}

/// The delay of the first RetryInfo in `grpc-status-details-bin`; a missing or negative one is zero.
fn retry_info(details: &[u8]) -> Option<Duration> {
    let status = <RpcStatus as prost::Message>::decode(details).ok()?;
    let any = status
        .details
        .iter()
        .find(|any| any.type_url == RETRY_INFO)?;
    let info = <RetryInfo as prost::Message>::decode(any.value.as_slice()).ok()?;
    let delay = info.retry_delay.unwrap_or_default();
    let seconds = u64::try_from(delay.seconds).unwrap_or(0);
    let nanos = u32::try_from(delay.nanos).unwrap_or(0).min(999_999_999);
    Some(Duration::new(seconds, nanos).min(LONGEST_ASKED_DELAY))
}

fn describe(code: Code) -> (&'static str, &'static str) {
    match code {
        Code::Ok => ("OK", "success without an answer"),
        Code::Cancelled => ("CANCELLED", "the call was cancelled"),
        Code::Unknown => ("UNKNOWN", "the server failed"),
        Code::InvalidArgument => ("INVALID_ARGUMENT", "the server cannot read the request"),
        Code::DeadlineExceeded => ("DEADLINE_EXCEEDED", "the server ran out of time"),
        Code::NotFound => ("NOT_FOUND", "the server does not know the target"),
        Code::AlreadyExists => ("ALREADY_EXISTS", "the server has it already"),
        Code::PermissionDenied => ("PERMISSION_DENIED", "no permission (headers, proxy)"),
        Code::ResourceExhausted => (
            "RESOURCE_EXHAUSTED",
            "the server has no room, or the request is too large",
        ),
        Code::FailedPrecondition => (
            "FAILED_PRECONDITION",
            "the server is in no state to take it",
        ),
        Code::Aborted => ("ABORTED", "the server gave up"),
        Code::OutOfRange => ("OUT_OF_RANGE", "out of range"),
        Code::Unimplemented => (
            "UNIMPLEMENTED",
            "no OTLP trace service at the endpoint, or unknown compression",
        ),
        Code::Internal => ("INTERNAL", "the server failed inside"),
        Code::Unavailable => ("UNAVAILABLE", "the server cannot be reached or is busy"),
        Code::DataLoss => ("DATA_LOSS", "the server lost the request"),
        Code::Unauthenticated => ("UNAUTHENTICATED", "the server wants credentials (headers)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    fn details(seconds: i64, nanos: i32) -> Vec<u8> {
        let info = RetryInfo {
            retry_delay: Some(RetryDelay { seconds, nanos }),
        };
        let other = Any {
            type_url: "type.googleapis.com/google.rpc.DebugInfo".to_owned(),
            value: vec![1, 2, 3],
        };
        let any = Any {
            type_url: RETRY_INFO.to_owned(),
            value: info.encode_to_vec(),
        };
        RpcStatus {
            details: vec![other, any],
        }
        .encode_to_vec()
    }

    #[test]
    fn every_code_with_and_without_retry_info() {
        let check = |code: Code, plain: bool, with_info: bool| {
            let is_retry = |status: &Status| matches!(classify(status), SendError::Retry { .. });
            assert_eq!(is_retry(&Status::new(code, "canary")), plain, "{code:?}");
            let status = Status::with_details(code, "canary", details(3, 0).into());
            assert_eq!(is_retry(&status), with_info, "{code:?} with RetryInfo");
            assert!(!classify(&status).to_string().contains("canary"));
            let unusable = [
                Code::Unauthenticated,
                Code::PermissionDenied,
                Code::Unimplemented,
                Code::NotFound,
            ];
            let is_unusable = matches!(classify(&status), SendError::Unusable { .. });
            assert_eq!(is_unusable, unusable.contains(&code), "{code:?}");
        };
        for code in (0..=16).map(Code::from_i32) {
            match code {
                Code::Cancelled
                | Code::DeadlineExceeded
                | Code::Aborted
                | Code::OutOfRange
                | Code::Unavailable
                | Code::DataLoss => check(code, true, true),
                Code::ResourceExhausted => check(code, false, true),
                _ => check(code, false, false),
            }
        }
    }

    #[test]
    fn reads_the_delay_of_retry_info() {
        let check =
            |details: &[u8], expected: Option<Duration>| assert_eq!(retry_info(details), expected);
        check(&details(3, 500_000_000), Some(Duration::from_millis(3_500)));
        check(&details(0, 0), Some(Duration::ZERO));
        check(&details(-1, -1), Some(Duration::ZERO));
        check(&details(i64::MAX, i32::MAX), Some(LONGEST_ASKED_DELAY));
        check(&RpcStatus { details: vec![] }.encode_to_vec(), None);
        check(b"", None);
        check(b"\xff\xff", None);
        let empty = Any {
            type_url: RETRY_INFO.to_owned(),
            value: vec![],
        };
        check(
            &RpcStatus {
                details: vec![empty],
            }
            .encode_to_vec(),
            Some(Duration::ZERO),
        );
    }

    proptest::proptest! {
        #[test]
        fn any_details_are_read_without_a_panic(details: Vec<u8>, value: Vec<u8>) {
            let _ = retry_info(&details);
            let any = Any { type_url: RETRY_INFO.to_owned(), value };
            let _ = retry_info(&RpcStatus { details: vec![any] }.encode_to_vec());
        }
    }

    #[test]
    fn a_failed_connection_is_worth_another_try_whatever_the_code() {
        let mut status = Status::internal("canary");
        status.set_source(std::sync::Arc::new(std::io::Error::from(
            std::io::ErrorKind::BrokenPipe,
        )));
        assert_eq!(
            classify(&status),
            SendError::retry("gRPC: the connection was closed by the server")
        );
    }
}
