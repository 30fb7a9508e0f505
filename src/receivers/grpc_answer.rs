//! How OTLP/gRPC spells an answer.
//!
//! Source: OTLP specification 1.x, "OTLP/gRPC Response"; gRPC over HTTP/2. A sender retries RESOURCE_EXHAUSTED only
//! with a `RetryInfo`, and UNAVAILABLE always.

use super::fault::Fault;
use super::rpc_status::RpcStatus;
use crate::otlp::{Accepted, Refusal, export_response};
use bytes::{BufMut, Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Response};
use http_body::{Body, Frame};
use prost::Message;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tonic::{Code, Status};

/// How long a sender waits after a disk error; such errors seldom pass sooner.
pub(super) const LOG_RETRY: Duration = Duration::from_secs(5);

/// One message and the trailers, or nothing (an error travels in the headers).
#[derive(Debug, Default)]
pub(super) struct GrpcBody {
    message: Option<Bytes>,
    trailers: Option<HeaderMap>,
}

impl Body for GrpcBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = self.message.take().map(Frame::data);
        Poll::Ready(
            data.or_else(|| self.trailers.take().map(Frame::trailers))
                .map(Ok),
        )
    }

    fn is_end_stream(&self) -> bool {
        self.message.is_none() && self.trailers.is_none()
    }
}

/// The answer to a request that was taken.
pub(super) fn accepted(answer: &Accepted) -> Response<GrpcBody> {
    let message = export_response(answer);
    let mut framed = BytesMut::with_capacity(message.len() + 5);
    framed.put_u8(0);
    framed.put_u32(u32::try_from(message.len()).unwrap_or(0));
    framed.extend_from_slice(&message);
    let trailers = HeaderMap::from_iter([(Status::GRPC_STATUS, HeaderValue::from_static("0"))]);
    let mut response = Response::new(GrpcBody {
        message: Some(framed.freeze()),
        trailers: Some(trailers),
    });
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

/// The status of a request that was not.
pub(super) fn status(fault: &Fault) -> Status {
    match fault {
        Fault::Refused(refusal) => of_refusal(refusal),
        Fault::Stalled => Status::deadline_exceeded("the request body stopped arriving"),
        Fault::Gone => Status::cancelled("the connection broke"),
    }
}

fn of_refusal(refusal: &Refusal) -> Status {
    let message = refusal.to_string();
    match refusal {
        Refusal::Malformed(_) => Status::invalid_argument(message),
        Refusal::TooLarge { .. } => Status::resource_exhausted(message),
        Refusal::Full { retry_after, .. } => {
            with_retry(Code::ResourceExhausted, message, *retry_after)
        }
        Refusal::Stopping => Status::unavailable(message),
        Refusal::Log(_) => with_retry(Code::Unavailable, message, LOG_RETRY),
    }
}

fn with_retry(code: Code, message: String, retry_after: Duration) -> Status {
    let details = RpcStatus::new(code, message.clone(), Some(retry_after)).encode_to_vec();
    Status::with_details(code, message, details.into())
}
