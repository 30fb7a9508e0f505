//! A value whose parts are of several classes: text of messages, or lists and maps of them (structured attributes). The
//! same words tell the classes as in JSON text.

use super::act::{Outcome, field, messages, put, text_value, value_of, with_value};
use super::class::{FieldClass, is_kind, is_structure, is_word, of_member, of_role, of_type};
use super::redactor::Redactor;
use crate::otlp::{AnyValue, any_value, key_value};

impl Redactor {
    /// The value of an attribute of this class.
    pub(super) fn value(&self, class: FieldClass, message: &[u8]) -> Outcome {
        if self.is_uniform(class) {
            return self.hasher.value(self.action(class), message);
        }
        match self.parts(class, message) {
            None => Outcome::Same,
            // Nothing is left of it.
            Some(new) if new.is_empty() || new == text_value(&[]) => Outcome::Gone,
            Some(new) => Outcome::New(new),
        }
    }

    /// The new `AnyValue`; `None`: it is as it was. As deep as values may be nested at all.
    fn parts(&self, class: FieldClass, message: &[u8]) -> Option<Vec<u8>> {
        match any_value(message, 0) {
            Ok(AnyValue::Str(text)) => {
                let new = self.text(class, text, 0);
                (*new != *text).then(|| text_value(&new))
            }
            Ok(AnyValue::Array(list)) => {
                let mut out = Vec::with_capacity(list.len());
                for item in messages(list) {
                    let new = self.parts(class, item);
                    put(&mut out, 1, new.as_deref().unwrap_or(item));
                }
                (out != list).then(|| field(5, &out))
            }
            Ok(AnyValue::Map(map)) => self.map(class, message, map),
            Ok(AnyValue::Empty | AnyValue::Bool(_)) => None,
            Ok(AnyValue::Int(_) | AnyValue::Double(_) | AnyValue::Bytes(_)) => {
                self.whole(class, message)
            }
            Err(_) => Some(Vec::new()),
        }
    }

    fn map(&self, class: FieldClass, message: &[u8], map: &[u8]) -> Option<Vec<u8>> {
        let (mut any, mut by_kind, mut by_role) = (false, None, None);
        for pair in messages(map) {
            if let Ok((key, AnyValue::Str(word))) = key_value(pair, 0) {
                if is_kind(key) {
                    any = true;
                    by_kind = by_kind.or(of_type(word));
                } else if key == b"role" {
                    any = true;
                    by_role = of_role(word);
                }
            }
        }
        if !any && !matches!(class, FieldClass::Prompt | FieldClass::Answer) {
            return self.whole(class, message);
        }
        let class = by_kind.or(by_role).unwrap_or(class);
        let mut out = Vec::with_capacity(map.len());
        for pair in messages(map) {
            let Ok((key, value)) = key_value(pair, 0) else {
                continue;
            };
            if is_structure(key) && is_named(value) {
                put(&mut out, 1, pair);
                continue;
            }
            match self.parts(of_member(key).unwrap_or(class), value_of(pair)) {
                None => put(&mut out, 1, pair),
                Some(new) => put(&mut out, 1, &with_value(pair, &new)),
            }
        }
        (out != map).then(|| field(6, &out))
    }

    fn whole(&self, class: FieldClass, message: &[u8]) -> Option<Vec<u8>> {
        match self.hasher.value(self.action(class), message) {
            Outcome::Same => None,
            Outcome::Gone => Some(Vec::new()),
            Outcome::New(new) => Some(new),
        }
    }
}

/// A word or a number.
pub(super) fn is_named(value: AnyValue<'_>) -> bool {
    match value {
        AnyValue::Str(text) => is_word(text),
        AnyValue::Empty | AnyValue::Bool(_) | AnyValue::Int(_) | AnyValue::Double(_) => true,
        AnyValue::Array(_) | AnyValue::Map(_) | AnyValue::Bytes(_) => false,
    }
}
