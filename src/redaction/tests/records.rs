//! Log records: their attributes, and bodies with and without a name.

use super::parts::{pair, text};
use crate::otlp::Signal;
use crate::redaction::{Action, AttributeRule, FieldClass, RedactSettings, Redactor};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValueList, any_value::Value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, LogsData, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;

fn with(actions: &[(FieldClass, Action)]) -> RedactSettings {
    let mut settings = RedactSettings::default();
    for (class, action) in actions {
        settings.classes[*class as usize] = action.clone();
    }
    settings
}

fn data(record: LogRecord) -> LogsData {
    LogsData {
        resource_logs: vec![ResourceLogs {
            resource: Some(Resource {
                attributes: vec![pair("service.name", text("chat"))],
                ..Default::default()
            }),
            scope_logs: vec![ScopeLogs {
                log_records: vec![record],
                ..Default::default()
            }],
            ..Default::default()
        }],
    }
}

fn redacted(settings: &RedactSettings, record: LogRecord) -> LogsData {
    let redactor = Redactor::new(settings).unwrap();
    let out = redactor.apply(Signal::Logs, &data(record).encode_to_vec().into());
    LogsData::decode(out.unwrap()).unwrap()
}

fn map(pairs: &[(&str, &str)]) -> AnyValue {
    let values = pairs.iter().map(|(key, value)| pair(*key, text(*value)));
    AnyValue {
        value: Some(Value::KvlistValue(KeyValueList {
            values: values.collect(),
        })),
    }
}

fn record(event: &str, severity: i32, body: Option<AnyValue>) -> LogRecord {
    LogRecord {
        time_unix_nano: 5,
        severity_number: severity,
        event_name: event.into(),
        body,
        trace_id: vec![7; 16],
        ..Default::default()
    }
}

#[test]
fn bodies() {
    use FieldClass::{Answer, Error, Prompt, System, ToolArguments};
    let check = |actions: &[(FieldClass, Action)], (event, severity), before: AnyValue, after| {
        let found = redacted(&with(actions), record(event, severity, Some(before)));
        let expected = data(record(event, severity, after));
        assert_eq!(found, expected, "{event} {severity} {actions:?}");
    };
    let prompts = [(Prompt, Action::Drop)];
    let answers = [(Answer, Action::Drop)];
    let user = ("gen_ai.user.message", 9);
    // By the event's name.
    check(&prompts, user, text("a"), None);
    check(&answers, user, text("a"), Some(text("a")));
    check(&answers, ("gen_ai.choice", 9), text("a"), None);
    check(
        &[(System, Action::Drop)],
        ("gen_ai.system.message", 0),
        text("a"),
        None,
    );
    let message = map(&[
        ("role", "assistant"),
        ("content", "the answer"),
        ("tool_calls", "f(x)"),
    ]);
    let left = map(&[
        ("role", "assistant"),
        ("content", "the answer"),
        ("tool_calls", ""),
    ]);
    let calls = [(ToolArguments, Action::Drop)];
    let assistant = ("gen_ai.assistant.message", 9);
    let found = redacted(&with(&calls), record(assistant.0, 9, Some(message.clone())));
    let body = found.resource_logs[0].scope_logs[0].log_records[0]
        .body
        .clone();
    assert!(format!("{body:?}").contains("the answer") && !format!("{body:?}").contains("f(x)"));
    assert_eq!(
        format!("{left:?}").contains("assistant"),
        format!("{body:?}").contains("assistant")
    );
    // A program's own words may be anybody's.
    check(&prompts, ("", 9), text("asked: why?"), None);
    check(&answers, ("", 9), text("answered: so"), None);
    check(
        &[(Error, Action::Drop)],
        ("", 9),
        text("GET /"),
        Some(text("GET /")),
    );
    check(
        &[(Error, Action::Drop)],
        ("", 17),
        text("not so: why?"),
        None,
    );
    check(
        &[(Error, Action::Drop)],
        ("", 17),
        map(&[("a", "b c")]),
        None,
    );
    let json = r#"{"role":"user","content":"why?"}"#;
    let redacted = r#"{"role":"user","content":""}"#;
    check(&prompts, ("", 9), text(json), Some(text(redacted)));
    check(&answers, ("", 9), text(json), Some(text(json)));
}

#[test]
fn attributes_and_names_in_attributes() {
    let mut settings = with(&[(FieldClass::Prompt, Action::Drop)]);
    let named = |body: Option<AnyValue>, rest: Option<&str>| {
        let mut attributes = vec![pair("event.name", text("gen_ai.user.message"))];
        attributes.extend(rest.map(|rest| pair("gen_ai.input.messages", text(rest))));
        attributes.push(pair("user.id", text("u")));
        LogRecord {
            attributes,
            ..record("", 9, body)
        }
    };
    let before = || named(Some(text("why?")), Some("why?"));
    let mut expected = named(None, None);
    // Of an event that is a message all attributes but those that say what it is are text.
    expected.attributes.pop();
    assert_eq!(redacted(&settings, before()), data(expected));
    settings.attributes = vec![AttributeRule {
        keys: vec!["log.body".into(), "user.id".into()],
        action: Action::Keep,
    }];
    assert_eq!(
        redacted(&settings, before()),
        data(named(Some(text("why?")), None))
    );
}

#[test]
fn what_is_damaged_does_not_leave() {
    let settings = with(&[(FieldClass::Prompt, Action::Drop)]);
    let redactor = Redactor::new(&settings).unwrap();
    let whole = data(record("", 9, Some(text("why?")))).encode_to_vec();
    for end in 1..whole.len() {
        if let Ok(out) = redactor.apply(Signal::Logs, &whole[..end].to_vec().into()) {
            assert!(memchr::memmem::find(&out, b"why?").is_none(), "{end}");
        }
    }
}
