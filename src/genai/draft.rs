//! Reads one recognised span into a record: every attribute, event and the name are looked up, and of several keys that
//! tell one concept the one with the lowest rank counts, in whatever order they came.

use super::anomaly::{Anomalies, Anomaly};
use super::dialects::{Dialects, EventEntry, KeyEntry, KindOf, Row, Test};
use super::family_key::FamilyKey;
use super::fold_text::{Folded, unquoted};
use super::json_leaves::{fits, json_leaves};
use super::record::{FinishSet, SpanRecord};
use super::settle::settle;
use super::texts::{error_name, text};
use super::words::{Concept, Form};
use super::{numbers, texts};
use crate::otlp::{AnyValue, Cursor, SpanBytes, SpanHead, WireError, key_value};

/// Ranks of concepts that nothing has told.
const UNTOLD: u16 = u16::MAX;
/// The rank of a kind that the span's name tells: every key that tells one is better.
const BY_NAME: u16 = u16::MAX - 1;

/// A record in the making.
pub(super) struct Draft<'a, 'n> {
    dialects: &'a Dialects,
    anomalies: &'n mut Anomalies,
    /// The dialect's bit.
    dialect: u64,
    ranks: [u16; Concept::ALL.len()],
    pub(super) record: SpanRecord<&'a [u8]>,
    pub(super) queue_start: Option<u64>,
    pub(super) queue_end: Option<u64>,
    pub(super) exception: bool,
    pub(super) status: u32,
    /// What the kind says of streaming.
    pub(super) kind_streams: Option<bool>,
    /// Events seen, to tell their evaluations apart.
    events: u32,
}

impl<'a, 'n> Draft<'a, 'n> {
    pub(super) fn read(
        dialects: &'a Dialects,
        test: Test,
        head: &SpanHead,
        bytes: &SpanBytes<'a>,
        anomalies: &'n mut Anomalies,
    ) -> SpanRecord<&'a [u8]> {
        let mut draft = Draft {
            dialects,
            anomalies,
            dialect: 1 << test.dialect.0,
            ranks: [UNTOLD; Concept::ALL.len()],
            record: SpanRecord::new(test.dialect, test.stand, test.kind),
            queue_start: None,
            queue_end: None,
            exception: false,
            status: head.status,
            kind_streams: None,
            events: 0,
        };
        if test.fixed
            && let Some(told) = draft.ranks.get_mut(Concept::Kind as usize)
        {
            *told = 0;
        }
        draft.record.start = head.start;
        draft.record.duration = head.end.saturating_sub(head.start);
        if head.end < head.start {
            draft.count(Anomaly::Backwards);
        }
        draft.name(bytes.name);
        // The span was walked by the scan: an error cannot come up here, and would only end the walk.
        let _ = draft.fields(bytes.span);
        settle(&mut draft);
        draft.record
    }

    pub(super) fn count(&mut self, anomaly: Anomaly) {
        self.anomalies.count(anomaly);
    }

    fn fields(&mut self, span: &'a [u8]) -> Result<(), WireError> {
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

    fn name(&mut self, name: &[u8]) {
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

    fn wants(&self, row: &Row) -> bool {
        row.only & self.dialect != 0
    }

    /// Whether the row tells its concept better than what did so far.
    fn better(&self, row: &Row) -> bool {
        self.ranks
            .get(row.concept as usize)
            .is_some_and(|rank| row.rank < *rank)
    }

    fn told(&mut self, row: &Row) {
        if let Some(rank) = self.ranks.get_mut(row.concept as usize) {
            *rank = row.rank;
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

    fn kind(&mut self, kind: KindOf, rank: u16) {
        let Some(told) = self.ranks.get_mut(Concept::Kind as usize) else {
            return;
        };
        if rank < *told {
            *told = rank;
            self.record.kind = kind.kind;
            self.record.operation = kind.operation;
            self.kind_streams = kind.stream;
        }
    }

    /// What `row` says of `value`, if nothing better has told it.
    fn tell(&mut self, row: &'a Row, number: u32, value: AnyValue<'a>) {
        use Concept as C;
        if !self.wants(row) {
            return;
        }
        match row.concept {
            C::ScoreName | C::ScoreValue | C::ScoreLabel => return self.score(row, number, value),
            C::FinishReason => return self.finish(row, value),
            C::Error => {
                self.record.error |= texts::is_error(row.form, value);
                return;
            }
            _ => {}
        }
        if !self.better(row) {
            return;
        }
        match row.concept {
            C::InputTokens
            | C::OutputTokens
            | C::CachedTokens
            | C::CacheWriteTokens
            | C::ReasoningTokens => match numbers::tokens(value) {
                Ok(tokens) => {
                    self.told(row);
                    if let Some(place) = tokens_of(&mut self.record, row.concept) {
                        *place = Some(tokens);
                    }
                }
                Err(anomaly) => self.unless_empty(value, anomaly),
            },
            C::Stream | C::CacheHit => match numbers::boolean(value) {
                Ok(value) => {
                    self.told(row);
                    if row.concept == C::Stream {
                        self.record.stream = Some(value);
                    } else {
                        self.record.cache_hit = Some(value);
                    }
                }
                Err(anomaly) => self.unless_empty(value, anomaly),
            },
            C::Ttft
            | C::TimePerOutputToken
            | C::Queue
            | C::QueueStart
            | C::QueueEnd
            | C::Prefill
            | C::Decode => match numbers::time(row.form, value, self.record.start) {
                Err(anomaly) => self.unless_empty(value, anomaly),
                time => self.time(row, time),
            },
            _ => self.text(row, value),
        }
    }

    /// An empty text or no value is absent, not wrong.
    fn unless_empty(&mut self, value: AnyValue<'_>, anomaly: Anomaly) {
        let absent = match value {
            AnyValue::Empty => true,
            AnyValue::Str(text) => self.dialects.is_placeholder(unquoted(text)),
            _ => false,
        };
        if !absent {
            self.count(anomaly);
        }
    }

    fn time(&mut self, row: &Row, time: Result<u64, Anomaly>) {
        let time = match time {
            Ok(time) => time,
            Err(anomaly) => return self.count(anomaly),
        };
        // OpenLIT writes 0 for calls that were not streamed; no token takes no time.
        if !self.better(row) || (row.concept == Concept::TimePerOutputToken && time == 0) {
            return;
        }
        self.told(row);
        if let Some(place) = self.time_of(row.concept) {
            *place = Some(time);
        }
    }

    fn time_of(&mut self, concept: Concept) -> Option<&mut Option<u64>> {
        match concept {
            Concept::Ttft => Some(&mut self.record.ttft),
            Concept::TimePerOutputToken => Some(&mut self.record.time_per_output_token),
            Concept::Queue => Some(&mut self.record.queue),
            Concept::QueueStart => Some(&mut self.queue_start),
            Concept::QueueEnd => Some(&mut self.queue_end),
            Concept::Prefill => Some(&mut self.record.prefill),
            Concept::Decode => Some(&mut self.record.decode),
            _ => None,
        }
    }

    fn text(&mut self, row: &Row, value: AnyValue<'a>) {
        let found = match text(self.dialects, value) {
            Ok(Some(text)) if row.concept == Concept::ErrorType => error_name(text, row.form),
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(anomaly) => return self.count(anomaly),
        };
        let found = if row.concept == Concept::Provider {
            let Some(provider) = self.dialects.provider(found) else {
                return;
            };
            provider
        } else {
            found
        };
        self.told(row);
        let place = match row.concept {
            Concept::Provider => &mut self.record.provider,
            Concept::RequestModel => &mut self.record.request_model,
            Concept::ResponseModel => &mut self.record.response_model,
            Concept::ErrorType => &mut self.record.error_type,
            Concept::Tool => &mut self.record.tool,
            Concept::ConversationId => &mut self.record.conversation_id,
            Concept::ResponseId => &mut self.record.response_id,
            _ => return,
        };
        *place = Some(found);
    }

    /// Finish reasons of one row add up: there is one for each choice.
    fn finish(&mut self, row: &Row, value: AnyValue<'a>) {
        let Some(told) = self.ranks.get_mut(Concept::FinishReason as usize) else {
            return;
        };
        let mut found = FinishSet::default();
        texts::each_word(value, &mut |word| {
            if !self.dialects.is_placeholder(word) {
                found = found.with(self.dialects.finish(word));
            }
        });
        if found.is_empty() || row.rank > *told {
            return;
        }
        let before = if row.rank == *told {
            self.record.finish
        } else {
            FinishSet::default()
        };
        *told = row.rank;
        self.record.finish = before.union(found);
    }

    fn score(&mut self, row: &'a Row, number: u32, value: AnyValue<'a>) {
        let (mut found, mut label) = (None, None);
        if row.concept == Concept::ScoreValue {
            match numbers::number(value) {
                Ok(number) => found = Some(number),
                Err(anomaly) => return self.unless_empty(value, anomaly),
            }
        } else {
            match text(self.dialects, value) {
                Ok(Some(text)) => label = Some(text),
                Ok(None) => return,
                Err(anomaly) => return self.count(anomaly),
            }
        }
        let Some(score) = self.record.scores.at((row.group, number)) else {
            return self.count(Anomaly::TooManyScores);
        };
        match row.concept {
            Concept::ScoreValue => score.value = found,
            Concept::ScoreName => score.name = label,
            _ => score.label = label,
        }
        if let Some(name) = &row.named {
            score.name = Some(name);
        }
    }
}

fn tokens_of<'r>(
    record: &'r mut SpanRecord<&[u8]>,
    concept: Concept,
) -> Option<&'r mut Option<u32>> {
    match concept {
        Concept::InputTokens => Some(&mut record.input_tokens),
        Concept::OutputTokens => Some(&mut record.output_tokens),
        Concept::CachedTokens => Some(&mut record.cached_tokens),
        Concept::CacheWriteTokens => Some(&mut record.cache_write_tokens),
        Concept::ReasoningTokens => Some(&mut record.reasoning_tokens),
        _ => None,
    }
}
