//! Puts answers right that tonic would stumble over.
//!
//! tonic 0.14 panics when `grpc-status-details-bin` is not base64; a far side must not be able to make us panic. Without
//! the details the status still counts, only a RetryInfo is missing. And it takes the page of a proxy that answers 503
//! for a broken message (INTERNAL, final); gRPC's "HTTP to gRPC Status Code Mapping" says UNAVAILABLE.

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body::Frame;
use http_body_util::BodyExt;
use http_body_util::combinators::MapFrame;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tonic::body::Body;
use tonic::transport::Channel;
use tonic::{Code, Status};
use tower::Service;

const DETAILS: &str = "grpc-status-details-bin";
const STATUS: &str = "grpc-status";

/// What tonic itself decodes with.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A channel whose answers are safe to read.
#[derive(Debug, Clone)]
pub(crate) struct Guarded(pub(crate) Channel);

type Checked = MapFrame<Body, fn(Frame<Bytes>) -> Frame<Bytes>>;

impl Service<http::Request<Body>> for Guarded {
    type Response = http::Response<Checked>;
    type Error = tonic::transport::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let answer = self.0.call(request);
        Box::pin(async move {
            let mut answer = answer.await?;
            check(answer.headers_mut());
            if answer.status() != StatusCode::OK && !answer.headers().contains_key(STATUS) {
                answer = without_grpc(answer.status());
            }
            Ok(answer.map(|body| body.map_frame(check_frame as fn(Frame<Bytes>) -> Frame<Bytes>)))
        })
    }
}

/// What an answer that is HTTP only means for gRPC.
fn without_grpc(status: StatusCode) -> http::Response<Body> {
    let code = match status.as_u16() {
        400 => Code::Internal,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::Unimplemented,
        429 | 502 | 503 | 504 => Code::Unavailable,
        _ => Code::Unknown,
    };
    Status::new(code, "").into_http()
}

fn check_frame(mut frame: Frame<Bytes>) -> Frame<Bytes> {
    if let Some(trailers) = frame.trailers_mut() {
        check(trailers);
    }
    frame
}

fn check(headers: &mut HeaderMap) {
    let malformed = |value: &http::HeaderValue| BASE64.decode(value.as_bytes()).is_err();
    if headers.get(DETAILS).is_some_and(malformed) {
        headers.remove(DETAILS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_base64_goes() {
        let stays = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(DETAILS, http::HeaderValue::from_static(value));
            check(&mut headers);
            headers.contains_key(DETAILS)
        };
        assert!(stays(""));
        assert!(stays("CAESAA"));
        assert!(stays("CAESAA=="));
        assert!(!stays("not base64!"));
    }
}
