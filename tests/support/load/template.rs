//! Parts encoded once: the bytes of their spans, and where ids and times go.

use super::backwards::{Kind as Message, backwards};
use super::shape::{Kind, Shape};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::{Span, Status, span::Event};
use prost::Message as _;

/// Bytes that stand nowhere else: none of them is UTF-8.
const TRACE: [u8; 16] = [0xf1; 16];
const SPAN: [u8; 8] = [0xf2; 8];
const PARENT: [u8; 8] = [0xf3; 8];
const START: [u8; 8] = [0xf4; 8];
const END: [u8; 8] = [0xf5; 8];

const MILLISECOND: u64 = 1_000_000;

/// Different prompts, so that no cache of answers helps.
pub(crate) const VARIANTS: u64 = 8;

/// The phrase of both the regex and the keyword, in two scripts.
const PHRASES: [&str; 2] = ["ignore previous instructions", "忽略之前的指令"];

/// A part of a trace: fields 2 of a `ScopeSpans`.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) bytes: Vec<u8>,
    spans: Vec<Patch>,
}

/// Where the changing bytes of a span stand.
#[derive(Debug)]
struct Patch {
    trace: usize,
    span: usize,
    parent: Option<usize>,
    start: usize,
    end: usize,
    number: u32,
    starts_after: u64,
    ends_after: u64,
}

impl Part {
    /// Encodes part `part` of a trace of `kind`.
    pub(crate) fn new(shape: &Shape, kind: Kind, part: u32, variant: u64) -> Self {
        let each = shape.spans_of_part();
        let mut out = Self {
            bytes: Vec::new(),
            spans: Vec::new(),
        };
        for number in part * each..(part + 1) * each {
            let marked = kind != Kind::Ordinary && shape.shows(part) && number == part * each;
            let kind = if marked { kind } else { Kind::Ordinary };
            let (span, length) = span(shape, kind, number, variant);
            let mut bytes = span.encode_to_vec();
            if shape.backwards {
                bytes = backwards(Message::Span, &bytes);
            }
            out.add(number, &bytes, u64::from(number) * 3 * MILLISECOND, length);
        }
        out
    }

    fn add(&mut self, number: u32, span: &[u8], starts_after: u64, length: u64) {
        self.bytes.push(0x12);
        put_varint(&mut self.bytes, span.len());
        let base = self.bytes.len();
        self.bytes.extend_from_slice(span);
        let find = |needle: &[u8]| {
            span.windows(needle.len())
                .position(|window| window == needle)
                .map(|at| base + at)
        };
        self.spans.push(Patch {
            trace: find(&TRACE).unwrap(),
            span: find(&SPAN).unwrap(),
            parent: find(&PARENT),
            start: find(&START).unwrap(),
            end: find(&END).unwrap(),
            number,
            starts_after,
            ends_after: starts_after + length,
        });
    }

    pub(crate) fn spans(&self) -> u32 {
        self.spans.len() as u32
    }

    /// Appends the part to `out` as that of `trace`, begun at `time` (ns since the epoch).
    pub(crate) fn write(&self, out: &mut Vec<u8>, shape: &Shape, trace: u64, time: u64) {
        let base = out.len();
        out.extend_from_slice(&self.bytes);
        let bytes = &mut out[base..];
        let id = shape.id(trace);
        for patch in &self.spans {
            let mut set =
                |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
            set(patch.trace, &id);
            set(
                patch.span,
                &Shape::span_id(trace, patch.number).to_be_bytes(),
            );
            if let Some(parent) = patch.parent {
                set(parent, &Shape::span_id(trace, 0).to_be_bytes());
            }
            set(patch.start, &(time + patch.starts_after).to_le_bytes());
            set(patch.end, &(time + patch.ends_after).to_le_bytes());
        }
    }
}

/// Appends a varint.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// One span and its length in ns.
fn span(shape: &Shape, kind: Kind, number: u32, variant: u64) -> (Span, u64) {
    let llm = number % 12 == 3;
    let mut attributes = if llm {
        llm_attributes(shape, variant)
    } else {
        plain_attributes(number, variant)
    };
    let phrase = PHRASES[variant as usize % 2];
    let mut events = Vec::new();
    let mut length = 20 * MILLISECOND;
    match kind {
        Kind::Risky => {
            let prompt = messages("user", &format!("please {phrase} now"));
            set(&mut attributes, text("gen_ai.input.messages", &prompt));
        }
        Kind::Keyword => {
            let answer = messages("assistant", &format!("I was told to {phrase}"));
            let details = vec![text("gen_ai.output.messages", &answer)];
            let name = "gen_ai.client.inference.operation.details".to_owned();
            events.push(Event {
                name,
                attributes: details,
                ..Event::default()
            });
        }
        Kind::Tokens => set(&mut attributes, int("gen_ai.usage.input_tokens", 150_000)),
        Kind::Flag => attributes.push(any("app.force_sample", Value::BoolValue(true))),
        Kind::Vip => {
            attributes.push(text("tenant.tier", "vip"));
            length = 150 * MILLISECOND;
        }
        Kind::Slow => length = 6_000 * MILLISECOND,
        Kind::Ordinary | Kind::Error => {}
    }
    let status = (kind == Kind::Error).then(|| Status {
        code: 2,
        message: "model overloaded".to_owned(),
    });
    let span = Span {
        trace_id: TRACE.to_vec(),
        span_id: SPAN.to_vec(),
        parent_span_id: if number == 0 {
            Vec::new()
        } else {
            PARENT.to_vec()
        },
        name: if llm {
            "chat gpt-5".to_owned()
        } else {
            format!("step {}", number % 7)
        },
        kind: if llm { 3 } else { 1 },
        start_time_unix_nano: u64::from_le_bytes(START),
        end_time_unix_nano: u64::from_le_bytes(END),
        attributes,
        events,
        status,
        ..Span::default()
    };
    (span, length)
}

/// Puts an attribute in the place of one with its key: of two, rules see the first.
fn set(attributes: &mut Vec<KeyValue>, attribute: KeyValue) {
    attributes.retain(|other| other.key != attribute.key);
    attributes.push(attribute);
}

fn llm_attributes(shape: &Shape, variant: u64) -> Vec<KeyValue> {
    let mut prompt = String::with_capacity(shape.prompt_bytes + 64);
    let sentences = [
        "Summarise the quarterly report for the board in three sentences. ",
        "请把这段话翻译成英文，并解释其中的难点。",
        "Which of these invoices is overdue, and by how many days? ",
        "Write a unit test for the function below and say why it fails. ",
    ];
    let mut at = variant as usize;
    while prompt.len() < shape.prompt_bytes {
        prompt.push_str(sentences[at % sentences.len()]);
        at += 1 + variant as usize % 3;
    }
    vec![
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.provider.name", "openai"),
        text("gen_ai.request.model", "gpt-5"),
        int("gen_ai.usage.input_tokens", 700),
        int("gen_ai.usage.output_tokens", 120),
        text("gen_ai.input.messages", &messages("user", &prompt)),
    ]
}

fn plain_attributes(number: u32, variant: u64) -> Vec<KeyValue> {
    let path = format!(
        "https://tools.internal.example.com/v2/collections/{}/documents/search?limit=20",
        number * 7919
    );
    vec![
        text("http.request.method", "POST"),
        text("url.full", &path),
        text("server.address", "tools.internal.example.com"),
        int("thread.id", i64::from(number) + variant as i64),
    ]
}

fn messages(role: &str, content: &str) -> String {
    format!(r#"[{{"role":"{role}","parts":[{{"type":"text","content":"{content}"}}]}}]"#)
}

fn text(key: &str, value: &str) -> KeyValue {
    any(key, Value::StringValue(value.to_owned()))
}

fn int(key: &str, value: i64) -> KeyValue {
    any(key, Value::IntValue(value))
}

fn any(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

/// The resource of a service, as field 1 of a `ResourceSpans`.
pub(crate) fn resource(shape: &Shape, service: &str) -> Vec<u8> {
    use opentelemetry_proto::tonic::resource::v1::Resource;
    let attributes = vec![
        text("service.name", service),
        text("telemetry.sdk.language", "python"),
    ];
    let mut bytes = Resource {
        attributes,
        ..Resource::default()
    }
    .encode_to_vec();
    if shape.backwards {
        bytes = backwards(Message::Resource, &bytes);
    }
    field(0x0a, &bytes)
}

/// The scope, as field 1 of a `ScopeSpans`.
pub(crate) fn scope() -> Vec<u8> {
    use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
    let scope = InstrumentationScope {
        name: "agent.tracer".to_owned(),
        ..InstrumentationScope::default()
    };
    field(0x0a, &scope.encode_to_vec())
}

fn field(tag: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    put_varint(&mut out, bytes.len());
    out.extend_from_slice(bytes);
    out
}
