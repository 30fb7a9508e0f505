//! The attributes of a resource, scope, span, event or link.

use super::act::{Outcome, value_of, with_value};
use super::class::{FieldClass, is_structure, of_event, of_member};
use super::flattened::{Groups, last};
use super::keys::{Found, rule_of};
use super::redactor::Redactor;
use super::value_parts::is_named;
use crate::otlp::{AnyValue, Splice, WireError, key_value, raw_fields};

/// Attributes of an event that is a message, which say what it is and nothing of its text.
const ABOUT: [&[u8]; 7] = [
    b"id",
    b"name",
    b"event.name",
    b"gen_ai.system",
    b"gen_ai.provider.name",
    b"gen_ai.operation.name",
    b"gen_ai.request.model",
];

impl Redactor {
    /// `owner` with the attributes in its field `number` redacted; `None`: as it was. `event` is the name of an event.
    pub(super) fn attributes(
        &self,
        owner: &[u8],
        number: u8,
        event: &[u8],
    ) -> Result<Option<Vec<u8>>, WireError> {
        let of_event = of_event(event);
        let groups = self.groups(owner, number)?;
        let mut splice = Splice::new(owner);
        for field in raw_fields(owner) {
            let field = field?;
            let Some(pair) = field.message(u32::from(number)) else {
                continue;
            };
            let (key, value) = key_value(pair, 0)?;
            match self.attribute(pair, (key, value), of_event, &groups) {
                Outcome::Same => {}
                Outcome::Gone => splice.cut(&field.range),
                Outcome::New(new) => splice.replace(&field.range, number, &with_value(pair, &new)),
            }
        }
        Ok(splice.finish())
    }

    /// What attributes say of one another, where it matters.
    fn groups<'a>(&self, owner: &'a [u8], number: u8) -> Result<Groups<'a>, WireError> {
        let mut groups = Groups::default();
        if self.is_uniform(FieldClass::Prompt) {
            return Ok(groups);
        }
        for field in raw_fields(owner) {
            if let Some(pair) = field?.message(u32::from(number)) {
                let (key, value) = key_value(pair, 0)?;
                if self
                    .keys
                    .find(key)
                    .is_some_and(|found| !found.rest.is_empty())
                {
                    groups.add(key, value);
                }
            }
        }
        Ok(groups)
    }

    fn attribute(
        &self,
        pair: &[u8],
        (key, value): (&[u8], AnyValue<'_>),
        event: Option<FieldClass>,
        groups: &Groups<'_>,
    ) -> Outcome {
        if let Some(action) = rule_of(&self.settings.attributes, key) {
            return self.hasher.value(action, value_of(pair));
        }
        let found = self.keys.find(key);
        let class = match (event, found) {
            (Some(event), found) if !ABOUT.contains(&key) => {
                class_in_message(key, event, found.as_ref())
            }
            (None, Some(found)) => groups.class_of(key, &found),
            _ => return Outcome::Same,
        };
        let spread = event.is_some() || found.is_some_and(|found| !found.rest.is_empty());
        if spread && is_structure(last(key)) && is_named(value) {
            return Outcome::Same;
        }
        self.value(class, value_of(pair))
    }
}

/// The class of an attribute of an event that is a message of class `event`.
fn class_in_message(key: &[u8], event: FieldClass, found: Option<&Found<'_>>) -> FieldClass {
    let special = found
        .map(|found| found.class)
        .filter(|class| !matches!(class, FieldClass::Prompt | FieldClass::Answer));
    special.or_else(|| of_member(key)).unwrap_or(event)
}
