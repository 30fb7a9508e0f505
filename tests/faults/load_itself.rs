//! The load generator tried by itself: what it says of its requests is so.

use crate::load::{Evidence, Kind, Requests, Shape};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use std::collections::HashMap;
use std::sync::Arc;

fn all(shape: &Shape, requests: usize) -> (Vec<ExportTraceServiceRequest>, u64, usize) {
    let mut made = Requests::new(Arc::new(shape.clone()), 1_700_000_000_000_000_000);
    let (mut out, mut bytes) = (Vec::new(), 0);
    while let Some(request) = made.next() {
        let decoded = ExportTraceServiceRequest::decode(request.bytes.clone()).unwrap();
        let spans = decoded
            .resource_spans
            .iter()
            .flat_map(|r| &r.scope_spans)
            .map(|s| s.spans.len())
            .sum::<usize>();
        assert_eq!(spans, request.spans as usize);
        bytes += request.bytes.len();
        out.push(decoded);
        if out.len() == requests {
            made.finish();
        }
    }
    (out, made.traces(), bytes)
}

#[test]
fn every_trace_is_whole_and_of_the_promised_size() {
    let shapes = [
        Shape {
            lag: 7,
            ..Shape::default()
        },
        Shape {
            backwards: true,
            per_request: 64,
            lag: 7,
            ..Shape::default()
        },
        Shape {
            parts: 60,
            services: vec!["a".into(), "b".into(), "c".into()],
            lag: 7,
            ..Shape::default()
        },
        Shape {
            per_request: 4096,
            evidence: Evidence::Last,
            kept_permille: 500,
            lag: 7,
            ..Shape::default()
        },
    ];
    for shape in shapes {
        let (requests, traces, bytes) = all(&shape, 30);
        let mut spans: HashMap<Vec<u8>, Vec<Vec<u8>>> = HashMap::new();
        for span in requests
            .iter()
            .flat_map(|r| &r.resource_spans)
            .flat_map(|r| &r.scope_spans)
            .flat_map(|s| &s.spans)
        {
            spans
                .entry(span.trace_id.clone())
                .or_default()
                .push(span.span_id.clone());
        }
        assert_eq!(spans.len() as u64, traces);
        for ids in spans.values_mut() {
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), 60);
        }
        let each = bytes / (traces as usize * 60);
        assert!((400..500).contains(&each), "{each} bytes a span");
        if shape.services.len() == 3 {
            let services = requests[20].resource_spans.len();
            assert_eq!(services, 3);
        }
    }
}

#[test]
fn about_one_in_twenty_is_kept() {
    let shape = Shape::default();
    let kept = (0..100_000).filter(|trace| shape.keeps(*trace)).count();
    assert!((4_500..5_500).contains(&kept), "{kept}");
    let slow = (0..100_000)
        .filter(|trace| shape.kind(*trace) == Kind::Slow)
        .count();
    assert!((450..700).contains(&slow), "{slow}");
}
