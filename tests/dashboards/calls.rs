//! Model calls as an instrumented application and an engine behind it tell them: two models, two services, now and then an
//! error, a tool, a judged answer.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, span::Event};

const MILLISECOND: u64 = 1_000_000;

/// The trace with this number, begun at `start` (Unix time, ns).
pub(crate) fn trace(number: u64, start: u64) -> ExportTraceServiceRequest {
    let service = ["chat", "search"][(number % 2) as usize];
    let environment = ["production", "staging"][(number / 2 % 2) as usize];
    let mut spans = vec![call(number, start), engine(number, start)];
    if number.is_multiple_of(3) {
        spans.push(tool(number, start));
    }
    let resource = vec![
        text("service.name", service),
        text("deployment.environment.name", environment),
    ];
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: resource,
                ..Resource::default()
            }),
            scope_spans: vec![ScopeSpans {
                spans,
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    }
}

/// Its id.
pub(crate) fn id(number: u64) -> [u8; 16] {
    ((0xca11_u128 << 64) | (u128::from(number) + 1)).to_be_bytes()
}

/// The trace has an error.
pub(crate) fn fails(number: u64) -> bool {
    number % 10 == 7
}

fn span(number: u64, place: u8, name: &str, (start, length): (u64, u64)) -> Span {
    Span {
        trace_id: id(number).to_vec(),
        span_id: vec![place; 8],
        parent_span_id: if place == 1 { Vec::new() } else { vec![1; 8] },
        name: name.to_owned(),
        kind: 3,
        start_time_unix_nano: start,
        end_time_unix_nano: start + length * MILLISECOND,
        ..Span::default()
    }
}

fn call(number: u64, start: u64) -> Span {
    let model = ["gpt-5-2025-08-07", "claude-sonnet-4-20250514"][(number % 2) as usize];
    let provider = ["openai", "anthropic"][(number % 2) as usize];
    let cached = if number.is_multiple_of(4) { 512 } else { 0 };
    let mut span = span(
        number,
        1,
        &format!("chat {model}"),
        (start, 900 + number % 700),
    );
    span.attributes = vec![
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.provider.name", provider),
        text("gen_ai.request.model", model),
        text("gen_ai.response.model", model),
        int("gen_ai.usage.input_tokens", 700),
        int("gen_ai.usage.output_tokens", 120),
        int("gen_ai.usage.cache_read.input_tokens", cached),
        double(
            "gen_ai.response.time_to_first_chunk",
            0.2 + (number % 50) as f64 / 100.0,
        ),
        reasons(if number.is_multiple_of(5) {
            "length"
        } else {
            "stop"
        }),
    ];
    if fails(number) {
        span.attributes.push(text("error.type", "RateLimitError"));
        span.status = Some(Status {
            code: 2,
            ..Status::default()
        });
    }
    if number % 4 == 1 {
        span.events.push(Event {
            name: "gen_ai.evaluation.result".to_owned(),
            time_unix_nano: start + MILLISECOND,
            attributes: vec![
                text("gen_ai.evaluation.name", "relevance"),
                double("gen_ai.evaluation.score.value", (number % 10) as f64 / 10.0),
            ],
            ..Event::default()
        });
    }
    span
}

fn engine(number: u64, start: u64) -> Span {
    let mut span = span(number, 2, "llm_request", (start + MILLISECOND, 800));
    span.kind = 2;
    span.attributes = vec![
        double("gen_ai.latency.time_to_first_token", 0.15),
        double("gen_ai.latency.time_in_queue", (number % 20) as f64 / 100.0),
        double("gen_ai.latency.time_in_model_prefill", 0.05),
        double("gen_ai.latency.time_in_model_decode", 0.6),
        int("gen_ai.usage.prompt_tokens", 700),
        int("gen_ai.usage.completion_tokens", 120),
    ];
    span
}

fn tool(number: u64, start: u64) -> Span {
    let mut span = span(number, 3, "execute_tool search", (start + MILLISECOND, 40));
    span.attributes = vec![
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", "search"),
    ];
    if number.is_multiple_of(9) {
        span.status = Some(Status {
            code: 2,
            ..Status::default()
        });
    }
    span
}

fn reasons(reason: &str) -> KeyValue {
    let values = vec![AnyValue {
        value: Some(Value::StringValue(reason.to_owned())),
    }];
    any(
        "gen_ai.response.finish_reasons",
        Value::ArrayValue(ArrayValue { values }),
    )
}

fn text(key: &str, value: &str) -> KeyValue {
    any(key, Value::StringValue(value.to_owned()))
}

fn int(key: &str, value: i64) -> KeyValue {
    any(key, Value::IntValue(value))
}

fn double(key: &str, value: f64) -> KeyValue {
    any(key, Value::DoubleValue(value))
}

fn any(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}
