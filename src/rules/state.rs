//! A trace's folded state as it outlives the process.
//!
//! Bits go as they are: they mean something under one table of atoms only, which [`layout`] tells apart. Percentile key
//! values are numbers of the process, so they go as text.

use super::features::{Features, FeaturesSnapshot};
use super::fold::{Fold, ROOT};
use super::program::Program;
use super::values::{ABSENT, ValueIds};

/// Changes when a state's words mean something else in this code than before.
const STATE_VERSION: u32 = 2;

/// The state of an undecided trace.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StateSnapshot {
    /// Earliest start, ns.
    #[prost(uint64, tag = "1")]
    pub min_start: u64,
    /// Latest end, ns.
    #[prost(uint64, tag = "2")]
    pub max_end: u64,
    /// Spans folded.
    #[prost(uint32, tag = "3")]
    pub spans: u32,
    /// Words of bits.
    #[prost(fixed64, repeated, tag = "4")]
    pub bits: Vec<u64>,
    /// One for each percentile key of the program.
    #[prost(message, repeated, tag = "5")]
    pub keys: Vec<KeySnapshot>,
    /// Words that mean the same in every process.
    #[prost(fixed64, repeated, tag = "6")]
    pub rest: Vec<u64>,
    /// Of its model calls.
    #[prost(message, optional, tag = "7")]
    pub features: Option<FeaturesSnapshot>,
}

/// A percentile key of an undecided trace.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct KeySnapshot {
    /// When the span that it is of started, ns.
    #[prost(uint64, tag = "1")]
    pub start: u64,
    /// That span was a root.
    #[prost(bool, tag = "2")]
    pub root: bool,
    /// Its value; `None`: no span had it.
    #[prost(string, optional, tag = "3")]
    pub text: Option<String>,
}

/// A number for what the words of all states of a process mean: its rule sets, in order, and this code. A state that was
/// saved under another one is folded anew. FNV-1a 32.
#[must_use]
pub fn layout(rule_sets: impl IntoIterator<Item = u32>) -> u32 {
    let version = env!("CARGO_PKG_VERSION").bytes();
    let sets = rule_sets.into_iter().flat_map(u32::to_le_bytes);
    let parts = STATE_VERSION.to_le_bytes().into_iter();
    parts
        .chain(version)
        .chain(sets)
        .fold(0x811c_9dc5, |hash: u32, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        })
}

impl Program {
    /// The state of a trace, to be restored by a process with the same [`layout`].
    #[must_use]
    pub fn save_state(
        &self,
        fold: &Fold,
        words: &[u64],
        features: Option<&Features>,
        ids: &ValueIds,
    ) -> StateSnapshot {
        let (bits, keys) = words
            .split_at_checked(self.bit_words())
            .unwrap_or((words, &[]));
        let (keys, rest) = keys
            .split_at_checked(2 * self.slots.len())
            .unwrap_or((keys, &[]));
        let key = |key: &[u64]| {
            #[allow(clippy::cast_possible_truncation, reason = "the low half is the value")]
            let id = key[1] as u32;
            KeySnapshot {
                start: key[0],
                root: key[1] & ROOT != 0,
                text: (id != ABSENT).then(|| ids.text(id).to_string()),
            }
        };
        StateSnapshot {
            min_start: fold.min_start,
            max_end: fold.max_end,
            spans: fold.spans,
            bits: bits.to_vec(),
            keys: keys.chunks_exact(2).map(key).collect(),
            rest: rest.to_vec(),
            features: features.map(|features| features.save(ids)),
        }
    }

    /// Takes a saved state back; `words` has [`Program::state_words`] words. The features that were saved with it.
    pub fn restore_state(
        &self,
        saved: &StateSnapshot,
        ids: &ValueIds,
        fold: &mut Fold,
        words: &mut [u64],
    ) -> Option<Features> {
        self.restore_words(saved, ids, fold, words);
        let features = saved.features.as_ref()?;
        Features::restore(features, ids)
    }

    fn restore_words(
        &self,
        saved: &StateSnapshot,
        ids: &ValueIds,
        fold: &mut Fold,
        words: &mut [u64],
    ) {
        *fold = Fold {
            min_start: saved.min_start,
            max_end: saved.max_end,
            spans: saved.spans,
        };
        let Some((bits, keys)) = words.split_at_mut_checked(self.bit_words()) else {
            return;
        };
        for (word, saved) in bits.iter_mut().zip(&saved.bits) {
            *word = *saved;
        }
        let Some((keys, rest)) = keys.split_at_mut_checked(2 * self.slots.len()) else {
            return;
        };
        for (word, saved) in rest.iter_mut().zip(&saved.rest) {
            *word = *saved;
        }
        for (key, saved) in keys.chunks_exact_mut(2).zip(&saved.keys) {
            let id = saved
                .text
                .as_ref()
                .map_or(ABSENT, |text| ids.id(text.as_bytes()));
            key[0] = saved.start;
            key[1] = u64::from(id) | if saved.root { ROOT } else { 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{AtomsBuilder, Compiler, PercentileOf, PolicyKind, PolicySpec, Semantics};

    fn program() -> Program {
        let policies = [PolicySpec {
            name: "slow".into(),
            kind: PolicyKind::LatencyPercentile {
                percentile: 99.0,
                by: vec!["service.name".into(), "gen_ai.request.model".into()],
                floor_ms: 1,
                warmup_ms: 1,
                min_count: 1,
                of: PercentileOf::Trace,
                by_tokens: None,
            },
        }];
        let mut builder = AtomsBuilder::default();
        let program = Compiler::new(&mut builder, Semantics::default())
            .compile(&policies)
            .unwrap();
        program.link(70)
    }

    #[test]
    fn a_state_goes_to_a_process_with_other_value_numbers() {
        let (program, old, new) = (program(), ValueIds::default(), ValueIds::default());
        new.id(b"another");
        let fold = Fold {
            min_start: 5,
            max_end: u64::MAX,
            spans: 3,
        };
        let model = u64::from(old.id(b"gpt-4")) | ROOT;
        let words = [u64::MAX, 9, 7, model, 0, 0];
        assert_eq!(words.len(), program.state_words());
        let saved = program.save_state(&fold, &words, None, &old);
        let (mut restored, mut state) = (Fold::default(), [0; 6]);
        let features = program.restore_state(&saved, &new, &mut restored, &mut state);
        assert_eq!(features, None);
        assert_eq!(restored, fold);
        let moved = u64::from(new.id(b"gpt-4")) | ROOT;
        assert_ne!(moved, model);
        assert_eq!(state, [u64::MAX, 9, 7, moved, 0, 0]);
        assert_eq!(program.save_state(&restored, &state, None, &new), saved);
    }

    #[test]
    fn a_layout_is_that_of_all_rule_sets_in_order() {
        assert_eq!(layout([1, 2]), layout([1, 2]));
        assert_ne!(layout([1, 2]), layout([2, 1]));
        assert_ne!(layout([1]), layout([1, 0]));
    }
}
