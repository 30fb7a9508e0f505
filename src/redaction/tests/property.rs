//! For any conversation, form and settings: what comes out is the same conversation in the same form with each text under
//! the action of its class, in both orders of fields; and not one byte of anything else is another.

use super::parts::{CLASSES, FORMS, Form, Part, span};
use crate::otlp::Signal;
use crate::otlp::oracle::backwards::{Kind, backwards};
use crate::redaction::{Action, FieldClass, RedactSettings, Redactor};
use crate::secret::Secret;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, TracesData};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use prost::Message;

fn part() -> impl Strategy<Value = Part> {
    // Spaces: a text that is one word could be a role.
    let text = "[a-z请\"\\\\\u{1f600}]{1,8} canary [a-z]{0,8}";
    (select(CLASSES.to_vec()), text).prop_map(|(class, text)| Part { class, text })
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        Just(Action::Keep),
        Just(Action::Drop),
        Just(Action::Hash),
        Just(Action::Replace("[out] \"x\"".into())),
    ]
}

fn settings() -> impl Strategy<Value = RedactSettings> {
    proptest::array::uniform8(action()).prop_map(|classes| RedactSettings {
        classes,
        attributes: Vec::new(),
        hash_key: Some(Secret::new("0123456789abcdef")),
    })
}

fn hmac(text: &str) -> String {
    use std::fmt::Write;
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"0123456789abcdef");
    let tag = ring::hmac::sign(&key, text.as_bytes());
    tag.as_ref()
        .iter()
        .fold("hmac-sha256:".to_owned(), |mut out, byte| {
            write!(out, "{byte:02x}").unwrap();
            out
        })
}

fn under(action: &Action, text: &str) -> String {
    match action {
        Action::Keep => text.to_owned(),
        Action::Drop => String::new(),
        Action::Hash => hmac(text),
        Action::Replace(new) => new.clone(),
        Action::Truncate(_) => unreachable!("not generated"),
    }
}

pub(super) fn data(span: Span) -> TracesData {
    let scope_spans = vec![ScopeSpans {
        spans: vec![span],
        ..Default::default()
    }];
    TracesData {
        resource_spans: vec![ResourceSpans {
            scope_spans,
            ..Default::default()
        }],
    }
}

pub(super) fn redacted(settings: &RedactSettings, data: &TracesData) -> TracesData {
    let redactor = Redactor::new(settings).unwrap();
    let forward = data.encode_to_vec();
    let out = redactor
        .apply(Signal::Traces, &forward.clone().into())
        .unwrap();
    let backward = backwards(Kind::Request, &forward);
    let other = redactor.apply(Signal::Traces, &backward.into()).unwrap();
    let read = TracesData::decode(out).unwrap();
    assert_eq!(TracesData::decode(other).unwrap(), read);
    read
}

fn only(data: &TracesData) -> Span {
    data.resource_spans[0].scope_spans[0].spans[0].clone()
}

/// Attributes of which nothing is left are gone.
fn without_empty(mut span: Span) -> Span {
    let full = |pair: &opentelemetry_proto::tonic::common::v1::KeyValue| {
        let text = super::parts::text("");
        pair.value.as_ref() != Some(&text) && pair.value.as_ref().is_some_and(|v| v.value.is_some())
    };
    span.attributes.retain(full);
    span.events
        .iter_mut()
        .for_each(|event| event.attributes.retain(full));
    span
}

/// What a tool was called with is one text, as it stands in the form.
fn is_quoted(form: Form, class: FieldClass) -> bool {
    class == FieldClass::ToolArguments
        && matches!(
            form,
            Form::Parts | Form::Structured | Form::OpenAi | Form::Nested
        )
}

proptest! {
    #![proptest_config(crate::cases::cases(300))]

    #[test]
    fn each_text_is_treated_as_its_class(
        parts in vec(part(), 1..6),
        form in select(FORMS.to_vec()),
        settings in settings(),
    ) {
        let uniform = CLASSES.iter().chain(&[FieldClass::Documents]).all(|class| settings.action(*class) == settings.action(CLASSES[0]));
        prop_assume!(!uniform);
        let parts: Vec<Part> = parts.into_iter().filter(|part| !is_quoted(form, part.class)).collect();
        let found = only(&redacted(&settings, &data(span(&parts, form))));
        let new = parts.iter().map(|part| Part {
            class: part.class,
            text: under(settings.action(part.class), &part.text),
        });
        let expected = span(&new.collect::<Vec<_>>(), form);
        prop_assert_eq!(without_empty(found), without_empty(expected));
    }

    #[test]
    fn no_text_of_a_class_that_is_out_is_left(
        parts in vec(part(), 1..6),
        form in select(FORMS.to_vec()),
        settings in settings(),
    ) {
        let parts: Vec<Part> = parts.into_iter().enumerate().map(|(number, part)| Part {
            text: format!("a secret{number}secret"),
            ..part
        }).collect();
        let found = redacted(&settings, &data(span(&parts, form))).encode_to_vec();
        for (number, part) in parts.iter().enumerate() {
            let canary = format!("secret{number}secret");
            let left = memchr::memmem::find(&found, canary.as_bytes()).is_some();
            let kept = *settings.action(part.class) == Action::Keep;
            prop_assert_eq!(left, kept, "{:?} {:?}", form, part);
        }
    }

    #[test]
    fn damaged_pieces_do_not_pass_and_nothing_panics(
        parts in vec(part(), 1..4),
        form in select(FORMS.to_vec()),
        settings in settings(),
        edits in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = data(span(&parts, form)).encode_to_vec();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let redactor = Redactor::new(&settings).unwrap();
        if let Ok(out) = redactor.apply(Signal::Traces, &bytes.clone().into()) {
            // What prost could read, it still can.
            prop_assert!(TracesData::decode(&bytes[..]).is_err() || TracesData::decode(out).is_ok());
        }
    }
}
