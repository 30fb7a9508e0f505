//! Traces over the size of message that a server takes.

use super::grpc::{insecure, transport};
use super::grpc_server::{Answer, GrpcServer, Script};
use crate::clock::SystemClock;
use crate::exporters::deliver::Deliverer;
use crate::exporters::gather::{Known, Load, LoadedTrace};
use crate::exporters::{ExporterKind, ExporterSettings};
use crate::otlp::TraceId;
use crate::sampler::Delivered;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tonic::Status;

/// A trace of `spans` spans of `bytes` bytes in one piece.
fn trace(number: u8, spans: u64, bytes: usize) -> LoadedTrace {
    let span = |id: u64| Span {
        trace_id: vec![number; 16],
        span_id: id.to_be_bytes().to_vec(),
        name: "x".repeat(bytes),
        ..Span::default()
    };
    let scope_spans = vec![ScopeSpans {
        spans: (1..=spans).map(span).collect(),
        ..ScopeSpans::default()
    }];
    let resource_spans = vec![ResourceSpans {
        scope_spans,
        ..ResourceSpans::default()
    }];
    let piece = ExportTraceServiceRequest { resource_spans }
        .encode_to_vec()
        .into();
    LoadedTrace {
        signal: crate::otlp::Signal::Traces,
        twins: false,
        known: Known::default(),
        trace: TraceId(u128::from_be_bytes([number; 16])),
        pieces: vec![(piece, spans as u32)],
    }
}

/// Delivers the traces; what became of them, and spans and bytes of each request that was taken.
async fn check(
    traces: Vec<LoadedTrace>,
    max_bytes: u64,
    answers: Vec<Answer>,
) -> (Delivered, Vec<(usize, usize)>) {
    let script = Script::default();
    answers.into_iter().for_each(|answer| script.then(answer));
    let server = GrpcServer::start(&script);
    let grpc = insecure(&server.address.to_string());
    let mut settings = ExporterSettings::new("otlp", ExporterKind::OtlpGrpc(grpc.clone()));
    settings.queue.batch_max_bytes = max_bytes;
    let clock = Arc::new(SystemClock::new());
    let deliverer = Deliverer::new(
        "otlp",
        transport(grpc),
        &settings,
        Arc::default(),
        clock,
        CancellationToken::new(),
        1,
    );
    let sum = deliverer
        .deliver(&Load {
            traces,
            ..Load::default()
        })
        .await
        .unwrap();
    let requests: Vec<_> = script
        .received()
        .into_iter()
        .map(|(_, request)| request)
        .collect();
    let spans = |request: &ExportTraceServiceRequest| -> Vec<Span> {
        let scopes = request
            .resource_spans
            .iter()
            .flat_map(|resource| &resource.scope_spans);
        scopes.flat_map(|scope| scope.spans.clone()).collect()
    };
    let ids = requests
        .iter()
        .flat_map(spans)
        .map(|span| (span.trace_id, span.span_id));
    assert_eq!(
        ids.collect::<BTreeSet<_>>().len() as u64,
        sum.delivered,
        "every span, once"
    );
    (
        sum,
        requests
            .iter()
            .map(|request| (spans(request).len(), request.encoded_len()))
            .collect(),
    )
}

#[tokio::test]
async fn a_trace_over_the_size_of_a_message_leaves_in_parts() {
    // tonic refuses messages over 4 MiB with OUT_OF_RANGE, which OTLP says to retry.
    let (sum, requests) = check(
        vec![trace(1, 60, 100_000), trace(2, 1, 10)],
        3 << 20,
        Vec::new(),
    )
    .await;
    assert_eq!(
        sum,
        Delivered {
            delivered: 61,
            ..Delivered::default()
        }
    );
    assert_eq!(
        requests.iter().map(|(spans, _)| *spans).collect::<Vec<_>>(),
        [30, 30, 1]
    );
    assert!(requests.iter().all(|(_, bytes)| *bytes < 4 << 20));
}

#[tokio::test]
async fn what_came_twice_leaves_once_also_in_parts() {
    // The second piece is a copy of the first, so each span's twin would leave with the other half.
    let mut twice = trace(1, 40, 100_000);
    twice.pieces.extend(twice.pieces.clone());
    let (sum, requests) = check(vec![twice.clone()], 3 << 20, Vec::new()).await;
    let expected = Delivered {
        delivered: 40,
        duplicate: 40,
        ..Delivered::default()
    };
    assert_eq!(sum, expected);
    let spans = |requests: &[(usize, usize)]| -> Vec<usize> {
        requests.iter().map(|(spans, _)| *spans).collect()
    };
    assert_eq!(spans(&requests), [20, 20]);
    // Cut again by the far side: counted once all the same.
    let refused = || Answer::Refuse(Status::resource_exhausted("too large"));
    let (sum, requests) = check(vec![twice], 3 << 20, vec![refused(), refused()]).await;
    assert_eq!(sum, expected);
    assert_eq!(spans(&requests), [20, 10, 5, 5, 10, 20]);
}

#[tokio::test]
async fn a_large_trace_that_is_refused_is_cut_and_a_small_one_is_not() {
    let refused = || Answer::Refuse(Status::resource_exhausted("too large"));
    let (sum, requests) = check(vec![trace(1, 5, 100_000)], 3 << 20, vec![refused()]).await;
    assert_eq!(
        sum,
        Delivered {
            delivered: 5,
            ..Delivered::default()
        }
    );
    assert_eq!(
        requests.iter().map(|(spans, _)| *spans).collect::<Vec<_>>(),
        [5, 2, 3]
    );
    let script = Script::default();
    script.then(refused());
    let server = GrpcServer::start(&script);
    let grpc = insecure(&server.address.to_string());
    let settings = ExporterSettings::new("otlp", ExporterKind::OtlpGrpc(grpc.clone()));
    let clock = Arc::new(SystemClock::new());
    let deliverer = Deliverer::new(
        "otlp",
        transport(grpc),
        &settings,
        Arc::default(),
        clock,
        CancellationToken::new(),
        1,
    );
    let sum = deliverer
        .deliver(&Load {
            traces: vec![trace(1, 5, 10)],
            ..Load::default()
        })
        .await
        .unwrap();
    assert_eq!(
        sum,
        Delivered {
            rejected: 5,
            ..Delivered::default()
        }
    );
}
