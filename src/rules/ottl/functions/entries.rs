//! A map in the making: in order of first appearance, of a repeated key the last value. Each key is found in one step,
//! however many there are.

use super::super::value::{Bytes, Value};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

#[derive(Default)]
pub(super) struct Entries<'a> {
    entries: Vec<(Bytes<'a>, Value<'a>)>,
    places: HashMap<Bytes<'a>, usize>,
}

impl<'a> Entries<'a> {
    pub(super) fn put(&mut self, key: Bytes<'a>, value: Value<'a>) {
        match self.places.entry(key) {
            Entry::Vacant(entry) => {
                self.entries.push((entry.key().clone(), value));
                entry.insert(self.entries.len() - 1);
            }
            Entry::Occupied(entry) => {
                if let Some((_, known)) = self.entries.get_mut(*entry.get()) {
                    *known = value;
                }
            }
        }
    }

    pub(super) fn into_map(self, raw: bool) -> Value<'a> {
        Value::map(self.entries, raw)
    }
}
