//! The checker's part that is about `undecided` entries: each trace's last state is folded anew from the pieces that its
//! entries name.

use super::check::Checked;
use super::checkpoint::Checkpoint;
use super::waiting::Waiting;
use crate::log::Signal;
use crate::otlp::TraceId;
use crate::rules::{Facts, Features, Fold, Program};
use hashbrown::{HashMap, HashSet};
use std::ops::Range;

/// A state, and what it is to be.
struct Proof {
    said: Waiting,
    places: HashSet<(u64, u32)>,
    found: usize,
    fold: Fold,
    words: Vec<u64>,
    features: Option<Features>,
}

/// How the proofs went.
pub(super) struct Outcome {
    pub(super) proven: u64,
    pub(super) traces: Vec<TraceId>,
}

/// The states of one pipeline.
#[derive(Default)]
pub(super) struct WaitingCheck {
    open: HashMap<TraceId, Waiting>,
    proofs: HashMap<TraceId, Vec<Proof>>,
}

impl WaitingCheck {
    pub(super) fn take(&mut self, entry: Checkpoint) {
        Waiting::take(&mut self.open, entry, 0);
    }

    /// The trace is decided over the pieces that `names` says; whether all it had are among them.
    pub(super) fn decide(
        &mut self,
        trace: TraceId,
        program: &Program,
        names: impl Fn(u64, u32) -> bool,
    ) -> bool {
        let Some(waiting) = self.open.remove(&trace) else {
            return true;
        };
        let all = waiting.places.iter().all(|packed| {
            let place = packed.place();
            names(place.position, place.offset)
        });
        self.expect(trace, waiting, program);
        all
    }

    /// No more entries: what is open is undecided.
    pub(super) fn end(&mut self, program: &Program) {
        for (trace, waiting) in std::mem::take(&mut self.open) {
            self.expect(trace, waiting, program);
        }
    }

    fn expect(&mut self, trace: TraceId, said: Waiting, program: &Program) {
        let place = |packed: &super::packed::PackedRef| {
            let place = packed.place();
            (place.position, place.offset)
        };
        let proof = Proof {
            places: said.places.iter().map(place).collect(),
            said,
            found: 0,
            fold: Fold::default(),
            words: vec![0; program.state_words()],
            features: None,
        };
        self.proofs.entry(trace).or_default().push(proof);
    }

    /// A piece of the span log, in its order.
    pub(super) fn fold(
        &mut self,
        trace: TraceId,
        place: (u64, u32),
        checked: &Checked<'_>,
        facts: &Facts,
        (signal, spans, bytes): (Signal, Range<usize>, u64),
    ) {
        let proofs = self.proofs.get_mut(&trace).into_iter().flatten();
        for proof in proofs.filter(|proof| proof.places.contains(&place)) {
            proof.found += 1;
            let state = (&mut proof.fold, &mut proof.words[..]);
            let (program, piece) = (checked.program, (spans.clone(), bytes));
            program.fold_leaves(signal, checked.atoms, state, facts, piece);
            program.fold_features(checked.atoms, &mut proof.features, facts, spans.clone());
        }
    }

    /// Compares; what lies before `start` in the span log is gone.
    pub(super) fn prove(self, checked: &Checked<'_>, start: u64) -> Outcome {
        let (mut proven, mut traces) = (0, Vec::new());
        for (trace, proof) in self
            .proofs
            .into_iter()
            .flat_map(|(trace, proofs)| proofs.into_iter().map(move |proof| (trace, proof)))
        {
            let first = proof.said.places.first();
            let there = first.is_none_or(|place| place.place().position >= start);
            let same_rules = proof.said.entry.layout == checked.layout;
            if !there || !same_rules || !proof.said.complete {
                continue;
            }
            let state = checked.program.save_state(
                &proof.fold,
                &proof.words,
                proof.features.as_ref(),
                checked.atoms.values(),
            );
            proven += 1;
            if proof.found != proof.places.len() || proof.said.entry.state != Some(state) {
                traces.push(trace);
            }
        }
        Outcome { proven, traces }
    }
}
