//! Traces made by rule: every span says by its ids which trace and which part it is, and one trace in ten has failed.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};

/// Traces number `from` to `to`, span number `part` of each, in one request.
pub(crate) fn request(traces: std::ops::Range<u64>, part: u64) -> ExportTraceServiceRequest {
    let spans = traces.map(|trace| span(trace, part)).collect();
    let scope = InstrumentationScope {
        name: "traffic".to_owned(),
        ..Default::default()
    };
    let scope_spans = vec![ScopeSpans {
        scope: Some(scope),
        spans,
        schema_url: String::new(),
    }];
    let attributes = vec![text("service.name", "traffic")];
    let resource = Some(Resource {
        attributes,
        ..Default::default()
    });
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource,
            scope_spans,
            schema_url: String::new(),
        }],
    }
}

/// Parts number 0 to `count` in an order in which a trace that fails has failed from its first span on: whatever a slow
/// machine makes of the time between two requests, it is kept.
pub(crate) fn failing_first(count: u64) -> impl Iterator<Item = u64> + Clone {
    std::iter::once(1).chain((0..count).filter(|part| *part != 1))
}

/// Parts number 0 to `count` of each trace in one request: whatever the machine does, they are decided together.
pub(crate) fn at_once(traces: std::ops::Range<u64>, count: u64) -> ExportTraceServiceRequest {
    let parts = (0..count).flat_map(|part| request(traces.clone(), part).resource_spans);
    ExportTraceServiceRequest {
        resource_spans: parts.collect(),
    }
}

/// Whether a trace of [`request`] fails, and is kept where errors are.
pub(crate) fn fails(trace: u64) -> bool {
    trace.is_multiple_of(10)
}

fn span(trace: u64, part: u64) -> Span {
    let start = 1_700_000_000_000_000_000 + trace * 1_000_000;
    let status = (fails(trace) && part == 1).then(|| Status {
        code: StatusCode::Error.into(),
        ..Default::default()
    });
    let parent = if part == 0 {
        Vec::new()
    } else {
        span_id(trace, 0)
    };
    Span {
        trace_id: [&[7; 8][..], &trace.to_be_bytes()].concat(),
        span_id: span_id(trace, part),
        parent_span_id: parent,
        name: format!("chat {part}"),
        start_time_unix_nano: start,
        end_time_unix_nano: start + 5_000_000,
        attributes: vec![text(
            "gen_ai.input.messages",
            &format!("问题 {trace}: {}", "word ".repeat(20)),
        )],
        status,
        ..Default::default()
    }
}

fn span_id(trace: u64, part: u64) -> Vec<u8> {
    (trace * 1000 + part + 1).to_be_bytes().to_vec()
}

fn text(key: &str, value: &str) -> KeyValue {
    let value = Some(AnyValue {
        value: Some(Value::StringValue(value.to_owned())),
    });
    KeyValue {
        key: key.to_owned(),
        value,
        ..Default::default()
    }
}
