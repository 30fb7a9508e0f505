//! The decision over a skeleton, and the entry that it becomes. No payload is read.

use super::entry::{Amends, Decision, Entry, Extent};
use super::evidence::Evidence;
use super::memory::Remembered;
use super::packed::PackedRef;
use super::recovery::seconds;
use super::scanned::ScannedPiece;
use super::skeletons::Skeleton;
use super::stats::{add, get, set};
use super::worker::Worker;
use crate::rules::{Facts, Granting, State, Verdict};

impl Worker {
    pub(super) fn late(
        &mut self,
        piece: &ScannedPiece,
        place: PackedRef,
        second: u32,
        facts: &Facts,
        (remembered, cached): (Remembered, bool),
    ) {
        if !remembered.keep && self.restore(piece, place, second, facts) {
            return;
        }
        let decision = Decision {
            trace: piece.trace,
            policy: remembered.policy,
            evidence: Evidence::Late,
            first_second: second,
            last_second: second,
            thresholds: Vec::new(),
            child: remembered.child,
            grants: Vec::new(),
            cached,
            amends: None,
            amended_records: Amends::default(),
        };
        let spans = u64::from(place.spans());
        add(
            if remembered.keep {
                &self.parts.stats.late_kept
            } else {
                &self.parts.stats.late_dropped
            },
            spans,
        );
        if cached {
            self.parts.stats.count_cached(remembered.keep, spans);
        }
        self.push(
            decision,
            remembered.keep,
            remembered.threshold,
            (&[place], 0),
        );
    }

    /// Decides a trace on what it has; `evidence` is what made it happen before its time.
    pub(super) fn decide(&mut self, owner: usize, slot: u32, evidence: Option<Evidence>) {
        let skeletons = self.partitions.get(owner).map(|owned| &owned.skeletons);
        let Some(skeleton) = skeletons.and_then(|skeletons| skeletons.get(slot).cloned()) else {
            return;
        };
        let in_time = match skeleton.root_seen {
            _ if self.parts.settings.span_ingest => Evidence::Unmatched,
            true => Evidence::Root,
            false if self.is_aged(&skeleton) => Evidence::MaxAge,
            false => Evidence::Complete,
        };
        let evidence = evidence.unwrap_or(in_time);
        let Some(verdict) = self.judge(owner, slot, &skeleton, evidence) else {
            return;
        };
        let stats = &self.parts.stats;
        stats.count_decision(verdict.policy, verdict.keep, evidence);
        let decision = Decision {
            trace: skeleton.trace(),
            policy: verdict.policy,
            evidence,
            first_second: skeleton.first_second,
            last_second: skeleton.last_second,
            thresholds: self.thresholds.clone(),
            child: verdict.child,
            grants: self.answers.clone(),
            cached: false,
            amends: None,
            amended_records: Amends::default(),
        };
        let remembered = Remembered {
            last_second: skeleton.last_second,
            policy: verdict.policy,
            child: verdict.child,
            keep: verdict.keep,
            threshold: verdict.threshold,
            service: skeleton.service,
        };
        let mut places = std::mem::take(&mut self.places);
        let Some(partition) = self.partitions.get_mut(owner) else {
            return;
        };
        partition.remember(&decision, remembered, seconds(self.now), stats);
        partition.skeletons.places(slot, &mut places);
        let named = partition.skeletons.named.pieces(slot) as usize;
        let freed = partition.skeletons.close(slot);
        let left = get(&stats.undecided_traces);
        set(&stats.undecided_traces, left.saturating_sub(1));
        self.release(skeleton.service, freed);
        let pieces = (&places[..], named);
        self.push(decision, verdict.keep, verdict.threshold, pieces);
        self.places = places;
    }

    fn is_aged(&self, skeleton: &Skeleton) -> bool {
        let (first, last) = (skeleton.first_second, skeleton.last_second);
        let idle = self.parts.settings.idle;
        idle.is_some_and(|idle| idle.is_aged(first, last))
    }

    /// Asks the policies, unless the evidence says that nobody is to be asked; `None`: the trace stays undecided.
    fn judge(
        &mut self,
        owner: usize,
        slot: u32,
        skeleton: &Skeleton,
        evidence: Evidence,
    ) -> Option<Verdict> {
        let skeletons = &self.partitions.get(owner)?.skeletons;
        let (words, features) = (skeletons.words(slot), skeletons.features.get(slot));
        let state = State {
            trace: skeleton.trace(),
            fold: &skeleton.fold,
            words,
            features: features.as_ref(),
        };
        let program = &self.parts.program;
        if !self.percentiles.is_empty() {
            self.seen.take(program, state, self.parts.atoms.values());
            self.percentiles
                .thresholds(&self.seen, &mut self.thresholds);
        }
        self.answers.clear();
        let mut grants = Granting {
            limits: &mut self.limits,
            now: &mut self.budget_time,
            answers: &mut self.answers,
        };
        let stats = &self.parts.stats;
        let (spans, bytes) = (u64::from(skeleton.fold.spans), skeleton.bytes);
        let count = |policy, vote| stats.count_vote(policy, vote, spans, bytes);
        let verdict = match evidence {
            Evidence::Early => program.decide_piece(state, &mut grants, count)?,
            evidence if evidence.unasked() => Verdict::NONE,
            _ => program.decide(state, &self.thresholds, &mut grants, count),
        };
        if evidence.observes() && !self.percentiles.is_empty() {
            self.percentiles.observe(&self.seen, self.now);
        }
        self.meter(skeleton, features.as_ref(), verdict.keep);
        Some(verdict)
    }

    /// Of the places, the first `named` are named by `undecided` entries.
    pub(super) fn push(
        &mut self,
        decision: Decision,
        keep: bool,
        threshold: u64,
        (places, named): (&[PackedRef], usize),
    ) {
        let extent = match places {
            [late] if !keep && decision.evidence == Evidence::Late => Extent::of_piece(*late),
            places => decision.extent(places),
        };
        let pressure = decision.evidence == Evidence::Pressure;
        if keep {
            self.batch.kept += extent.spans;
            self.batch.records.kept += extent.records;
            let now = seconds(self.now);
            self.parts
                .deliveries
                .iter()
                .for_each(|delivery| delivery.expect(now, places));
            self.batch
                .push(&Entry::Keep(decision, threshold, places.to_vec()));
        } else {
            *(if pressure {
                &mut self.batch.dropped_pressure
            } else {
                &mut self.batch.dropped
            }) += extent.spans;
            *(if pressure {
                &mut self.batch.records.dropped_pressure
            } else {
                &mut self.batch.records.dropped
            }) += extent.records;
            if !decision.evidence.is_apart() {
                self.leave(&decision, places);
            }
            self.batch.push(&Entry::Drop(decision, extent));
        }
        if self.limits.take_changed() {
            self.batch.set_limits(self.limits.snapshot());
        }
        self.batch.last = self.batch.last.max(extent.last);
        let (named, others) = places.split_at(named.min(places.len()));
        self.batch.settled_named.extend_from_slice(named);
        self.batch.settled.extend_from_slice(others);
    }
}
