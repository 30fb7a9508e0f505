//! Requests to send, with text that must not turn up anywhere else.

use crate::exporters::Outgoing;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{
    ResourceSpans, ScopeSpans, Span, Status, span, status,
};
use prost::Message;

/// In every payload and in every server's error message.
pub(super) const CANARY: &str = "canary-prompt-7f3a";

pub(super) fn string(key: &str, value: &str) -> KeyValue {
    let value = Some(AnyValue {
        value: Some(any_value::Value::StringValue(value.to_owned())),
    });
    KeyValue {
        key: key.to_owned(),
        value,
        ..Default::default()
    }
}

pub(super) fn request(spans: u8) -> ExportTraceServiceRequest {
    let spans = (1..=spans).map(|n| Span {
        trace_id: vec![n; 16],
        span_id: vec![n; 8],
        name: "chat".to_owned(),
        kind: span::SpanKind::Server as i32,
        start_time_unix_nano: 1_700_000_000_000_000_000,
        end_time_unix_nano: 1_700_000_001_500_000_000 + u64::from(n),
        attributes: vec![string("gen_ai.prompt", CANARY)],
        status: Some(Status {
            message: String::new(),
            code: status::StatusCode::Error as i32,
        }),
        events: vec![span::Event {
            time_unix_nano: 1_700_000_000_000_000_001,
            name: "exception".to_owned(),
            attributes: vec![string("exception.message", "no")],
            dropped_attributes_count: 0,
        }],
        ..Default::default()
    });
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: vec![string("service.name", "gateway")],
                ..Default::default()
            }),
            scope_spans: vec![ScopeSpans {
                scope: Some(InstrumentationScope {
                    name: "llm".to_owned(),
                    version: "1.2".to_owned(),
                    ..Default::default()
                }),
                spans: spans.collect(),
                schema_url: String::new(),
            }],
            schema_url: "https://opentelemetry.io/schemas/1.30.0".to_owned(),
        }],
    }
}

pub(super) fn outgoing(spans: u8) -> Outgoing {
    let spans_u64 = u64::from(spans);
    Outgoing {
        telemetry: crate::otlp::Telemetry::Traces,
        request: request(spans).encode_to_vec().into(),
        spans: spans_u64,
        traces: spans_u64,
    }
}

/// An error text shows neither payload nor header values nor what a server wrote.
pub(super) fn assert_discreet(text: &impl std::fmt::Debug) {
    let text = format!("{text:?}");
    assert!(!text.contains("canary"), "{text}");
}
