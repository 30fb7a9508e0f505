//! What percentile rules see of a trace: its key values, how many tokens it has, and the times that they observe; and of
//! single spans, where a rule asks for them.
//!
//! Spans are observed as they are folded, for a span is over when it comes, whatever becomes of its trace. A trace keeps the
//! longest span for each key that it has, and a rule matches when one of them is over its key's threshold.

use super::atoms::Atoms;
use super::call_rule::Tokens;
use super::facts::{Facts, slot_of};
use super::program::{PercentileRule, Program};
use super::spec::PercentileOf;
use super::values::{ABSENT, ValueIds};
use super::verdict::State;
use crate::genai::SpanRecord;
use std::ops::Range;

/// Keys of a rule, tokens among them: the config takes no more than eight attributes.
pub(super) const MOST_KEYS: usize = 9;

/// What a trace, or one span, tells percentile rules.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Seen {
    /// Of the program's slots.
    pub(super) values: Vec<u32>,
    /// Value ids of the buckets of its tokens.
    pub(super) buckets: [u32; Tokens::WORDS.len()],
    /// Rule and key of each of its longest spans, in the order in which keys were first seen.
    pub(super) spans: Vec<(usize, Vec<u32>)>,
    duration: Option<u64>,
    ttft: Option<u64>,
    time_per_output_token: Option<u64>,
    queue: Option<u64>,
}

impl Seen {
    /// Takes in what a trace's state says, in place of what was there.
    pub(crate) fn take(&mut self, program: &Program, state: State<'_>, ids: &ValueIds) {
        self.values.clear();
        self.values.extend(program.key_values(state.words));
        self.duration = state.duration();
        let record = state.features.map(|features| &features.record);
        self.ttft = record.and_then(|record| record.ttft());
        self.time_per_output_token = record.and_then(|record| record.time_per_output_token());
        self.queue = record.and_then(|record| record.queue());
        self.buckets = [ABSENT; Tokens::WORDS.len()];
        if let Some(record) = record
            && program.percentiles.iter().any(|rule| rule.tokens.is_some())
        {
            for (bucket, (_, tokens)) in self.buckets.iter_mut().zip(Tokens::WORDS) {
                *bucket = tokens
                    .of(record)
                    .map_or(ABSENT, |tokens| bucket_id(tokens, ids));
            }
        }
        self.spans.clear();
        if let Some(features) = state.features {
            let keys = features.longest.iter();
            self.spans
                .extend(keys.map(|longest| (longest.rule, longest.key.clone())));
        }
    }

    /// The time that a rule observes.
    pub(super) fn time(&self, of: PercentileOf) -> Option<u64> {
        match of {
            PercentileOf::Trace => self.duration,
            PercentileOf::Ttft => self.ttft,
            PercentileOf::TimePerOutputToken => self.time_per_output_token,
            PercentileOf::Queue => self.queue,
            PercentileOf::Span => None,
        }
    }

    #[cfg(test)]
    pub(super) fn of(values: &[u32], duration: u64) -> Self {
        Self {
            values: values.to_vec(),
            duration: Some(duration),
            ..Self::default()
        }
    }
}

/// The key of one span under one rule.
#[derive(Debug, Default)]
pub(super) struct SpanKey {
    ids: [u32; MOST_KEYS],
    length: usize,
}

impl SpanKey {
    fn push(&mut self, id: u32) -> Option<()> {
        if id == ABSENT {
            return None;
        }
        *self.ids.get_mut(self.length)? = id;
        self.length += 1;
        Some(())
    }

    pub(super) fn ids(&self) -> &[u32] {
        self.ids.get(..self.length).unwrap_or_default()
    }
}

impl Program {
    /// Some rule observes spans.
    pub(crate) fn sees_spans(&self) -> bool {
        let of_span = |rule: &PercentileRule| rule.of == PercentileOf::Span;
        self.percentiles.iter().any(of_span)
    }

    /// Each observation of a rule that sees spans: the rule, the span's key, its duration. A span without one of the keys
    /// is none.
    pub(crate) fn each_span(
        &self,
        atoms: &Atoms,
        facts: &Facts,
        spans: Range<usize>,
        mut observe: impl FnMut(usize, &[u32], u64),
    ) {
        for span in spans {
            let Some(times) = facts.spans.get(span) else {
                continue;
            };
            let Some(duration) = times.end.checked_sub(times.start) else {
                continue;
            };
            for (number, rule) in self.percentiles.iter().enumerate() {
                if rule.of == PercentileOf::Span
                    && let Some(key) = self.span_key(rule, atoms, facts, span)
                {
                    observe(number, key.ids(), duration);
                }
            }
        }
    }

    fn span_key(
        &self,
        rule: &PercentileRule,
        atoms: &Atoms,
        facts: &Facts,
        span: usize,
    ) -> Option<SpanKey> {
        let words = facts.words_of(span);
        let mut key = SpanKey::default();
        for slot in &rule.slots {
            let slot = *self.slots.get(*slot)?;
            key.push(slot_of(words, atoms.bit_words(), slot))?;
        }
        if let Some(tokens) = rule.tokens {
            let (_, record) = facts.records_of(span..span + 1).next()?;
            key.push(bucket_id(of_span(tokens, record)?, atoms.values()))?;
        }
        Some(key)
    }

    /// Where the thresholds of a rule stand, and how many: one, or one for each key of the spans it sees.
    pub(super) fn thresholds_of(&self, rule: usize, state: State<'_>) -> Range<usize> {
        let count = |rule: usize| match self.percentiles.get(rule).map(|rule| rule.of) {
            Some(PercentileOf::Span) => state
                .features
                .map_or(0, |features| features.longest_of(rule).count()),
            _ => 1,
        };
        let start = (0..rule).map(count).sum();
        start..start + count(rule)
    }

    /// Whether a trace is over one of a rule's thresholds.
    pub(super) fn is_slower(&self, number: usize, state: State<'_>, thresholds: &[u64]) -> bool {
        let Some(rule) = self.percentiles.get(number) else {
            return false;
        };
        let own = thresholds.get(self.thresholds_of(number, state));
        let own = own.unwrap_or_default();
        let record = state.features.map(|features| &features.record);
        let time = match rule.of {
            PercentileOf::Trace => state.duration(),
            PercentileOf::Ttft => record.and_then(|record| record.ttft()),
            PercentileOf::TimePerOutputToken => {
                record.and_then(|record| record.time_per_output_token())
            }
            PercentileOf::Queue => record.and_then(|record| record.queue()),
            PercentileOf::Span => {
                let features = state.features.into_iter();
                let times = features.flat_map(|features| features.longest_of(number));
                return times.zip(own).any(|(time, threshold)| time > *threshold);
            }
        };
        time.zip(own.first())
            .is_some_and(|(time, threshold)| time > *threshold)
    }
}

fn of_span(tokens: Tokens, record: &SpanRecord<u64>) -> Option<u64> {
    let (input, output) = (record.input_tokens, record.output_tokens);
    let of = |tokens: Option<u32>| tokens.map(u64::from);
    match tokens {
        Tokens::Input => of(input),
        Tokens::Output => of(output),
        Tokens::Total => Some(u64::from(input?) + u64::from(output?)),
        Tokens::Cached => of(record.cached_tokens),
        Tokens::Reasoning => of(record.reasoning_tokens),
    }
}

/// Buckets are twice as wide as the one before: 0, 1, 2-3, 4-7 and so on.
fn bucket_id(tokens: u64, ids: &ValueIds) -> u32 {
    let text = match tokens.checked_ilog2() {
        None => "0".to_owned(),
        Some(0) => "1".to_owned(),
        Some(power) => format!("{}-{}", 1_u64 << power, (2_u128 << power) - 1),
    };
    ids.id(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_double() {
        let ids = ValueIds::default();
        for (tokens, expected) in [
            (0, "0"),
            (1, "1"),
            (2, "2-3"),
            (3, "2-3"),
            (4, "4-7"),
            (1000, "512-1023"),
            (u64::MAX, "9223372036854775808-18446744073709551615"),
        ] {
            assert_eq!(&*ids.text(bucket_id(tokens, &ids)), expected, "{tokens}");
        }
    }
}
