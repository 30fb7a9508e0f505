//! gRPC requests that tonic's client cannot be made to send, over hyper's HTTP/2 client.

use super::grpc::{Running, start};
use super::grpc_client::EXPORT;
use super::recorder::{BUDGET, Recorder, eventually};
use crate::receivers::{OtlpGrpcSettings, RefusalReason, Transport};
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio_util::task::TaskTracker;

/// A body that may never end.
#[derive(Debug)]
struct Script {
    piece: Option<Bytes>,
    stalls: bool,
}

impl Body for Script {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.piece.take() {
            Some(piece) => Poll::Ready(Some(Ok(Frame::data(piece)))),
            None if self.stalls => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}

fn client() -> Client<HttpConnector, Script> {
    Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http()
}

fn request(run: &Running, headers: &[(&str, &str)], body: &[u8], stalls: bool) -> Request<Script> {
    let mut request = Request::post(format!("http://{}{EXPORT}", run.address));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request
        .body(Script {
            piece: Some(Bytes::copy_from_slice(body)),
            stalls,
        })
        .unwrap()
}

/// Headers of the answer, its trailers among them.
async fn headers_of(answer: Response<Incoming>) -> HeaderMap {
    let (head, body) = answer.into_parts();
    let mut headers = head.headers;
    if let Some(trailers) = body.collect().await.unwrap().trailers() {
        headers.extend(trailers.clone());
    }
    headers
}

const GRPC: (&str, &str) = ("content-type", "application/grpc");

#[tokio::test]
#[allow(clippy::too_many_lines, reason = "one story, told in order")]
async fn broken_framing_has_exact_answers() {
    let run = start(Recorder::accepting(), BUDGET, OtlpGrpcSettings::default()).await;
    let client = client();
    type Case = (
        &'static [(&'static str, &'static str)],
        &'static [u8],
        &'static str,
        Option<&'static str>,
    );
    let table: [Case; 10] = [
        (&[GRPC], &[0, 0, 0, 0, 1, 7], "0", None),
        (
            &[("content-type", "application/grpc+proto")],
            &[0, 0, 0, 0, 1, 7],
            "0",
            None,
        ),
        (&[GRPC], &[], "3", Some("cut short")),
        (&[GRPC], &[0, 0, 0], "3", Some("cut short")),
        (&[GRPC], &[0, 0, 0, 0, 9, 7], "3", Some("cut short")),
        (
            &[GRPC],
            &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            "3",
            Some("more than one message"),
        ),
        (
            &[GRPC],
            &[1, 0, 0, 0, 1, 7],
            "3",
            Some("without grpc-encoding"),
        ),
        (
            &[GRPC, ("grpc-encoding", "gzip")],
            &[1, 0, 0, 0, 1, 7],
            "3",
            Some("broken or cut short"),
        ),
        (
            &[GRPC],
            &[0, 255, 255, 255, 255],
            "8",
            Some("request of 4294967295 bytes"),
        ),
        (
            &[GRPC, ("grpc-encoding", "snappy")],
            &[0, 0, 0, 0, 1, 7],
            "12",
            None,
        ),
    ];
    for (headers, body, code, message) in table {
        let answer = client
            .request(request(&run, headers, body, false))
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), 200);
        let got = headers_of(answer).await;
        assert_eq!(got["grpc-status"], code, "{headers:?} {body:?}");
        let text = got
            .get("grpc-message")
            .map_or("", |text| text.to_str().unwrap())
            .replace("%20", " ");
        assert!(message.is_none_or(|part| text.contains(part)), "{text}");
        assert!(
            !got.contains_key("grpc-status-details-bin"),
            "no retry of what stays broken"
        );
        if code == "12" {
            assert_eq!(got["grpc-accept-encoding"], "identity,gzip,zstd");
        }
    }
    for other in [
        &[("content-type", "application/json")][..],
        &[("content-type", "application/grpc-web")],
        &[],
    ] {
        let answer = client
            .request(request(&run, other, b"{}", false))
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), 415, "{other:?}");
    }
    assert_eq!((run.recorder.taken().len(), run.budget.used()), (2, 0));
}

#[tokio::test]
async fn stalled_calls_are_given_up_and_their_bytes_freed() {
    let settings = OtlpGrpcSettings {
        // A hundred senders have connected by then, on any machine.
        body_idle_timeout: Duration::from_secs(4),
        ..OtlpGrpcSettings::default()
    };
    let run = start(Recorder::accepting(), BUDGET, settings).await;
    let calls = TaskTracker::new();
    let stalled: Vec<_> = (0..100)
        .map(|_| {
            let mut body = vec![0, 0, 15, 0, 0];
            body.resize(10_000, 7);
            let call = client().request(request(&run, &[GRPC], &body, true));
            calls.spawn(async move { headers_of(call.await.unwrap()).await })
        })
        .collect();
    let (budget, stats) = (run.budget.clone(), run.stats.clone());
    eventually("they hold the budget", || budget.used() == 1_000_000).await;
    for call in stalled {
        assert_eq!(call.await.unwrap()["grpc-status"], "4");
    }
    assert_eq!(budget.used(), 0);
    assert_eq!(
        stats.of(Transport::Grpc).refused(RefusalReason::Abandoned),
        100
    );
}
