//! Single cases: places, rules by key, forms that are no conversation.

use super::parts::{pair, text};
use super::property::{data, redacted};
use crate::redaction::{Action, AttributeRule, FieldClass, RedactSettings};
use crate::secret::Secret;
use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{Span, Status, TracesData, span};

fn with(actions: &[(FieldClass, Action)]) -> RedactSettings {
    let mut settings = RedactSettings::default();
    for (class, action) in actions {
        settings.classes[*class as usize] = action.clone();
    }
    settings
}

fn of_span(attributes: Vec<KeyValue>) -> Span {
    Span {
        attributes,
        ..Default::default()
    }
}

fn check(settings: &RedactSettings, key: &str, before: &str, after: Option<&str>) {
    let found = redacted(settings, &data(of_span(vec![pair(key, text(before))])));
    let expected = after.map(|after| pair(key, text(after)));
    let expected = data(of_span(expected.into_iter().collect()));
    assert_eq!(found, expected, "{key} {before}");
}

#[test]
fn values() {
    use FieldClass::{Answer, Prompt, System};
    let cut = with(&[(Prompt, Action::Truncate(4))]);
    check(&cut, "gen_ai.prompt", "hello", Some("hell…"));
    check(&cut, "gen_ai.completion", "hello", Some("hello"));
    let answers = with(&[(Answer, Action::Drop)]);
    check(&answers, "gen_ai.completion", "hello", None);
    check(&answers, "gen_ai.prompt", "hello", Some("hello"));
    check(
        &answers,
        "gen_ai.prompt",
        r#"[{"role": "user", "content": "a"}, {"role":"assistant","content":"b"}]"#,
        Some(r#"[{"role": "user", "content": "a"}, {"role":"assistant","content":""}]"#),
    );
    // What looks like parts and is none of ours: the strictest.
    check(&answers, "gen_ai.prompt", "[{'role': 'user'}]", None);
    check(
        &answers,
        "gen_ai.prompt",
        r#"[{"role":"assistant","content":"cut in th"#,
        None,
    );
    // A role is a word, and nothing else passes under its name.
    let prompts = with(&[(Prompt, Action::Drop), (System, Action::Hash)]);
    check(
        &prompts,
        "gen_ai.prompt",
        r#"[{"role":"user and more"}]"#,
        Some(r#"[{"role":""}]"#),
    );
    check(
        &prompts,
        "gen_ai.prompt",
        r#"{"id": 5, "on": true}"#,
        Some(r#"{"id": null, "on": true}"#),
    );
    // Half a pair of surrogates.
    check(
        &prompts,
        "gen_ai.prompt",
        r#"{"a": "x\ud83d"}"#,
        Some(r#"{"a": ""}"#),
    );
    check(
        &prompts,
        "gen_ai.output.messages",
        r#"{"a": "x"}"#,
        Some(r#"{"a": "x"}"#),
    );
}

#[test]
fn every_place_is_walked() {
    let secret = |key: &str| vec![pair(key, text("secret")), pair("other", text("kept"))];
    let kept = vec![pair("other", text("kept"))];
    let build = |attributes: &dyn Fn(&str) -> Vec<KeyValue>, message: &str| {
        let mut data = data(Span {
            attributes: attributes("gen_ai.prompt"),
            events: vec![span::Event {
                name: "exception".into(),
                attributes: attributes("exception.message"),
                ..Default::default()
            }],
            links: vec![span::Link {
                attributes: attributes("input.value"),
                ..Default::default()
            }],
            status: Some(Status {
                code: 2,
                message: message.into(),
            }),
            ..Default::default()
        });
        let resource_spans = &mut data.resource_spans[0];
        resource_spans.resource = Some(Resource {
            attributes: attributes("content"),
            ..Default::default()
        });
        resource_spans.scope_spans[0].scope = Some(InstrumentationScope {
            attributes: attributes("gen_ai.completion"),
            ..Default::default()
        });
        data
    };
    let mut settings = RedactSettings::default();
    settings.classes.fill(Action::Drop);
    let found: TracesData = redacted(&settings, &build(&secret, "secret"));
    assert_eq!(found, build(&|_| kept.clone(), ""));
}

#[test]
fn rules_by_key_come_first() {
    let mut settings = with(&[(FieldClass::Prompt, Action::Drop)]);
    settings.attributes = vec![
        AttributeRule {
            keys: vec!["gen_ai.prompt".into()],
            action: Action::Keep,
        },
        AttributeRule {
            keys: vec!["user.*".into(), "session".into()],
            action: Action::Replace("-".into()),
        },
    ];
    check(&settings, "gen_ai.prompt", "a", Some("a"));
    check(&settings, "input.value", "a", None);
    check(&settings, "user.id", "a", Some("-"));
    check(&settings, "session", "a", Some("-"));
    check(&settings, "model", "a", Some("a"));
}

#[test]
fn the_key_is_never_shown() {
    let mut settings = with(&[(FieldClass::Prompt, Action::Hash)]);
    settings.hash_key = Some(Secret::new("canary-0123456789"));
    assert!(!format!("{settings:?}").contains("canary"));
}
