//! What spans are tested for: every policy's attribute, status and keyword tests, each once, each a bit.
//!
//! One table serves all pipelines of a process, so that a request is scanned once however many policies there are. Only
//! keys that a policy names are looked at. Attribute semantics are the Collector's: the first of a repeated key counts,
//! and a value of another kind reads as empty, 0 or false.

use super::call_rule::Price;
use super::call_test::CallTest;
use super::key_index::KeyIndex;
use super::keyword::KeywordMatcher;
use super::ottl::{Condition, ErrorMode};
use super::prices::PriceTable;
use super::text_keys::TextKeys;
use super::values::ValueIds;
use crate::genai::Dialects;
use hashbrown::HashSet;
use regex::bytes::Regex;
use std::sync::Arc;

/// A test of one attribute value.
#[derive(Debug, Clone)]
pub(crate) enum Test {
    /// One of these texts.
    OneOf(HashSet<Box<[u8]>>),
    /// Matches one of these (Go syntax, compiled by `go_regex`), unanchored.
    Matches(Vec<Regex>),
    /// An int in the inclusive range.
    Between(i64, i64),
    /// A bool.
    Is(bool),
}

impl PartialEq for Test {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::OneOf(a), Self::OneOf(b)) => a == b,
            (Self::Matches(a), Self::Matches(b)) => {
                a.iter().map(Regex::as_str).eq(b.iter().map(Regex::as_str))
            }
            (Self::Between(a, b), Self::Between(c, d)) => (a, b) == (c, d),
            (Self::Is(a), Self::Is(b)) => a == b,
            _ => false,
        }
    }
}

/// The conditions of one `ottl_condition`.
#[derive(Debug)]
pub(crate) struct ConditionTest {
    pub(crate) mode: ErrorMode,
    pub(crate) span: Vec<Condition>,
    pub(crate) events: Vec<Condition>,
    pub(crate) matched: u32,
    pub(crate) failed: u32,
}

/// What is wanted of one attribute key.
#[derive(Debug, Default)]
pub(crate) struct KeyTests {
    pub(crate) key: Box<[u8]>,
    pub(crate) tests: Vec<(Test, u32)>,
    /// Its value is a percentile key.
    pub(crate) slot: Option<u32>,
    /// Its text can be a prompt or an answer.
    pub(crate) text: bool,
}

/// The table. Built once from all programs' needs.
#[derive(Debug)]
pub struct Atoms {
    pub(crate) keys: Vec<KeyTests>,
    index: KeyIndex,
    /// Mask of status codes (bit = code) and the bit it sets.
    pub(crate) statuses: Vec<(u8, u32)>,
    /// Members of the tracestate, the texts that match, and the bit they set.
    pub(crate) trace_states: Vec<(String, Vec<String>, u32)>,
    /// The bit of a span with the sampled flag.
    pub(crate) sampled_flag: Option<u32>,
    /// Conditions over whole spans.
    pub(crate) conditions: Vec<ConditionTest>,
    /// Sampling information is wanted: each span's last word.
    pub(crate) trace_state: bool,
    /// Sizes as the Collector counts them are wanted.
    pub(crate) sizes: bool,
    /// Sizes count schema URLs.
    pub(crate) schema_urls: bool,
    /// Spans with ids of zeros are taken, as the Collector takes them.
    pub(crate) zero_ids: bool,
    pub(crate) keywords: Option<KeywordMatcher>,
    pub(crate) text_keys: TextKeys,
    pub(crate) bits: u32,
    pub(crate) slots: u32,
    pub(crate) values: Arc<ValueIds>,
    /// What is known of LLM telemetry, where anything is asked of it.
    dialects: Option<Arc<Dialects>>,
    /// The records of recognised spans are wanted.
    pub(crate) records: bool,
    /// Tests of single records.
    pub(crate) calls: Vec<(CallTest, u32)>,
    pub(crate) prices: Vec<PriceTable>,
}

impl Atoms {
    /// Index of what is wanted of `key`.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> Option<usize> {
        self.index.find(key)
    }

    /// The bits that all programs' tests take.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The table of percentile key values.
    #[must_use]
    pub fn values(&self) -> &ValueIds {
        &self.values
    }

    /// What spans of known libraries are found by, when they are looked for.
    pub(crate) fn dialects(&self) -> Option<&Dialects> {
        self.dialects.as_deref()
    }

    /// The text of a name in a record of `Facts`.
    #[must_use]
    pub fn name(&self, id: u64) -> Arc<str> {
        self.values.text(u32::try_from(id).unwrap_or_default())
    }

    /// Whether sizes as the Collector counts them are wanted, and if so whether schema URLs count.
    pub(crate) fn sizes(&self) -> Option<bool> {
        self.sizes.then_some(self.schema_urls)
    }

    /// Words of bits for each span.
    pub(crate) fn bit_words(&self) -> usize {
        self.bits.div_ceil(64) as usize
    }

    /// Words for each span: bits, percentile key values (two to a word), sampling information.
    pub(crate) fn stride(&self) -> usize {
        self.bit_words() + self.slots.div_ceil(2) as usize + usize::from(self.trace_state)
    }
}

/// Collects what programs need; equal needs share a bit.
#[derive(Debug, Default)]
pub struct AtomsBuilder {
    keys: Vec<KeyTests>,
    statuses: Vec<(u8, u32)>,
    trace_states: Vec<(String, Vec<String>, u32)>,
    sampled_flag: Option<u32>,
    conditions: Vec<ConditionTest>,
    trace_state: bool,
    sizes: bool,
    without_schema_urls: bool,
    zero_ids: bool,
    keywords: Vec<(String, u32)>,
    bits: u32,
    slots: u32,
    dialects: Option<Arc<Dialects>>,
    records: bool,
    calls: Vec<(CallTest, u32)>,
    prices: Vec<(Vec<Price>, bool)>,
}

impl AtomsBuilder {
    /// The table of dialects to find spans of known libraries by; else the one that is built in.
    pub fn speak(&mut self, dialects: Arc<Dialects>) {
        self.dialects = Some(dialects);
    }

    /// Records of the spans that known libraries wrote are to travel in the facts.
    pub fn want_records(&mut self) {
        self.records = true;
    }

    fn bit(&mut self) -> u32 {
        self.bits += 1;
        self.bits - 1
    }

    fn key(&mut self, key: &str) -> &mut KeyTests {
        let at = self
            .keys
            .iter()
            .position(|tests| &*tests.key == key.as_bytes())
            .unwrap_or_else(|| {
                self.keys.push(KeyTests {
                    key: key.as_bytes().into(),
                    ..KeyTests::default()
                });
                self.keys.len() - 1
            });
        &mut self.keys[at]
    }

    /// The bit that is set when an attribute of the span or its resource passes the test.
    pub(crate) fn attribute(&mut self, key: &str, test: Test) -> u32 {
        if let Some((_, bit)) = self.key(key).tests.iter().find(|(other, _)| *other == test) {
            return *bit;
        }
        let bit = self.bit();
        self.key(key).tests.push((test, bit));
        bit
    }

    /// The bit that is set when the span's status code is in the mask.
    pub(crate) fn status(&mut self, mask: u8) -> u32 {
        if let Some((_, bit)) = self.statuses.iter().find(|(other, _)| *other == mask) {
            return *bit;
        }
        let bit = self.bit();
        self.statuses.push((mask, bit));
        bit
    }

    /// The bit that is set when the span's tracestate has the member with one of the values. A value that is empty or too
    /// long for a member is left out, as in the Collector.
    pub(crate) fn trace_state(&mut self, key: &str, values: &[String]) -> u32 {
        let fits = |value: &&String| !value.is_empty() && key.len() + value.len() < 256;
        let values: Vec<String> = values.iter().filter(fits).cloned().collect();
        let bit = self.bit();
        self.trace_states.push((key.to_owned(), values, bit));
        bit
    }

    /// The bit that is set when the span has the sampled flag.
    pub(crate) fn sampled_flag(&mut self) -> u32 {
        if let Some(bit) = self.sampled_flag {
            return bit;
        }
        let bit = self.bit();
        self.sampled_flag = Some(bit);
        bit
    }

    /// The bits that are set when one of the conditions holds for the span or one of its events, and when the evaluation
    /// fails: never both.
    pub(crate) fn condition(
        &mut self,
        mode: ErrorMode,
        span: Vec<Condition>,
        events: Vec<Condition>,
    ) -> (u32, u32) {
        let same =
            |test: &&ConditionTest| (test.mode, &test.span, &test.events) == (mode, &span, &events);
        if let Some(test) = self.conditions.iter().find(same) {
            return (test.matched, test.failed);
        }
        let (matched, failed) = (self.bit(), self.bit());
        self.conditions.push(ConditionTest {
            mode,
            span,
            events,
            matched,
            failed,
        });
        (matched, failed)
    }

    /// The bit that is set when what a known library says on the span passes the test.
    pub(crate) fn call(&mut self, test: CallTest) -> u32 {
        if let Some((_, bit)) = self.calls.iter().find(|(other, _)| *other == test) {
            return *bit;
        }
        let bit = self.bit();
        self.calls.push((test, bit));
        bit
    }

    /// The number of a price table.
    pub(crate) fn prices(&mut self, prices: &[Price], unknown_matches: bool) -> usize {
        let same =
            |(other, matches): &(Vec<Price>, bool)| other == prices && *matches == unknown_matches;
        self.prices.iter().position(same).unwrap_or_else(|| {
            self.prices.push((prices.to_vec(), unknown_matches));
            self.prices.len() - 1
        })
    }

    /// Each span's sampling information is to be gathered.
    pub(crate) fn want_trace_state(&mut self) {
        self.trace_state = true;
    }

    /// Sizes as the Collector counts them are to be gathered.
    pub fn want_sizes(&mut self) {
        self.sizes = true;
    }

    /// Spans with ids of zeros are to be taken.
    pub fn take_zero_ids(&mut self) {
        self.zero_ids = true;
    }

    /// Sizes are to be counted without schema URLs (releases before v0.162).
    pub(crate) fn without_schema_urls(&mut self) {
        self.without_schema_urls = true;
    }

    /// The bit that is set when a text of the span holds one of the keywords.
    pub(crate) fn keywords(&mut self, keywords: &[String]) -> u32 {
        let bit = self.bit();
        self.keywords
            .extend(keywords.iter().map(|keyword| (keyword.clone(), bit)));
        bit
    }

    /// Where a span's value of `key` stands.
    pub(crate) fn slot(&mut self, key: &str) -> u32 {
        let next = self.slots;
        let slot = *self.key(key).slot.get_or_insert(next);
        self.slots = self.slots.max(slot + 1);
        slot
    }

    /// The finished table.
    ///
    /// # Errors
    /// When the keywords together are too large for the matcher.
    pub fn build(mut self, text_keys: TextKeys, values: Arc<ValueIds>) -> Result<Atoms, String> {
        for key in &text_keys.exact {
            self.key(&String::from_utf8_lossy(key)).text = true;
        }
        let wanted = self.records || !self.calls.is_empty();
        let dialects = match self.dialects {
            Some(dialects) => Some(dialects).filter(|_| wanted),
            None if wanted => Some(Arc::new(built_in()?)),
            None => None,
        };
        Ok(Atoms {
            index: KeyIndex::new(self.keys.iter().map(|tests| &*tests.key)),
            keys: self.keys,
            statuses: self.statuses,
            trace_states: self.trace_states,
            sampled_flag: self.sampled_flag,
            conditions: self.conditions,
            trace_state: self.trace_state,
            sizes: self.sizes,
            schema_urls: !self.without_schema_urls,
            zero_ids: self.zero_ids,
            keywords: KeywordMatcher::new(&self.keywords)?,
            text_keys,
            bits: self.bits,
            slots: self.slots,
            dialects,
            records: self.records,
            calls: self.calls,
            prices: {
                let tables = self.prices.iter();
                tables
                    .map(|(prices, matches)| PriceTable::new(prices, *matches, &values))
                    .collect()
            },
            values,
        })
    }
}

fn built_in() -> Result<Dialects, String> {
    Dialects::with("").map_err(|error| error.to_string())
}
