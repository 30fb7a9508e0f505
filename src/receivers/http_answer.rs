//! How OTLP/HTTP spells an answer: the status code, and a body in the request's own encoding.
//!
//! Source: OTLP specification 1.x, "OTLP/HTTP Response". Senders retry 429, 502, 503 and 504 only.

use super::fault::Fault;
use super::grpc_answer::LOG_RETRY;
use super::rpc_status::RpcStatus;
use crate::otlp::{Accepted, Refusal, Telemetry, export_response};
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use prost::Message;
use serde_json::json;
use std::time::Duration;
use tonic::Code;

/// Shortest `Retry-After` that HTTP can say.
const SECOND: Duration = Duration::from_secs(1);

/// How bodies are written, there and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Protobuf,
    Json,
}

impl Encoding {
    const fn content_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/x-protobuf",
            Self::Json => "application/json",
        }
    }
}

pub(super) type Answer = Response<Full<Bytes>>;

/// The answer to a request that was taken.
pub(super) fn accepted(telemetry: Telemetry, encoding: Encoding, answer: &Accepted) -> Answer {
    let body = match encoding {
        Encoding::Protobuf => export_response(answer),
        Encoding::Json if answer.rejected == 0 && answer.reason.is_empty() => {
            Bytes::from_static(br#"{"partialSuccess":{}}"#)
        }
        Encoding::Json => {
            let rejected = match telemetry {
                Telemetry::Traces => "rejectedSpans",
                Telemetry::Logs => "rejectedLogRecords",
                Telemetry::Metrics => "rejectedDataPoints",
            };
            let partial =
                json!({rejected: answer.rejected.to_string(), "errorMessage": answer.reason});
            json!({"partialSuccess": partial}).to_string().into()
        }
    };
    with_body(StatusCode::OK, encoding.content_type(), body)
}

/// The answer to a request that was not.
pub(super) fn refused(encoding: Encoding, fault: &Fault) -> Answer {
    let (status, code, retry_after) = spelled(fault);
    let message = match fault {
        Fault::Refused(refusal) => refusal.to_string(),
        Fault::Stalled => "the request body stopped arriving".to_owned(),
        Fault::Gone => "the connection broke".to_owned(),
    };
    let body = match encoding {
        Encoding::Protobuf => RpcStatus::new(code, message, retry_after)
            .encode_to_vec()
            .into(),
        Encoding::Json => json!({"code": code as i32, "message": message})
            .to_string()
            .into(),
    };
    let mut answer = with_body(status, encoding.content_type(), body);
    if let Some(delay) = retry_after {
        answer
            .headers_mut()
            .insert(RETRY_AFTER, whole_seconds(delay).into());
    }
    answer
}

fn spelled(fault: &Fault) -> (StatusCode, Code, Option<Duration>) {
    use StatusCode as S;
    match fault {
        Fault::Refused(Refusal::Malformed(_)) => (S::BAD_REQUEST, Code::InvalidArgument, None),
        Fault::Refused(Refusal::TooLarge { .. }) => {
            (S::PAYLOAD_TOO_LARGE, Code::ResourceExhausted, None)
        }
        Fault::Refused(Refusal::Full { retry_after, .. }) => (
            S::TOO_MANY_REQUESTS,
            Code::ResourceExhausted,
            Some(*retry_after),
        ),
        Fault::Refused(Refusal::Stopping) => {
            (S::SERVICE_UNAVAILABLE, Code::Unavailable, Some(SECOND))
        }
        Fault::Refused(Refusal::Log(_)) => {
            (S::SERVICE_UNAVAILABLE, Code::Unavailable, Some(LOG_RETRY))
        }
        // 408 would be the word of HTTP, but OTLP senders throw the data away on it.
        Fault::Stalled | Fault::Gone => {
            (S::SERVICE_UNAVAILABLE, Code::DeadlineExceeded, Some(SECOND))
        }
    }
}

/// Rounded up, at least one.
fn whole_seconds(delay: Duration) -> u64 {
    delay
        .as_secs()
        .saturating_add(u64::from(delay.subsec_nanos() > 0))
        .max(1)
}

/// Not an OTLP traces request, so that there is no encoding to answer in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotTraces {
    Path,
    Method,
    ContentType,
    ContentEncoding,
    /// Metrics are passed on as they come, in protobuf.
    JsonMetrics,
}

pub(super) fn not_traces(what: NotTraces) -> Answer {
    let (status, text) = match what {
        NotTraces::Path => (StatusCode::NOT_FOUND, "404 page not found"),
        NotTraces::Method => (
            StatusCode::METHOD_NOT_ALLOWED,
            "405 method not allowed, supported: [POST]",
        ),
        NotTraces::ContentType => (
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "415 unsupported media type, supported: [application/json, application/x-protobuf]",
        ),
        NotTraces::JsonMetrics => (
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "415 unsupported media type, supported for metrics: [application/x-protobuf]",
        ),
        NotTraces::ContentEncoding => (
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "415 unsupported content encoding",
        ),
    };
    let mut answer = with_body(status, "text/plain", Bytes::from_static(text.as_bytes()));
    match what {
        NotTraces::Method => drop(
            answer
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("POST")),
        ),
        NotTraces::ContentEncoding => {
            drop(answer.headers_mut().insert(
                ACCEPT_ENCODING,
                HeaderValue::from_static("gzip, zstd, deflate"),
            ));
        }
        NotTraces::Path | NotTraces::ContentType | NotTraces::JsonMetrics => {}
    }
    answer
}

fn with_body(status: StatusCode, content_type: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_whole_seconds_and_never_zero() {
        for (millis, seconds) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (5000, 5)] {
            assert_eq!(whole_seconds(Duration::from_millis(millis)), seconds);
        }
        assert_eq!(whole_seconds(Duration::MAX), u64::MAX);
    }
}
