//! The checker's part that is about amendments: each brings back a trace that was dropped, once; the pieces that it names
//! are in the log; all but the last one were dropped before, and that one alone matches the policy.

use super::check::Checked;
use super::entry::Decision;
use super::packed::PackedRef;
use crate::log::Signal;
use crate::otlp::TraceId;
use crate::rules::{Facts, Features, Fold, State};
use hashbrown::{HashMap, HashSet};
use std::ops::Range;

struct Amended {
    rules: u32,
    policy: Option<u16>,
    places: HashMap<(u64, u32), u32>,
    first: u64,
    said: u64,
    found: usize,
    restored: u64,
    fold: Fold,
    words: Vec<u64>,
    features: Option<Features>,
}

/// How the proofs went.
pub(super) struct Outcome {
    pub(super) proven: u64,
    pub(super) problems: Vec<(TraceId, &'static str)>,
}

/// The amendments of one pipeline.
#[derive(Default)]
pub(super) struct AmendedCheck {
    by_trace: HashMap<TraceId, Vec<Amended>>,
    /// Traces whose present life is amended.
    open: HashSet<TraceId>,
    problems: Vec<(TraceId, &'static str)>,
}

impl AmendedCheck {
    /// The trace has a decision: a new life.
    pub(super) fn decided(&mut self, trace: TraceId) {
        self.open.remove(&trace);
    }

    /// Late pieces follow the amendment.
    pub(super) fn is_amended(&self, trace: TraceId) -> bool {
        self.open.contains(&trace)
    }

    /// An amendment; `dropped`: the trace was, as far as entries tell.
    pub(super) fn take(
        &mut self,
        decision: &Decision,
        refs: &[PackedRef],
        (rules, words): (u32, usize),
        dropped: bool,
    ) {
        let trace = decision.trace;
        if !dropped {
            self.problems
                .push((trace, "an amendment of what was not dropped"));
        }
        if !self.open.insert(trace) {
            self.problems.push((trace, "it is amended twice"));
        }
        let place = |packed: &PackedRef| {
            let place = packed.place();
            ((place.position, place.offset), packed.count())
        };
        self.by_trace.entry(trace).or_default().push(Amended {
            rules,
            policy: decision.policy,
            places: refs.iter().map(place).collect(),
            first: refs.first().map_or(0, |place| place.place().position),
            said: decision.amends.unwrap_or_default().spans() + decision.amended_records.spans(),
            found: 0,
            restored: 0,
            fold: Fold::default(),
            words: vec![0; words],
            features: None,
        });
    }

    /// A piece of the span log; `dropped`: another entry names it. Whether an amendment does.
    pub(super) fn fold(
        &mut self,
        (trace, place): (TraceId, (u64, u32)),
        dropped: bool,
        checked: &Checked<'_>,
        facts: &Facts,
        (signal, spans, bytes): (Signal, Range<usize>, u64),
    ) -> bool {
        let mut named = false;
        for amended in self.by_trace.get_mut(&trace).into_iter().flatten() {
            let Some(taken) = amended.places.get(&place) else {
                continue;
            };
            named = true;
            amended.found += 1;
            if dropped {
                amended.restored += u64::from(*taken);
            } else {
                let state = (&mut amended.fold, &mut amended.words[..]);
                let piece = (spans.clone(), bytes);
                let (program, atoms) = (checked.program, checked.atoms);
                program.fold_leaves(signal, atoms, state, facts, piece);
                program.fold_features(atoms, &mut amended.features, facts, spans.clone());
            }
        }
        named
    }

    /// Compares; what lies before `start` in the span log is gone.
    pub(super) fn prove(self, checked: &Checked<'_>, start: u64) -> Outcome {
        let (mut proven, mut problems) = (0, self.problems);
        let all = self.by_trace.into_iter();
        let all = all.flat_map(|(trace, all)| all.into_iter().map(move |one| (trace, one)));
        for (trace, amended) in all.filter(|(_, amended)| amended.first >= start) {
            proven += 1;
            if amended.found != amended.places.len() {
                problems.push((trace, "its amendment names pieces that the log has not"));
            }
            if amended.restored != amended.said {
                problems.push((trace, "its amendment brings back what was not dropped"));
            }
            let state = State {
                trace,
                fold: &amended.fold,
                words: &amended.words,
                features: amended.features.as_ref(),
            };
            let matches = |policy| {
                checked
                    .program
                    .late_evidence(&[policy], state)
                    .is_some_and(|verdict| verdict.keep)
            };
            if amended.rules == checked.rules && !amended.policy.is_some_and(matches) {
                problems.push((trace, "its amendment has no evidence"));
            }
        }
        Outcome { proven, problems }
    }
}
