//! A conversation as parts with a class each, and the forms in which libraries write it. The same parts with other texts in
//! the same form are what a redactor must give.

use crate::redaction::FieldClass::{
    self, Answer, Prompt, Reasoning, System, ToolArguments, ToolResults,
};
use common::any_value::Value as Proto;
use opentelemetry_proto::tonic::common::v1 as common;
use opentelemetry_proto::tonic::trace::v1::{Span, span::Event};
use serde_json::{Value, json};

/// A text and its class.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) class: FieldClass,
    pub(super) text: String,
}

/// How a conversation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `gen_ai.input.messages`: parts with types.
    Parts,
    /// OpenAI's messages, in `input.value` below other members.
    OpenAi,
    /// The same as text inside JSON text.
    Nested,
    /// `gen_ai.prompt.N.content`.
    Flattened,
    /// `llm.input_messages.N.message.content`.
    OpenInference,
    /// Maps and lists of OTLP.
    Structured,
    /// An event for each message.
    Events,
}

pub(super) const FORMS: [Form; 7] = [
    Form::Parts,
    Form::OpenAi,
    Form::Nested,
    Form::Flattened,
    Form::OpenInference,
    Form::Structured,
    Form::Events,
];

fn role(class: FieldClass) -> &'static str {
    match class {
        System => "system",
        Answer | Reasoning | ToolArguments => "assistant",
        ToolResults => "tool",
        _ => "user",
    }
}

fn typed(part: &Part) -> Value {
    let text = &part.text;
    let part_of = match part.class {
        Reasoning => json!({"type": "reasoning", "content": text}),
        ToolArguments => json!({"type": "tool_call", "arguments": {"place": text}}),
        ToolResults => json!({"type": "tool_call_response", "response": text}),
        _ => json!({"type": "text", "content": text}),
    };
    json!({"role": role(part.class), "parts": [part_of]})
}

fn openai(part: &Part) -> Value {
    let (role, text) = (role(part.class), &part.text);
    match part.class {
        Reasoning => json!({"role": role, "reasoning_content": text}),
        ToolArguments => {
            json!({"role": role, "tool_calls": [{"type": "function", "function": {"arguments": text}}]})
        }
        _ => json!({"role": role, "content": text}),
    }
}

pub(super) fn text(text: impl Into<String>) -> common::AnyValue {
    common::AnyValue {
        value: Some(Proto::StringValue(text.into())),
    }
}

pub(super) fn pair(key: impl Into<String>, value: common::AnyValue) -> common::KeyValue {
    common::KeyValue {
        key: key.into(),
        value: Some(value),
        ..Default::default()
    }
}

fn structured(value: &Value) -> common::AnyValue {
    let value = match value {
        Value::Object(map) => Proto::KvlistValue(common::KeyValueList {
            values: map
                .iter()
                .map(|(key, value)| pair(key, structured(value)))
                .collect(),
        }),
        Value::Array(list) => Proto::ArrayValue(common::ArrayValue {
            values: list.iter().map(structured).collect(),
        }),
        other => Proto::StringValue(other.as_str().unwrap().to_owned()),
    };
    common::AnyValue { value: Some(value) }
}

/// The span's attributes and events.
pub(super) fn written(parts: &[Part], form: Form) -> (Vec<common::KeyValue>, Vec<Event>) {
    let all = |write: fn(&Part) -> Value| Value::from_iter(parts.iter().map(write));
    let mut attributes = Vec::new();
    let mut events = Vec::new();
    match form {
        Form::Parts => {
            attributes.push(pair("gen_ai.input.messages", text(all(typed).to_string())));
        }
        Form::OpenAi => {
            let input = json!({"messages": all(openai), "stream": true});
            attributes.push(pair("input.value", text(input.to_string())));
        }
        Form::Nested => {
            let inner = all(openai).to_string();
            let input = json!([{"role": "user", "content": inner}]);
            attributes.push(pair("traceloop.entity.input", text(input.to_string())));
        }
        Form::Flattened => flattened(parts, &mut attributes),
        Form::OpenInference => open_inference(parts, &mut attributes),
        Form::Structured => {
            attributes.push(pair("gen_ai.input.messages", structured(&all(typed))));
        }
        Form::Events => events.extend(parts.iter().map(event)),
    }
    (attributes, events)
}

fn flattened(parts: &[Part], out: &mut Vec<common::KeyValue>) {
    for (number, part) in parts.iter().enumerate() {
        let key = match part.class {
            Reasoning => "reasoning",
            ToolArguments => "tool_calls.0.arguments",
            _ => "content",
        };
        out.push(pair(
            format!("gen_ai.prompt.{number}.{key}"),
            text(&part.text),
        ));
        out.push(pair(
            format!("gen_ai.prompt.{number}.role"),
            text(role(part.class)),
        ));
    }
}

fn open_inference(parts: &[Part], out: &mut Vec<common::KeyValue>) {
    for (number, part) in parts.iter().enumerate() {
        let beginning = format!("llm.input_messages.{number}.message");
        let key = match part.class {
            Reasoning => {
                let kind = format!("{beginning}.contents.0.message_content.type");
                out.push(pair(kind, text("reasoning")));
                "contents.0.message_content.text"
            }
            ToolArguments => "tool_calls.0.tool_call.function.arguments",
            _ => "content",
        };
        out.push(pair(format!("{beginning}.role"), text(role(part.class))));
        out.push(pair(format!("{beginning}.{key}"), text(&part.text)));
    }
}

fn event(part: &Part) -> Event {
    let (name, key) = match part.class {
        System => ("gen_ai.system.message", "content"),
        Answer => ("gen_ai.choice", "message"),
        Reasoning => ("gen_ai.assistant.message", "reasoning"),
        ToolArguments => ("gen_ai.assistant.message", "tool_calls"),
        ToolResults => ("gen_ai.tool.message", "content"),
        _ => ("gen_ai.user.message", "gen_ai.event.content"),
    };
    Event {
        name: name.into(),
        attributes: vec![
            pair("gen_ai.system", text("openai")),
            pair(key, text(&part.text)),
        ],
        ..Default::default()
    }
}

/// The classes that these forms can write.
pub(super) const CLASSES: [FieldClass; 6] = [
    Prompt,
    Answer,
    Reasoning,
    System,
    ToolArguments,
    ToolResults,
];

/// A span with the parts in this form between attributes that are nobody's.
pub(super) fn span(parts: &[Part], form: Form) -> Span {
    let (own, events) = written(parts, form);
    let mut attributes = vec![pair("gen_ai.request.model", text("m"))];
    attributes.extend(own);
    attributes.push(pair("http.route", text("/v1")));
    Span {
        trace_id: vec![1; 16],
        span_id: vec![2; 8],
        name: "chat".into(),
        attributes,
        events,
        ..Default::default()
    }
}
