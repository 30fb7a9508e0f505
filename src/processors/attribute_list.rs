//! The attributes of a span or resource while actions change them.
//!
//! Entries are `KeyValue` messages as they stand, so that what nobody touches stays byte for byte, unknown fields included.
//! Order and repeated keys are handled as the Collector does: the first of a key counts, and the last entry takes the place
//! of one that is removed.

use super::literal::pair;
use crate::otlp::{AnyValue, Splice, WireError, any_value, key_value, raw_fields};
use std::borrow::Cow;

struct Entry<'a> {
    key: Cow<'a, [u8]>,
    /// The `KeyValue` message.
    message: Cow<'a, [u8]>,
}

/// The `KeyValue`s in field `number` of a message.
pub(super) struct AttributeList<'a> {
    owner: &'a [u8],
    number: u8,
    entries: Vec<Entry<'a>>,
    changed: bool,
}

impl<'a> AttributeList<'a> {
    pub(super) fn read(owner: &'a [u8], number: u8) -> Result<Self, WireError> {
        let mut entries = Vec::new();
        for field in raw_fields(owner) {
            if let Some(message) = field?.message(u32::from(number)) {
                let (key, _) = key_value(message, 0)?;
                entries.push(Entry {
                    key: key.into(),
                    message: message.into(),
                });
            }
        }
        Ok(Self {
            owner,
            number,
            entries,
            changed: false,
        })
    }

    fn position(&self, key: &[u8]) -> Option<usize> {
        self.entries.iter().position(|entry| *entry.key == *key)
    }

    pub(super) fn has(&self, key: &[u8]) -> bool {
        self.position(key).is_some()
    }

    /// The `AnyValue` message of the first attribute with this key.
    pub(super) fn value(&self, key: &[u8]) -> Option<Vec<u8>> {
        let entry = self.entries.get(self.position(key)?)?;
        Some(value_of(&entry.message).to_vec())
    }

    /// Changes the value of the first attribute with this key, or adds it.
    pub(super) fn set(&mut self, key: &[u8], value: &[u8]) {
        match self.position(key) {
            Some(at) => self.set_at(at, value),
            None => {
                self.changed = true;
                self.entries.push(Entry {
                    key: key.to_vec().into(),
                    message: pair(key, value).into(),
                });
            }
        }
    }

    fn set_at(&mut self, at: usize, value: &[u8]) {
        let Some(entry) = self.entries.get_mut(at) else {
            return;
        };
        if value_of(&entry.message) == value {
            return;
        }
        self.changed = true;
        let new = with_value(&entry.message, value);
        entry.message = new.into();
    }

    /// Changes the value of the first attribute with this key by what it is.
    pub(super) fn update(&mut self, key: &[u8], new: impl Fn(AnyValue<'_>) -> Option<Vec<u8>>) {
        if let Some(at) = self.position(key) {
            self.update_at(at, &new);
        }
    }

    /// The same for all attributes whose key is meant.
    pub(super) fn update_where(
        &mut self,
        meant: impl Fn(&[u8]) -> bool,
        new: impl Fn(AnyValue<'_>) -> Option<Vec<u8>>,
    ) {
        for at in 0..self.entries.len() {
            if self.entries.get(at).is_some_and(|entry| meant(&entry.key)) {
                self.update_at(at, &new);
            }
        }
    }

    fn update_at(&mut self, at: usize, new: &impl Fn(AnyValue<'_>) -> Option<Vec<u8>>) {
        let value = self
            .entries
            .get(at)
            .and_then(|entry| new(any_value(value_of(&entry.message), 0).ok()?));
        if let Some(value) = value {
            self.set_at(at, &value);
        }
    }

    /// Takes the first attribute with this key out.
    pub(super) fn remove(&mut self, key: &[u8]) {
        if let Some(at) = self.position(key) {
            self.changed = true;
            self.entries.swap_remove(at);
        }
    }

    /// Takes all attributes out whose key is meant.
    pub(super) fn remove_where(&mut self, meant: impl Fn(&[u8]) -> bool) {
        let before = self.entries.len();
        self.entries.retain(|entry| !meant(&entry.key));
        self.changed |= self.entries.len() < before;
    }

    /// The owner with these attributes, where its first one stood; `None` when nothing was changed.
    pub(super) fn finish(self) -> Option<Vec<u8>> {
        if !self.changed {
            return None;
        }
        let mut splice = Splice::new(self.owner);
        let mut entries = Some(self.entries);
        let write = |splice: &mut Splice<'_>, entries: Vec<Entry<'_>>| {
            for entry in entries {
                splice.put(self.number, &entry.message);
            }
        };
        for field in raw_fields(self.owner).flatten() {
            if field.message(u32::from(self.number)).is_some() {
                splice.cut(&field.range);
                if let Some(entries) = entries.take() {
                    write(&mut splice, entries);
                }
            }
        }
        if let Some(entries) = entries {
            splice.go_to_end();
            write(&mut splice, entries);
        }
        splice.finish()
    }
}

/// The value of a `KeyValue`: the last one counts.
fn value_of(pair: &[u8]) -> &[u8] {
    raw_fields(pair)
        .filter_map(|field| field.ok()?.message(2))
        .last()
        .unwrap_or_default()
}

/// A `KeyValue` with another value and all else that it has.
fn with_value(pair: &[u8], value: &[u8]) -> Vec<u8> {
    let mut splice = Splice::new(pair);
    for field in raw_fields(pair).flatten() {
        if field.number == 2 {
            splice.cut(&field.range);
        }
    }
    splice.go_to_end();
    splice.put(2, value);
    splice.finish().unwrap_or_default()
}
