//! The state of an undecided trace, and the fold of one span into it.
//!
//! State = [`Fold`] (fixed) and `state_words` words: the OR of the spans' bits with the latency bits behind them, then
//! two words for each percentile key (when its span started; whether it was a root, and the value).

use super::atoms::Atoms;
use super::facts::{Facts, slot_of};
use super::program::{Latency, Program};
use super::values::ABSENT;

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
        self.bit_words() + 2 * self.slots.len()
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
        for (word, more) in words
            .iter_mut()
            .zip(of_span.get(..atoms.bit_words()).unwrap_or_default())
        {
            *word |= more;
        }
        if fold.min_start == 0 || times.start < fold.min_start {
            fold.min_start = times.start;
        }
        if fold.max_end == 0 || times.end > fold.max_end {
            fold.max_end = times.end;
        }
        fold.spans = fold.spans.saturating_add(1);
        if !self.latencies.is_empty() {
            let ms = duration_ms(fold.min_start, fold.max_end);
            for latency in &self.latencies {
                if latency.holds(ms)
                    && let Some(word) = words.get_mut(latency.bit as usize / 64)
                {
                    *word |= 1 << (latency.bit % 64);
                }
            }
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

    /// The percentile key values of a trace, in the order of the program's slots.
    pub(crate) fn key_values<'a>(&'a self, words: &'a [u64]) -> impl Iterator<Item = u32> + 'a {
        let keys = words.get(self.bit_words()..).unwrap_or_default();
        #[allow(clippy::cast_possible_truncation, reason = "the low half is the value")]
        keys.chunks_exact(2).map(|key| key[1] as u32)
    }
}

/// A root's value goes before others', then the earliest span's.
fn takes(key: &[u64], start: u64, root: bool) -> bool {
    let (has, has_root) = (key[1] != 0, key[1] & ROOT != 0);
    !has || (root && !has_root) || (root == has_root && start < key[0])
}

impl Latency {
    fn holds(&self, ms: i64) -> bool {
        ms > self.over_ms && (self.up_to_ms == 0 || ms <= self.up_to_ms)
    }
}

/// Whole milliseconds, truncated toward zero; times are subtracted as unsigned and read as signed (the Collector since
/// v0.162).
pub(crate) fn duration_ms(start: u64, end: u64) -> i64 {
    end.wrapping_sub(start).cast_signed() / 1_000_000
}
