//! The standard load of the benchmarks: traces of 60 spans of about 450 bytes, arriving in 4 parts interleaved with
//! others; every tenth span is a model call with a prompt of 2 KB, so that prompts are 40 % of the bytes.

use super::backwards::{Kind, backwards};
use bytes::Bytes;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, InstrumentationScope, KeyValue, any_value::Value,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, TracesData};
use prost::Message;

pub const SPANS_PER_TRACE: usize = 60;
pub const PARTS: usize = 4;
const BASE: u64 = 1_750_000_000_000_000_000;

pub fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, Value::StringValue(value.into()))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.into(),
        value: Some(AnyValue { value: Some(value) }),
        ..Default::default()
    }
}

/// English words in a fixed shuffle, as JSON messages.
fn prompt(seed: u64, bytes: usize) -> String {
    const WORDS: &[&str] = &[
        "the",
        "model",
        "answers",
        "with",
        "context",
        "from",
        "documents",
        "about",
        "previous",
        "quarter",
        "revenue",
        "please",
        "summarise",
        "instructions",
        "for",
        "customer",
        "support",
        "agent",
        "ignore",
        "tables",
        "and",
    ];
    let mut out = String::from(r#"[{"role":"user","parts":[{"type":"text","content":""#);
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while out.len() < bytes {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        out += WORDS[(state >> 33) as usize % WORDS.len()];
        out.push(' ');
    }
    out + r#"\n"}]}]"#
}

pub fn span(trace: u64, number: usize, prompt_bytes: usize) -> Span {
    let id = (u128::from(trace.wrapping_mul(0x9e37_79b9_7f4a_7c15)) << 64) | u128::from(trace + 1);
    let start = BASE + trace * 1_000_000 + number as u64 * 10_000_000;
    let mut attributes = vec![
        text("http.request.method", "POST"),
        text("server.address", "10.0.0.17"),
        attribute("http.response.status_code", Value::IntValue(200)),
        text(
            "tenant.tier",
            if trace.is_multiple_of(7) {
                "pro"
            } else {
                "free"
            },
        ),
        text("user_agent.original", "python-httpx/0.28"),
        attribute("app.retries", Value::IntValue(number as i64 % 3)),
    ];
    if number.is_multiple_of(10) {
        attributes.extend([
            text("gen_ai.operation.name", "chat"),
            text("gen_ai.request.model", "gpt-4o-mini"),
            attribute("gen_ai.usage.input_tokens", Value::IntValue(812)),
            text(
                "gen_ai.input.messages",
                &prompt(trace * 100 + number as u64, prompt_bytes),
            ),
        ]);
    }
    Span {
        trace_id: id.to_be_bytes().to_vec(),
        span_id: ((number as u64 + 1) << 32 | (trace & 0xffff_ffff))
            .to_be_bytes()
            .to_vec(),
        parent_span_id: if number == 0 {
            vec![]
        } else {
            (1_u64 << 32 | (trace & 0xffff_ffff)).to_be_bytes().to_vec()
        },
        name: format!("step {number}"),
        kind: 3,
        start_time_unix_nano: start,
        end_time_unix_nano: start + 5_000_000,
        status: (trace % 40 == 3 && number == 7).then(|| Status {
            code: 2,
            message: String::new(),
        }),
        attributes,
        ..Default::default()
    }
}

fn request_of(spans: Vec<Span>) -> TracesData {
    let resource = Resource {
        attributes: vec![
            text("service.name", "gateway"),
            text("service.version", "1.4.2"),
            text("deployment.environment.name", "production"),
            text("host.name", "ip-10-0-0-17"),
        ],
        ..Default::default()
    };
    let scope = InstrumentationScope {
        name: "llm.gateway".into(),
        version: "2".into(),
        ..Default::default()
    };
    TracesData {
        resource_spans: vec![ResourceSpans {
            resource: Some(resource),
            scope_spans: vec![ScopeSpans {
                scope: Some(scope),
                spans,
                ..Default::default()
            }],
            ..Default::default()
        }],
    }
}

/// `traces` traces from number `first` on as requests of about `per_request` spans: the traces' first quarters, then
/// their second, and so on.
pub fn requests(
    first: u64,
    traces: u64,
    per_request: usize,
    prompt_bytes: usize,
    backward: bool,
) -> Vec<Bytes> {
    let part = SPANS_PER_TRACE / PARTS;
    let mut spans = Vec::new();
    for p in 0..PARTS {
        for trace in first..first + traces {
            spans
                .extend((p * part..(p + 1) * part).map(|number| span(trace, number, prompt_bytes)));
        }
    }
    let encode = |chunk: &[Span]| {
        let bytes = request_of(chunk.to_vec()).encode_to_vec();
        if backward {
            backwards(Kind::Request, &bytes).into()
        } else {
            bytes.into()
        }
    };
    spans.chunks(per_request).map(encode).collect()
}

/// One request of `count` spans that are model calls, or that are none.
pub fn alike(calls: bool, count: usize, prompt_bytes: usize) -> Bytes {
    let spans = (0..)
        .map(|number| (number / SPANS_PER_TRACE, number % SPANS_PER_TRACE))
        .filter(|(_, number)| number.is_multiple_of(10) == calls)
        .map(|(trace, number)| span(trace as u64, number, prompt_bytes));
    request_of(spans.take(count).collect())
        .encode_to_vec()
        .into()
}

/// Keywords of about 20 bytes that no prompt holds.
pub fn keywords(n: usize) -> Vec<String> {
    (0..n)
        .map(|i| {
            format!(
                "forbidden phrase {i:04} {}",
                ["exfiltrate", "bypass the filter", "secret key"][i % 3]
            )
        })
        .collect()
}
