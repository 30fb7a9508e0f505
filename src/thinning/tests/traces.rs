//! Traces for these tests, and what is left of them.

use crate::otlp::oracle::backwards::{Kind, backwards};
use crate::thinning::{SpanPattern, Thin, Thinner, ThinningRule};
use bytes::Bytes;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, TracesData};
use prost::Message;

/// Number 0 is no span: the parent of a root.
pub(super) fn id(number: u8) -> Vec<u8> {
    if number == 0 {
        Vec::new()
    } else {
        vec![number; 8]
    }
}

pub(super) fn span(number: u8, parent: u8, name: &str) -> Span {
    Span {
        trace_id: vec![7; 16],
        span_id: id(number),
        parent_span_id: id(parent),
        name: name.into(),
        start_time_unix_nano: u64::from(number) * 100,
        end_time_unix_nano: u64::from(number) * 110,
        ..Default::default()
    }
}

pub(super) fn failed(span: Span) -> Span {
    Span {
        status: Some(Status {
            code: 2,
            ..Default::default()
        }),
        ..span
    }
}

pub(super) fn piece(spans: &[Span]) -> TracesData {
    let scope_spans = vec![ScopeSpans {
        spans: spans.to_vec(),
        schema_url: "s".into(),
        ..Default::default()
    }];
    TracesData {
        resource_spans: vec![ResourceSpans {
            scope_spans,
            ..Default::default()
        }],
    }
}

pub(super) fn rule(spans: &str, thin: Thin) -> ThinningRule {
    ThinningRule {
        spans: SpanPattern::parse(spans).unwrap(),
        thin,
        unless_kept_by: Vec::new(),
    }
}

/// What is left of the pieces, and how many spans were left out; the same in both orders of fields.
pub(super) fn thinned(
    rules: &[ThinningRule],
    pieces: &[TracesData],
    policy: Option<&str>,
) -> (Vec<Span>, u64) {
    let thinner = Thinner::new(rules.to_vec());
    let apply = |pieces: Vec<Bytes>| {
        let thinned = thinner.apply(&pieces, policy).unwrap();
        let spans = thinned.iter().flat_map(|piece| {
            let data = TracesData::decode(piece.bytes.clone()).unwrap();
            let scopes = data.resource_spans.into_iter().flat_map(|r| r.scope_spans);
            scopes.flat_map(|scope| scope.spans).collect::<Vec<_>>()
        });
        let out = thinned.iter().map(|piece| u64::from(piece.left_out)).sum();
        (spans.collect::<Vec<_>>(), out)
    };
    let forward: Vec<Bytes> = pieces
        .iter()
        .map(|piece| piece.encode_to_vec().into())
        .collect();
    let backward = forward
        .iter()
        .map(|piece| backwards(Kind::Request, piece).into());
    let found = apply(forward.clone());
    assert_eq!(apply(backward.collect()), found);
    assert_eq!(apply(forward), found, "twice the same");
    found
}

/// The number of a span by its id, and an int that thinning has written on it.
pub(super) fn number(span: &Span) -> u8 {
    span.span_id[0]
}

pub(super) fn note(span: &Span, key: &str) -> Option<i64> {
    let pair = span.attributes.iter().find(|pair| pair.key == key)?;
    match pair.value.as_ref()?.value.as_ref()? {
        Value::IntValue(value) => Some(*value),
        _ => None,
    }
}
