//! A record in the making: of several keys that tell one concept the one with the lowest rank counts, in whatever order they
//! come. `walk` brings the values, `settle` draws the conclusions.

use super::anomaly::{Anomalies, Anomaly};
use super::dialects::{Dialects, KindOf, Row, Test};
use super::fold_text::unquoted;
use super::record::{FinishSet, SpanRecord};
use super::settle::settle;
use super::texts::{error_name, text};
use super::words::{Concept, Kind};
use super::{numbers, texts};
use crate::otlp::{AnyValue, SpanBytes, SpanHead};

/// Ranks of concepts that nothing has told.
const UNTOLD: u16 = u16::MAX;

/// A record in the making.
pub(super) struct Draft<'a, 'n> {
    pub(super) dialects: &'a Dialects,
    anomalies: &'n mut Anomalies,
    /// The dialect's bit.
    pub(super) dialect: u64,
    pub(super) ranks: [u16; Concept::ALL.len()],
    pub(super) record: SpanRecord<&'a [u8]>,
    pub(super) queue_start: Option<u64>,
    pub(super) queue_end: Option<u64>,
    pub(super) exception: bool,
    pub(super) status: u32,
    /// What the kind says of streaming.
    pub(super) kind_streams: Option<bool>,
    /// Events seen, to tell their evaluations apart.
    pub(super) events: u32,
}

impl<'a, 'n> Draft<'a, 'n> {
    pub(super) fn read(
        dialects: &'a Dialects,
        test: Test,
        head: &SpanHead,
        bytes: &SpanBytes<'a>,
        anomalies: &'n mut Anomalies,
    ) -> SpanRecord<&'a [u8]> {
        let mut draft = Draft::new(dialects, test, anomalies);
        draft.status = head.status;
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

    /// The evaluations that a log record reports; `None` when there is none.
    pub(super) fn judged(
        dialects: &'a Dialects,
        test: Test,
        record: &'a [u8],
        anomalies: &'n mut Anomalies,
    ) -> Option<SpanRecord<&'a [u8]>> {
        let mut draft = Draft::new(dialects, test, anomalies);
        // As above: it was walked.
        let _ = draft.evaluations(record);
        let mut scores = draft.record.scores;
        scores.settle();
        scores.iter().next()?;
        Some(SpanRecord {
            scores,
            ..SpanRecord::new(test.dialect, test.stand, Kind::Other)
        })
    }

    fn new(dialects: &'a Dialects, test: Test, anomalies: &'n mut Anomalies) -> Self {
        Self {
            dialects,
            anomalies,
            dialect: 1 << test.dialect.0,
            ranks: [UNTOLD; Concept::ALL.len()],
            record: SpanRecord::new(test.dialect, test.stand, test.kind),
            queue_start: None,
            queue_end: None,
            exception: false,
            status: 0,
            kind_streams: None,
            events: 0,
        }
    }

    pub(super) fn count(&mut self, anomaly: Anomaly) {
        self.anomalies.count(anomaly);
    }

    pub(super) fn wants(&self, row: &Row) -> bool {
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

    pub(super) fn kind(&mut self, kind: KindOf, rank: u16) {
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
    pub(super) fn tell(&mut self, row: &'a Row, number: u32, value: AnyValue<'a>) {
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
            | C::ReasoningTokens => self.count_of_tokens(row, value),
            C::Stream | C::CacheHit => self.flag(row, value),
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

    fn count_of_tokens(&mut self, row: &Row, value: AnyValue<'_>) {
        match numbers::tokens(value) {
            Ok(tokens) => {
                self.told(row);
                if let Some(place) = tokens_of(&mut self.record, row.concept) {
                    *place = Some(tokens);
                }
            }
            Err(anomaly) => self.unless_empty(value, anomaly),
        }
    }

    fn flag(&mut self, row: &Row, value: AnyValue<'_>) {
        match numbers::boolean(value) {
            Ok(value) => {
                self.told(row);
                if row.concept == Concept::Stream {
                    self.record.stream = Some(value);
                } else {
                    self.record.cache_hit = Some(value);
                }
            }
            Err(anomaly) => self.unless_empty(value, anomaly),
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

    pub(super) fn time(&mut self, row: &Row, time: Result<u64, Anomaly>) {
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

    pub(super) fn time_of(&mut self, concept: Concept) -> Option<&mut Option<u64>> {
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
