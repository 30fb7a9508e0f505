//! The walk over a recognised span: its name, attributes and events are looked up, and what the table knows is told to the
//! draft.

use super::anomaly::Anomaly;
use super::dialects::{EventEntry, KeyEntry, Row};
use super::draft::Draft;
use super::family_key::FamilyKey;
use super::fold_text::{Folded, unquoted};
use super::json_leaves::{fits, json_leaves};
use super::words::Form;
use crate::otlp::{AnyValue, Cursor, WireError, key_value};

/// The rank of a kind that the span's name tells: every key that tells one is better.
const BY_NAME: u16 = u16::MAX - 1;

impl<'a> Draft<'a, '_> {
    pub(super) fn fields(&mut self, span: &'a [u8]) -> Result<(), WireError> {
        let mut cursor = Cursor::new(span);
        while let Some((number, field)) = cursor.next()? {
            match number {
                9 => {
                    let (key, value) = key_value(field.bytes()?, 0)?;
                    self.attribute(key, value);
                }
                11 => self.event(field.bytes()?)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The attributes of a log record that are about evaluations.
    pub(super) fn evaluations(&mut self, record: &'a [u8]) -> Result<(), WireError> {
        let mut cursor = Cursor::new(record);
        while let Some((number, field)) = cursor.next()? {
            if number == 6 {
                let (key, value) = key_value(field.bytes()?, 0)?;
                self.attribute(key, value);
            }
        }
        Ok(())
    }

    pub(super) fn name(&mut self, name: &[u8]) {
        let Some(entry) = self.dialects.span_name(name) else {
            return;
        };
        for (only, kind) in &entry.kinds {
            if only & self.dialect != 0 {
                self.kind(*kind, BY_NAME);
            }
        }
        for row in &entry.rows {
            if self.wants(row) {
                let duration = self.record.duration;
                self.time(row, Ok(duration));
            }
        }
    }

    fn attribute(&mut self, key: &'a [u8], value: AnyValue<'a>) {
        let found = self.dialects.key(key);
        if let Some(entry) = found {
            self.entry(entry, 0, value);
        }
        if found.is_none_or(|entry| entry.rows.is_empty())
            && let Some(family) = FamilyKey::of(&self.dialects.families, key)
            && let Some(entry) = self.dialects.key(family.as_bytes())
        {
            self.entry(entry, family.number, value);
        }
    }

    fn entry(&mut self, entry: &'a KeyEntry, number: u32, value: AnyValue<'a>) {
        for row in &entry.rows {
            if row.form == Form::Kind {
                self.kind_of(entry, row, value);
            } else {
                self.tell(row, number, value);
            }
        }
        if !entry.leaves.is_empty()
            && let AnyValue::Str(text) = value
            && entry.leaves.iter().any(|(_, row)| self.wants(row))
        {
            json_leaves(text, &mut |path, value| {
                for (wanted, row) in &entry.leaves {
                    if fits(path, wanted) {
                        self.tell(row, number, value);
                    }
                }
            });
        }
    }

    fn event(&mut self, message: &'a [u8]) -> Result<(), WireError> {
        let (mut name, mut time) = (&[][..], 0);
        let mut cursor = Cursor::new(message);
        while let Some((number, field)) = cursor.next()? {
            match number {
                1 => time = field.fixed64()?,
                2 => name = field.bytes()?,
                _ => {}
            }
        }
        let Some(entry) = self.dialects.event(name) else {
            return Ok(());
        };
        self.events += 1;
        for row in &entry.rows {
            self.event_row(row, time);
        }
        if !entry.attributes.is_empty() {
            self.event_attributes(entry, message)?;
        }
        Ok(())
    }

    fn event_row(&mut self, row: &Row, time: u64) {
        if !self.wants(row) {
            return;
        }
        if row.form == Form::Mark {
            self.exception = true;
            return;
        }
        let offset = time.checked_sub(self.record.start);
        if self.ranks.get(row.concept as usize) != Some(&row.rank) {
            return self.time(row, offset.ok_or(Anomaly::Negative));
        }
        // The first of many events counts.
        if let (Some(offset), Some(Some(known))) = (offset, self.time_of(row.concept)) {
            *known = offset.min(*known);
        }
    }

    fn event_attributes(
        &mut self,
        entry: &'a EventEntry,
        message: &'a [u8],
    ) -> Result<(), WireError> {
        let mut cursor = Cursor::new(message);
        while let Some((number, field)) = cursor.next()? {
            if number == 3 {
                let (key, value) = key_value(field.bytes()?, 0)?;
                for (wanted, path, row) in &entry.attributes {
                    if **wanted == *key {
                        self.event_attribute(path, row, value);
                    }
                }
            }
        }
        Ok(())
    }

    fn event_attribute(&mut self, path: &[Box<[u8]>], row: &'a Row, value: AnyValue<'a>) {
        let number = self.events;
        match value {
            value if path.is_empty() => self.tell(row, number, value),
            AnyValue::Str(text) if self.wants(row) => json_leaves(text, &mut |at, value| {
                if fits(at, path) {
                    self.tell(row, number, value);
                }
            }),
            _ => {}
        }
    }

    fn kind_of(&mut self, entry: &KeyEntry, row: &Row, value: AnyValue<'_>) {
        let AnyValue::Str(text) = value else {
            return;
        };
        let known = Folded::of(unquoted(text))
            .and_then(|folded| entry.kinds.get(folded.as_bytes()))
            .unwrap_or(&entry.other_kind);
        let own = known.iter().find(|(only, _)| only & self.dialect != 0);
        if let Some((_, kind)) = own.filter(|_| self.wants(row)) {
            self.kind(*kind, row.rank);
        }
    }
}
