//! The state of an undecided trace, and the fold of one span into it.
//!
//! State = [`Fold`] (fixed) and `state_words` words: the OR of the spans' bits with the latency bits behind them, then
//! two words for each percentile key (when its span started; whether it was a root, and the value), then, where the gate
//! `usetracestate` asks for it, a word of sampling information, then, where a budget is spent on bytes, their sum.

use super::atoms::Atoms;
use super::facts::{Facts, sampling_of, slot_of};
use super::limits::Cost;
use super::program::{Latency, Program};
use super::values::ABSENT;
use crate::otlp::{SamplingState, Signal, TraceId, randomness_of};

/// The fixed part of a trace's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fold {
    /// Earliest start seen, ns; 0 = unset, as in the Collector, where a later span's 0 is a start in 1970.
    pub min_start: u64,
    /// Latest end seen, ns; 0 = unset.
    pub max_end: u64,
    /// Spans, repeated ones included.
    pub spans: u32,
}

/// In the second word of a percentile key: its span was a root.
pub(super) const ROOT: u64 = 1 << 32;

impl Program {
    pub(super) fn bit_words(&self) -> usize {
        (self.fact_bits as usize + self.latencies.len()).div_ceil(64)
    }

    /// Words of state for each trace.
    #[must_use]
    pub fn state_words(&self) -> usize {
        let sampling = usize::from(self.semantics.use_trace_state);
        self.bit_words() + 2 * self.slots.len() + sampling + usize::from(self.counts_bytes())
    }

    /// A budget is spent on bytes.
    fn counts_bytes(&self) -> bool {
        self.limiters
            .iter()
            .any(|limiter| limiter.cost == Cost::Bytes)
    }

    /// Where the bytes of the trace stand: the last word.
    pub(crate) fn bytes_word(&self) -> Option<usize> {
        self.counts_bytes().then(|| self.state_words() - 1)
    }

    /// Forgets the pieces before, but for the sums of spans and bytes: `span-ingest` asks for each piece alone.
    pub fn begin_piece(&self, fold: &mut Fold, words: &mut [u64]) {
        (fold.min_start, fold.max_end) = (0, 0);
        let bytes = self.bytes_word();
        for (index, word) in words.iter_mut().enumerate() {
            if Some(index) != bytes {
                *word = 0;
            }
        }
    }

    /// Folds the spans, or the log records, of one piece. Records have neither times nor a place in percentiles: only what
    /// tests say of them counts.
    pub(crate) fn fold_leaves(
        &self,
        signal: Signal,
        atoms: &Atoms,
        (fold, words): (&mut Fold, &mut [u64]),
        facts: &Facts,
        (leaves, bytes): (std::ops::Range<usize>, u64),
    ) {
        if signal == Signal::Traces {
            return self.fold_piece(atoms, fold, words, facts, (leaves, bytes));
        }
        for record in leaves {
            let bits = facts.words_of(record).get(..atoms.bit_words());
            self.join(words, bits.unwrap_or_default());
        }
    }

    /// Joins the bits of a span or a record to those of a trace.
    #[inline]
    fn join(&self, words: &mut [u64], bits: &[u64]) {
        if self.ordered.is_empty() {
            for (word, more) in words.iter_mut().zip(bits) {
                *word |= more;
            }
        } else {
            self.join_in_order(words, bits);
        }
    }

    /// Folds the spans of one piece, which has so many bytes as the Collector would encode it.
    pub fn fold_piece(
        &self,
        atoms: &Atoms,
        fold: &mut Fold,
        words: &mut [u64],
        facts: &Facts,
        (spans, bytes): (std::ops::Range<usize>, u64),
    ) {
        for span in spans {
            self.fold(atoms, fold, words, facts, span);
        }
        if let Some(word) = self.bytes_word().and_then(|index| words.get_mut(index)) {
            *word = word.saturating_add(bytes);
        }
    }

    /// Where the sampling information of the trace's spans stands: behind the keys.
    pub(crate) fn trace_state_word(&self) -> Option<usize> {
        let wanted = self.semantics.use_trace_state;
        wanted.then(|| self.bit_words() + 2 * self.slots.len())
    }

    /// Folds span `span` of `facts` into a trace's state; `words` has [`Program::state_words`] words.
    #[inline]
    pub fn fold(
        &self,
        atoms: &Atoms,
        fold: &mut Fold,
        words: &mut [u64],
        facts: &Facts,
        span: usize,
    ) {
        let Some(times) = facts.spans.get(span) else {
            return;
        };
        let of_span = facts.words_of(span);
        let bits = of_span.get(..atoms.bit_words()).unwrap_or_default();
        self.join(words, bits);
        if fold.min_start == 0 || times.start < fold.min_start {
            fold.min_start = times.start;
        }
        if fold.max_end == 0 || times.end > fold.max_end {
            fold.max_end = times.end;
        }
        fold.spans = fold.spans.saturating_add(1);
        if !self.latencies.is_empty() {
            let release = self.semantics.release;
            let ms = if release.times_saturate() {
                saturating_ms(fold.min_start, fold.max_end)
            } else {
                duration_ms(fold.min_start, fold.max_end)
            };
            for latency in &self.latencies {
                if latency.holds(ms, release.latency_includes_threshold())
                    && let Some(word) = words.get_mut(latency.bit as usize / 64)
                {
                    *word |= 1 << (latency.bit % 64);
                }
            }
        }
        if let Some(word) = self
            .trace_state_word()
            .and_then(|index| words.get_mut(index))
        {
            merge_sampling(word, sampling_of(of_span));
        }
        let keys = words.get_mut(self.bit_words()..).unwrap_or_default();
        for (slot, key) in self.slots.iter().zip(keys.chunks_exact_mut(2)) {
            let value = slot_of(of_span, atoms.bit_words(), *slot);
            if value != ABSENT && takes(key, times.start, times.root) {
                key[0] = times.start;
                key[1] = u64::from(value) | if times.root { ROOT } else { 0 };
            }
        }
    }

    /// Bits of the facts that are simply joined; the rest are ordered pairs.
    pub(super) fn joined_bits(&self) -> Vec<u64> {
        let mut joined = vec![u64::MAX; self.bit_words()];
        for bit in self.ordered.iter().flat_map(|(a, b)| [a, b]) {
            if let Some(word) = joined.get_mut(*bit as usize / 64) {
                *word &= !(1 << (bit % 64));
            }
        }
        joined
    }

    /// Joins a span's bits to a trace's, but of each ordered pair only what comes first.
    fn join_in_order(&self, words: &mut [u64], of_span: &[u64]) {
        let bit = |words: &[u64], bit: u32| {
            let word = words.get(bit as usize / 64).copied().unwrap_or_default();
            word >> (bit % 64) & 1
        };
        for ((word, more), joined) in words.iter_mut().zip(of_span).zip(&self.joined) {
            *word |= more & joined;
        }
        for (matched, failed) in &self.ordered {
            if bit(words, *matched) | bit(words, *failed) != 0 {
                continue;
            }
            for one in [matched, failed] {
                if let Some(word) = words.get_mut(*one as usize / 64) {
                    *word |= bit(of_span, *one) << (one % 64);
                }
            }
        }
    }

    /// The percentile key values of a trace, in the order of the program's slots.
    pub(crate) fn key_values<'a>(&'a self, words: &'a [u64]) -> impl Iterator<Item = u32> + 'a {
        let keys = words.get(self.bit_words()..).unwrap_or_default();
        #[allow(clippy::cast_possible_truncation, reason = "the low half is the value")]
        keys.chunks_exact(2)
            .take(self.slots.len())
            .map(|key| key[1] as u32)
    }
}

/// A root's value goes before others', then the earliest span's.
fn takes(key: &[u64], start: u64, root: bool) -> bool {
    let (has, has_root) = (key[1] != 0, key[1] & ROOT != 0);
    !has || (root && !has_root) || (root == has_root && start < key[0])
}

impl Latency {
    fn holds(&self, ms: i64, inclusive: bool) -> bool {
        match self.up_to_ms {
            0 if inclusive => ms >= self.over_ms,
            0 => ms > self.over_ms,
            up_to => ms > self.over_ms && ms <= up_to,
        }
    }
}

/// A span's or a trace's sampling information in one word: it has `rv`; it has `rv` or `th`; the `rv`.
const HAS_RANDOMNESS: u64 = 1 << 63;
const HAS_SAMPLING: u64 = 1 << 62;
const RANDOMNESS: u64 = (1 << 56) - 1;

/// The word of one span's tracestate.
pub(crate) fn sampling_word(state: SamplingState) -> u64 {
    let has = |flag: bool, bit: u64| if flag { bit } else { 0 };
    let SamplingState {
        randomness,
        threshold,
    } = state;
    has(randomness.is_some(), HAS_RANDOMNESS)
        | has(randomness.is_some() || threshold.is_some(), HAS_SAMPLING)
        | randomness.unwrap_or_default() & RANDOMNESS
}

/// The first `rv` counts.
fn merge_sampling(word: &mut u64, of_span: u64) {
    if *word & HAS_RANDOMNESS == 0 {
        *word |= of_span;
    } else {
        *word |= of_span & HAS_SAMPLING;
    }
}

/// The randomness of a trace, `None` when no span carries sampling information.
pub(crate) fn randomness_in(word: u64, trace: TraceId) -> Option<u64> {
    match word {
        word if word & HAS_RANDOMNESS != 0 => Some(word & RANDOMNESS),
        word if word & HAS_SAMPLING != 0 => Some(randomness_of(trace)),
        _ => None,
    }
}

/// As [`duration_ms`], with times read as signed (releases before v0.162).
fn saturating_ms(start: u64, end: u64) -> i64 {
    end.cast_signed().saturating_sub(start.cast_signed()) / 1_000_000
}

/// Whole milliseconds, truncated toward zero; times are subtracted as unsigned and read as signed (the Collector since
/// v0.162).
pub(crate) fn duration_ms(start: u64, end: u64) -> i64 {
    end.wrapping_sub(start).cast_signed() / 1_000_000
}
