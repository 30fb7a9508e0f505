//! A log record past the redactor: its attributes as everywhere, and its body.
//!
//! What a body is, the name of the event says. A body that no name tells of is what a program wrote freely, and may quote
//! anything: its parts are told apart as a prompt's, and a plain text is treated as the strictest of the classes that it may
//! be of; the record of an error, whatever its form, may be an error's text, too. An operator who knows what bodies hold
//! names them in a rule, by the key `log.body`.

use super::act::{Outcome, begins_as_json};
use super::class::{FieldClass, of_event};
use super::keys::rule_of;
use super::redactor::Redactor;
use super::settings::Action;
use super::walk::{Change, New, each_field};
use crate::otlp::{AnyValue, WireError, WireValue, any_value, key_value, raw_fields};

/// Under it rules name the body.
const BODY: &[u8] = b"log.body";
/// SEVERITY_NUMBER_ERROR in opentelemetry/proto/logs/v1/logs.proto: errors begin here.
const ERRORS: u64 = 17;

/// What a record says of itself.
#[derive(Default)]
struct About<'a> {
    event: &'a [u8],
    severity: u64,
}

impl Redactor {
    pub(super) fn record(&self, record: &[u8]) -> New {
        let about = about(record)?;
        let own = self.attributes(record, 6, about.event)?;
        let below = each_field(own.as_deref().unwrap_or(record), &[5], |_, body| {
            Ok(self.body(&about, body))
        })?;
        Ok(below.or(own))
    }

    fn body(&self, about: &About<'_>, body: &[u8]) -> Change {
        let rule = rule_of(&self.settings.attributes, BODY);
        let outcome = match (rule, of_event(about.event)) {
            (Some(action), _) => self.hasher.value(action, body),
            (None, Some(class)) => self.value(class, body),
            (None, None) if about.severity < ERRORS && has_parts(body) => {
                self.value(FieldClass::Prompt, body)
            }
            (None, None) => self.hasher.value(self.unnamed(about), body),
        };
        match outcome {
            Outcome::Same => Change::None,
            Outcome::Gone => Change::Cut,
            Outcome::New(new) => Change::New(new),
        }
    }

    /// What is done with a text that may be of any class.
    fn unnamed(&self, about: &About<'_>) -> &Action {
        let action = self.strictest(FieldClass::Prompt);
        if about.severity < ERRORS {
            return action;
        }
        action.stricter(self.action(FieldClass::Error))
    }
}

/// Lists, maps and JSON show what their parts are.
fn has_parts(body: &[u8]) -> bool {
    match any_value(body, 0) {
        Ok(AnyValue::Str(text)) => begins_as_json(text),
        Ok(AnyValue::Array(_) | AnyValue::Map(_)) => true,
        _ => false,
    }
}

/// The name stands in a field of its own, or in an attribute, as it did before there was one.
fn about(record: &[u8]) -> Result<About<'_>, WireError> {
    let (mut about, mut named) = (About::default(), &[][..]);
    for field in raw_fields(record) {
        let field = field?;
        match (field.number, field.value) {
            (2, WireValue::Varint(number)) => about.severity = number,
            (12, WireValue::Bytes(name)) => about.event = name,
            (6, WireValue::Bytes(pair)) => {
                if let (b"event.name", AnyValue::Str(name)) = key_value(pair, 0)? {
                    named = name;
                }
            }
            _ => {}
        }
    }
    if about.event.is_empty() {
        about.event = named;
    }
    Ok(about)
}
