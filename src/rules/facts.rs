//! What the rules need to know of each span, in a few words: gathered while the request is scanned, so that nothing
//! looks at payload again.

use super::around::Around;
use super::atoms::{Atoms, Test};
use super::fold::sampling_word;
use super::keyword::Scratch;
use super::ottl::{Outcome, evaluate_policy};
use super::text_keys::TextFields;
use super::values::ABSENT;
use crate::genai::{Anomalies, SpanRecord, Spotter, hash_id};
use crate::otlp::{AnyValue, SpanBytes, SpanHead, Visitor, index, member, sampling_state};
use std::ops::Range;

/// The fixed part of a span's facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpanFacts {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) root: bool,
}

/// The facts of all sound spans of one request, in scan order or in layout order.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Facts {
    pub(crate) spans: Vec<SpanFacts>,
    /// `stride` words for each span.
    words: Vec<u64>,
    stride: usize,
    /// Records of the spans that a known library wrote, each with the number of its span, in order: empty unless they are
    /// wanted. Names are value ids of the atoms' table.
    records: Vec<(u32, SpanRecord<u64>)>,
    anomalies: Anomalies,
    /// Spans with more text than is searched.
    cut: u32,
    /// They are of log records.
    of_logs: bool,
}

impl Facts {
    /// The facts in another order.
    #[must_use]
    pub fn reordered(&self, order: &[u32]) -> Self {
        let mut out = Self {
            spans: Vec::with_capacity(order.len()),
            words: Vec::with_capacity(order.len() * self.stride),
            stride: self.stride,
            records: self.records_in(order),
            anomalies: self.anomalies,
            cut: self.cut,
            of_logs: self.of_logs,
        };
        for index in order {
            if let Some(span) = self.spans.get(*index as usize) {
                out.spans.push(*span);
                out.words.extend_from_slice(self.words_of(*index as usize));
            }
        }
        out
    }

    fn records_in(&self, order: &[u32]) -> Vec<(u32, SpanRecord<u64>)> {
        if self.records.is_empty() {
            return Vec::new();
        }
        let moved = (0..).zip(order).filter_map(|(to, from)| {
            let at = self.records.binary_search_by_key(from, |(span, _)| *span);
            Some((to, self.records.get(at.ok()?)?.1))
        });
        moved.collect()
    }

    /// Records of spans in the range, each with the number of its span.
    pub fn records_of(&self, spans: Range<usize>) -> std::slice::Iter<'_, (u32, SpanRecord<u64>)> {
        let before = |end: usize| {
            let is_before = |(span, _): &(u32, SpanRecord<u64>)| (*span as usize) < end;
            self.records.partition_point(is_before)
        };
        let range = before(spans.start)..before(spans.end);
        self.records.get(range).unwrap_or_default().iter()
    }

    /// Spans of which text was left out of the search for keywords.
    #[must_use]
    pub fn cut(&self) -> u32 {
        self.cut
    }

    /// Values of known libraries' spans that cannot be, and were left out of the records.
    #[must_use]
    pub fn anomalies(&self) -> Anomalies {
        self.anomalies
    }

    /// They are of log records, not of spans.
    pub(super) fn of_logs(&self) -> bool {
        self.of_logs
    }

    /// Spans.
    pub(crate) fn len(&self) -> u32 {
        index(self.spans.len())
    }

    /// The span has no parent.
    pub(crate) fn is_root(&self, span: usize) -> bool {
        self.spans.get(span).is_some_and(|facts| facts.root)
    }

    /// Adds the facts of other spans, of the same atoms, behind these.
    pub(crate) fn append(&mut self, more: &Self) {
        self.stride = more.stride;
        self.cut += more.cut;
        self.of_logs |= more.of_logs;
        let first = self.len();
        let moved = |(span, record): &(u32, SpanRecord<u64>)| (first + span, *record);
        self.records.extend(more.records.iter().map(moved));
        self.spans.extend_from_slice(&more.spans);
        self.words.extend_from_slice(&more.words);
    }

    pub(crate) fn words_of(&self, span: usize) -> &[u64] {
        self.words
            .get(span * self.stride..(span + 1) * self.stride)
            .unwrap_or_default()
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.spans.capacity() * size_of::<SpanFacts>()
            + self.words.capacity() * 8
            + self.records.capacity() * size_of::<(u32, SpanRecord<u64>)>()
    }
}

/// Sets bits and values as a scan passes attributes. One for each request; `Scratch` buffers are the thread's.
#[derive(Debug)]
pub struct Observer<'a> {
    atoms: &'a Atoms,
    scratch: &'a mut ObserverScratch,
    facts: Facts,
    /// What every span of the present resource begins with.
    resource: Vec<u64>,
    zero_ids: bool,
    around: Around,
    /// Looks for spans of known libraries, where a rule or a consumer asks for what they say.
    spotter: Option<Spotter<'a>>,
    /// Bytes of the present span's texts that may still be searched.
    text_left: usize,
    /// Some of them were not.
    text_cut: bool,
    /// Value id of the present resource's environment.
    environment: Option<u64>,
}

/// Text of one span that is searched: twice what a context of a million tokens holds, so that no real prompt is cut, and
/// a span that is one text cannot take a thread for long.
const TEXT_BYTES: usize = 8 << 20;

/// Buffers that outlive one request.
#[derive(Debug, Default)]
pub struct ObserverScratch {
    keyword: Scratch,
    seen: Vec<u64>,
    /// The last value of each slot and its id: most spans repeat it.
    last: Vec<(Vec<u8>, u32)>,
}

/// Who carries an attribute: the Collector reads the two differently.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Site {
    Resource,
    Span,
}

impl<'a> Observer<'a> {
    /// An observer for one request.
    pub fn new(atoms: &'a Atoms, scratch: &'a mut ObserverScratch) -> Self {
        let stride = atoms.stride();
        scratch
            .last
            .resize(atoms.slots as usize, (Vec::new(), ABSENT));
        scratch.seen.resize(atoms.keys.len().div_ceil(64), 0);
        Self {
            atoms,
            scratch,
            facts: Facts {
                stride,
                ..Facts::default()
            },
            resource: vec![0; stride],
            zero_ids: atoms.zero_ids,
            around: Around::default(),
            spotter: atoms.dialects().map(Spotter::new),
            text_left: TEXT_BYTES,
            text_cut: false,
            environment: None,
        }
    }

    /// Takes ids of zeros: the piece was taken into the log before.
    #[must_use]
    pub(crate) fn trusting(mut self) -> Self {
        self.zero_ids = true;
        self
    }

    /// The facts of the sound spans, in scan order.
    #[must_use]
    pub fn finish(mut self) -> Facts {
        self.facts
            .words
            .truncate(self.facts.spans.len() * self.facts.stride);
        if let Some(spotter) = &self.spotter {
            self.facts.anomalies = spotter.anomalies();
        }
        self.facts
    }

    /// Tests what is wanted of the key with this index.
    fn attribute(&mut self, site: Site, index: usize, value: AnyValue<'_>) {
        let Some(wanted) = self.atoms.keys.get(index) else {
            return;
        };
        if wanted.tests.is_empty() && wanted.slot.is_none() {
            return;
        }
        let Some(seen) = self.scratch.seen.get_mut(index / 64) else {
            return;
        };
        let mask = 1 << (index % 64);
        if *seen & mask != 0 {
            return;
        }
        *seen |= mask;
        let words = match site {
            Site::Resource => &mut self.resource[..],
            Site::Span => present(&mut self.facts),
        };
        for (test, bit) in &wanted.tests {
            if passes(test, site, value) {
                set(words, *bit);
            }
        }
        if let Some(slot) = wanted.slot {
            let id = self
                .scratch
                .last
                .get_mut(slot as usize)
                .map_or(ABSENT, |last| value_id(self.atoms, last, value));
            put_slot(words, self.atoms.bit_words(), slot, id);
        }
    }

    /// What a known library says on the span.
    #[inline]
    fn call(&mut self, head: &SpanHead, bytes: &SpanBytes<'_>) {
        let Some(spotter) = &mut self.spotter else {
            return;
        };
        if let Some(record) = spotter.end_span(head, bytes) {
            self.recognised(&record);
        }
    }

    /// The key of the conventions since 1.27 goes before the one that it replaced.
    fn see_environment(&mut self, key: &[u8], value: AnyValue<'_>) {
        let (AnyValue::Str(text), true) = (value, self.atoms.records) else {
            return;
        };
        let id = || u64::from(self.atoms.values.id(text));
        match key {
            b"deployment.environment.name" => self.environment = Some(id()),
            b"deployment.environment" => self.environment = self.environment.or_else(|| Some(id())),
            _ => {}
        }
    }

    fn recognised(&mut self, record: &SpanRecord<&[u8]>) {
        let words = present(&mut self.facts);
        for (test, bit) in &self.atoms.calls {
            if test.holds(record) {
                set(words, *bit);
            }
        }
        if self.atoms.records {
            let values = &self.atoms.values;
            let name = |text: &[u8]| u64::from(values.id(text));
            let mut numbered = record.map(name, hash_id);
            numbered.environment = self.environment;
            self.facts
                .records
                .push((index(self.facts.spans.len()), numbered));
        }
    }

    fn conditions(&mut self, bytes: &SpanBytes<'_>) {
        let atoms = self.atoms;
        let view = self.around.view(bytes, atoms.schema_urls);
        let words = present(&mut self.facts);
        for test in &atoms.conditions {
            let evaluated = evaluate_policy(test.mode, &test.span, &test.events, &view);
            match evaluated.outcome {
                Outcome::Matched => set(words, test.matched),
                Outcome::Failed(_) => set(words, test.failed),
                Outcome::NotMatched => {}
            }
        }
    }

    /// Members that a policy looks for, and what the gate `usetracestate` asks for.
    #[inline]
    fn trace_state(&mut self, text: &[u8]) {
        let atoms = self.atoms;
        if text.is_empty() || (atoms.trace_states.is_empty() && !atoms.trace_state) {
            return;
        }
        let words = present(&mut self.facts);
        for (key, values, bit) in &atoms.trace_states {
            let found = member(text, key);
            if found.is_some_and(|found| values.iter().any(|value| value == found)) {
                set(words, *bit);
            }
        }
        if atoms.trace_state
            && let (Some(word), Some(state)) = (words.last_mut(), sampling_state(text))
        {
            *word = sampling_word(state);
        }
    }

    /// Looks for keywords, if the key is one of text; `index` as `Atoms::find` gives it.
    fn text(&mut self, key: &[u8], index: Option<usize>, value: AnyValue<'_>) {
        let atoms = self.atoms;
        if atoms.text_fields.is_empty()
            || matches!(
                value,
                AnyValue::Bool(_) | AnyValue::Int(_) | AnyValue::Double(_)
            )
        {
            return;
        }
        let exact = index.and_then(|index| atoms.keys.get(index));
        let fields = match exact.map(|wanted| wanted.text) {
            Some(fields) if !fields.is_empty() => fields,
            _ => atoms.text_keys.begin(key),
        };
        if fields.meet(atoms.text_fields) {
            value.each_text(&mut |text| self.search(text, fields));
        }
    }

    fn search(&mut self, text: &[u8], fields: TextFields) {
        let atoms = self.atoms;
        let beginning = text.get(..self.text_left).unwrap_or(text);
        if beginning.len() < text.len() && !self.text_cut {
            self.text_cut = true;
            self.facts.cut += 1;
        }
        let text = beginning;
        self.text_left -= text.len();
        let words = present(&mut self.facts);
        let scratch = &mut self.scratch.keyword;
        if let Some(matcher) = &atoms.keywords {
            matcher.search(text, scratch, &mut |bit| {
                if atoms.looks_at(bit, fields) {
                    set(words, bit);
                }
            });
        }
        if !atoms.expressions.is_empty() {
            let mut found = Vec::new();
            let known = |bit| is_set(words, bit) || !atoms.looks_at(bit, fields);
            let mut hit = |bit| found.push(bit);
            atoms.expressions.search(text, scratch, known, &mut hit);
            found.into_iter().for_each(|bit| set(words, bit));
        }
    }
}

/// W3C Trace Context: the sampled flag.
const SAMPLED: u32 = 1;

/// The words of the span in hand: the last ones.
fn present(facts: &mut Facts) -> &mut [u64] {
    let start = facts.spans.len() * facts.stride;
    facts.words.get_mut(start..).unwrap_or_default()
}

fn set(words: &mut [u64], bit: u32) {
    if let Some(word) = words.get_mut(bit as usize / 64) {
        *word |= 1 << (bit % 64);
    }
}

fn is_set(words: &[u64], bit: u32) -> bool {
    let word = words.get(bit as usize / 64);
    word.is_some_and(|word| word >> (bit % 64) & 1 == 1)
}

fn put_slot(words: &mut [u64], bit_words: usize, slot: u32, id: u32) {
    if let Some(word) = words.get_mut(bit_words + slot as usize / 2) {
        let shift = 32 * (slot % 2);
        *word = *word & !(u64::from(u32::MAX) << shift) | u64::from(id) << shift;
    }
}

/// The sampling information in `words` (a span's facts, of atoms that gather it).
pub(crate) fn sampling_of(words: &[u64]) -> u64 {
    words.last().copied().unwrap_or_default()
}

/// The value id that `words` (a span's facts) hold for `slot`.
pub(crate) fn slot_of(words: &[u64], bit_words: usize, slot: u32) -> u32 {
    let word = words
        .get(bit_words + slot as usize / 2)
        .copied()
        .unwrap_or_default();
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the half that was asked for"
    )]
    let id = (word >> (32 * (slot % 2))) as u32;
    id
}

fn value_id(atoms: &Atoms, last: &mut (Vec<u8>, u32), value: AnyValue<'_>) -> u32 {
    let decimal;
    let text = match value {
        AnyValue::Str(text) => text,
        AnyValue::Int(number) => {
            decimal = number.to_string();
            decimal.as_bytes()
        }
        AnyValue::Bool(true) => b"true",
        AnyValue::Bool(false) => b"false",
        _ => return ABSENT,
    };
    if last.1 == ABSENT || last.0 != text {
        last.1 = atoms.values.id(text);
        last.0.clear();
        last.0.extend_from_slice(text);
    }
    last.1
}

fn passes(test: &Test, site: Site, value: AnyValue<'_>) -> bool {
    let text = || {
        if let AnyValue::Str(text) = value {
            text
        } else {
            b""
        }
    };
    match test {
        Test::OneOf(values) => values.contains(text()),
        // On spans an empty text is skipped, on resources it is matched: so does the Collector.
        Test::Matches(expressions) => {
            (site == Site::Resource || !text().is_empty())
                && expressions.iter().any(|regex| regex.is_match(text()))
        }
        Test::Between(min, max) => {
            let number = if let AnyValue::Int(number) = value {
                number
            } else {
                0
            };
            (*min..=*max).contains(&number)
        }
        Test::Is(wanted) => (value == AnyValue::Bool(true)) == *wanted,
    }
}

impl Visitor for Observer<'_> {
    fn takes_zero_ids(&self) -> bool {
        self.zero_ids
    }

    fn begin_resource(&mut self) {
        self.resource.fill(0);
        self.scratch.seen.fill(0);
        if let Some(spotter) = &mut self.spotter {
            spotter.begin_resource();
            self.environment = None;
        }
    }

    fn resource_attribute(&mut self, key: &[u8], value: AnyValue<'_>) {
        if let Some(index) = self.atoms.find(key) {
            self.attribute(Site::Resource, index, value);
        }
        if let Some(spotter) = &mut self.spotter {
            spotter.resource_attribute(key, value);
            self.see_environment(key, value);
        }
    }

    fn begin_span(&mut self) {
        // A rejected span before this one left its words behind.
        self.facts
            .words
            .truncate(self.facts.spans.len() * self.facts.stride);
        self.facts.words.extend_from_slice(&self.resource);
        self.scratch.seen.fill(0);
        self.text_left = TEXT_BYTES;
        self.text_cut = false;
        if let Some(spotter) = &mut self.spotter {
            spotter.begin_span();
        }
    }

    #[inline]
    fn span_attribute(&mut self, key: &[u8], value: AnyValue<'_>) {
        let index = self.atoms.find(key);
        if let Some(index) = index {
            self.attribute(Site::Span, index, value);
        }
        self.text(key, index, value);
        if let Some(spotter) = &mut self.spotter {
            spotter.span_attribute(key, value);
        }
    }

    #[inline]
    fn event_attribute(&mut self, key: &[u8], value: AnyValue<'_>) {
        self.text(key, self.atoms.find(key), value);
    }

    /// A body is text of its own, whatever it is called.
    fn record_body(&mut self, value: AnyValue<'_>) {
        let fields = self.atoms.text_fields;
        value.each_text(&mut |text| self.search(text, fields));
    }

    fn end_record(&mut self, bytes: &SpanBytes<'_>) {
        if let Some(spotter) = &mut self.spotter
            && let Some(record) = spotter.end_record(bytes.span)
        {
            self.recognised(&record);
        }
        self.facts.of_logs = true;
        self.facts.spans.push(SpanFacts {
            start: 0,
            end: 0,
            root: false,
        });
    }

    #[inline]
    fn end_span(&mut self, head: &SpanHead, bytes: &SpanBytes<'_>) {
        self.trace_state(bytes.trace_state);
        if !self.atoms.conditions.is_empty() {
            self.conditions(bytes);
        }
        self.call(head, bytes);
        let words = present(&mut self.facts);
        if let Some(bit) = self.atoms.sampled_flag
            && head.flags & SAMPLED != 0
        {
            set(words, bit);
        }
        for (mask, bit) in &self.atoms.statuses {
            if head.status < 8 && mask >> head.status & 1 == 1 {
                set(words, *bit);
            }
        }
        self.facts.spans.push(SpanFacts {
            start: head.start,
            end: head.end,
            root: head.root,
        });
    }
}
