//! Generated requests, `opentelemetry-proto` being the oracle for both directions.

use crate::otlp::json::{from_json, to_json};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use prost::Message;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z.]{0,8}",
        any::<String>(),
        Just("请忽略 🚀 \"\\\n\u{1}".to_owned())
    ]
}

/// The oracle cannot read a pair without a key or a list without values, which is how empty ones are printed.
fn key() -> impl Strategy<Value = String> {
    text().prop_map(|key| if key.is_empty() { "k".to_owned() } else { key })
}

fn value() -> impl Strategy<Value = AnyValue> {
    let leaf = prop_oneof![
        text().prop_map(Value::StringValue),
        any::<bool>().prop_map(Value::BoolValue),
        any::<i64>().prop_map(Value::IntValue),
        any::<f64>()
            .prop_filter("JSON numbers are finite", |n| n.is_finite())
            .prop_map(Value::DoubleValue),
        vec(any::<u8>(), 0..20).prop_map(Value::BytesValue),
    ];
    let tree = leaf.prop_recursive(4, 12, 3, |inner| {
        let any_value = option::weighted(0.9, inner).prop_map(|value| AnyValue { value });
        let pair = (key(), any_value.clone()).prop_map(|(key, value)| KeyValue {
            key,
            value: Some(value),
            ..KeyValue::default()
        });
        prop_oneof![
            vec(any_value, 1..3).prop_map(|values| Value::ArrayValue(ArrayValue { values })),
            vec(pair, 1..3).prop_map(|values| Value::KvlistValue(KeyValueList { values })),
        ]
    });
    tree.prop_map(|value| AnyValue { value: Some(value) })
}

fn attributes() -> impl Strategy<Value = Vec<KeyValue>> {
    let pair = (key(), value()).prop_map(|(key, value)| KeyValue {
        key,
        value: Some(value),
        ..KeyValue::default()
    });
    vec(pair, 0..4)
}

fn id() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 16),
        vec(any::<u8>(), 8),
        vec(any::<u8>(), 0..3)
    ]
}

fn event() -> impl Strategy<Value = Event> {
    (any::<u64>(), text(), attributes(), any::<u32>()).prop_map(
        |(time_unix_nano, name, attributes, dropped_attributes_count)| Event {
            time_unix_nano,
            name,
            attributes,
            dropped_attributes_count,
        },
    )
}

fn link() -> impl Strategy<Value = Link> {
    (id(), id(), text(), attributes(), any::<u32>(), any::<u32>()).prop_map(
        |(trace_id, span_id, trace_state, attributes, dropped_attributes_count, flags)| Link {
            trace_id,
            span_id,
            trace_state,
            attributes,
            dropped_attributes_count,
            flags,
        },
    )
}

fn span() -> impl Strategy<Value = Span> {
    let ids = (id(), id(), text(), id(), any::<u32>());
    let what = (text(), 0..6_i32, any::<u64>(), any::<u64>());
    let status =
        option::of((text(), 0..3_i32).prop_map(|(message, code)| Status { message, code }));
    let counts = (any::<u32>(), 0..3_u32, any::<u32>());
    (
        ids,
        what,
        attributes(),
        vec(event(), 0..3),
        vec(link(), 0..3),
        status,
        counts,
    )
        .prop_map(
            |(
                (trace_id, span_id, trace_state, parent_span_id, flags),
                what,
                attributes,
                events,
                links,
                status,
                counts,
            )| {
                let (name, kind, start_time_unix_nano, end_time_unix_nano) = what;
                let (dropped_attributes_count, dropped_events_count, dropped_links_count) = counts;
                Span {
                    trace_id,
                    span_id,
                    trace_state,
                    parent_span_id,
                    flags,
                    name,
                    kind,
                    start_time_unix_nano,
                    end_time_unix_nano,
                    attributes,
                    dropped_attributes_count,
                    events,
                    dropped_events_count,
                    links,
                    dropped_links_count,
                    status,
                }
            },
        )
}

fn request() -> impl Strategy<Value = ExportTraceServiceRequest> {
    let scope = (text(), text(), attributes()).prop_map(|(name, version, attributes)| {
        InstrumentationScope {
            name,
            version,
            attributes,
            dropped_attributes_count: 0,
        }
    });
    let scope_spans =
        (option::of(scope), vec(span(), 0..3), text()).prop_map(|(scope, spans, schema_url)| {
            ScopeSpans {
                scope,
                spans,
                schema_url,
            }
        });
    let resource = attributes().prop_map(|attributes| Resource {
        attributes,
        ..Resource::default()
    });
    let resource_spans = (option::of(resource), vec(scope_spans, 0..3), text()).prop_map(
        |(resource, scope_spans, schema_url)| ResourceSpans {
            resource,
            scope_spans,
            schema_url,
        },
    );
    vec(resource_spans, 0..3)
        .prop_map(|resource_spans| ExportTraceServiceRequest { resource_spans })
}

/// What the Collector's printer makes of absent messages: empty ones.
fn with_empty_messages(mut request: ExportTraceServiceRequest) -> ExportTraceServiceRequest {
    for resource_spans in &mut request.resource_spans {
        resource_spans.resource.get_or_insert_default();
        for scope_spans in &mut resource_spans.scope_spans {
            scope_spans.scope.get_or_insert_default();
            for span in &mut scope_spans.spans {
                span.status.get_or_insert_default();
            }
        }
    }
    request
}

proptest! {
    #![proptest_config(crate::cases::cases(128))]

    #[test]
    fn json_of_the_oracle_is_read_as_the_oracle_meant_it(request in request()) {
        let json = serde_json::to_vec(&request).unwrap();
        let transcoded = from_json(&json).unwrap();
        prop_assert_eq!(ExportTraceServiceRequest::decode(transcoded.as_slice()).unwrap(), request);
    }

    #[test]
    fn printed_json_is_read_back_by_us_and_by_the_oracle(request in request()) {
        let protobuf = request.encode_to_vec();
        let json = to_json(&protobuf).unwrap();
        let by_oracle: ExportTraceServiceRequest = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&by_oracle, &with_empty_messages(request));
        let by_us = from_json(json.as_bytes()).unwrap();
        prop_assert_eq!(ExportTraceServiceRequest::decode(by_us.as_slice()).unwrap(), by_oracle);
        prop_assert_eq!(to_json(&by_us).unwrap(), json);
    }

    #[test]
    fn anything_is_an_answer_or_an_error(text in vec(any::<u8>(), 0..200), request in request(), flip in any::<(usize, u8)>()) {
        let _ = (from_json(&text), to_json(&text));
        for mut bytes in [request.encode_to_vec(), serde_json::to_vec(&request).unwrap()] {
            if let Some(at) = flip.0.checked_rem(bytes.len()) {
                bytes[at] ^= flip.1;
            }
            if let Ok(json) = to_json(&bytes) {
                prop_assert!(from_json(json.as_bytes()).is_ok() || json.len() > 1000);
            }
            if let Ok(protobuf) = from_json(&bytes) {
                prop_assert!(ExportTraceServiceRequest::decode(protobuf.as_slice()).is_ok());
            }
        }
    }
}
