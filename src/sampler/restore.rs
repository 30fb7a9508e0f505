//! Late evidence: a late piece that matches a policy named in `late_evidence` brings its dropped trace back, whole.
//!
//! The trace gets an amendment, once: a keep entry over all pieces that are still in the log, with the late piece. No
//! policy that drops may have had a say: neither over the trace nor over the late piece. The late piece is asked alone.
//! What retention has taken stays dropped, and is counted.

use super::entry::{Amends, Decision, Entry};
use super::evidence::Evidence;
use super::front::see;
use super::left::Left;
use super::packed::PackedRef;
use super::recovery::seconds;
use super::scanned::{ScannedPiece, services_of};
use super::stats::add;
use super::worker::Worker;
use crate::log::{Fed, Ref, Signal, pieces};
use crate::otlp::{Scan, TraceId, Trusting, scan_as};
use crate::rules::{Facts, Fold, State, Verdict};
use std::time::Duration;

/// Log that is read for one trace that was dropped before a restart. Reading it takes some tens of milliseconds, in which
/// the worker does nothing else; a trace that lies further apart comes back without what was dropped.
const MOST_READ: u64 = 64 << 20;

impl Worker {
    /// Remembers the pieces of a drop, where late evidence may bring them back.
    pub(super) fn leave(&mut self, decision: &Decision, places: &[PackedRef]) {
        if self.parts.settings.late_evidence.is_empty() || decision.policy.is_some() {
            return;
        }
        let owner = self.owner_of_trace(decision.trace);
        if let Some(partition) = self.partitions.get_mut(owner) {
            let late = decision.evidence == Evidence::Late;
            let left = Left::of(decision, places);
            partition.memory.leave(decision.trace, left, late);
        }
    }

    /// A late piece of a dropped trace; whether it has brought the trace back.
    pub(super) fn restore(
        &mut self,
        piece: &ScannedPiece,
        place: PackedRef,
        second: u32,
        facts: &Facts,
    ) -> bool {
        if self.parts.settings.late_evidence.is_empty() {
            return false;
        }
        let Some(verdict) = self.evidence_of(place.signal(), piece, facts) else {
            return false;
        };
        let owner = self.owner_of(piece);
        let left = self
            .partitions
            .get_mut(owner)
            .and_then(|partition| partition.memory.take_left(piece.trace));
        let Some(left) = left else {
            return false;
        };
        let (mut places, amends, amended_records) = self.still_there(piece.trace, &left);
        let missing = left.spans.saturating_sub(amends.spans());
        places.push(place);
        let decision = Decision {
            trace: piece.trace,
            policy: verdict.policy,
            evidence: Evidence::Amendment,
            first_second: left.first_second,
            last_second: second,
            thresholds: Vec::new(),
            child: None,
            grants: Vec::new(),
            cached: false,
            amends: Some(amends),
            amended_records,
        };
        let stats = &self.parts.stats;
        stats.count_decision(verdict.policy, true, Evidence::Amendment);
        add(&stats.restored, amends.spans());
        add(&stats.not_restored, missing);
        add(&stats.late_kept, u64::from(place.spans()));
        if let Some(partition) = self.partitions.get_mut(owner) {
            partition
                .memory
                .amend(piece.trace, verdict.policy, verdict.threshold);
        }
        self.push_amendment(decision, verdict.threshold, places, place);
        true
    }

    /// Asks the policies over a late piece alone; `None` when it changes nothing.
    fn evidence_of(&self, signal: Signal, piece: &ScannedPiece, facts: &Facts) -> Option<Verdict> {
        let program = &self.parts.program;
        let (mut fold, mut words) = (Fold::default(), vec![0; program.state_words()]);
        let spans = piece.spans.start as usize..piece.spans.end as usize;
        let (atoms, bytes) = (&self.parts.atoms, piece.size.traces);
        let features = program.features_of(atoms, facts, spans.clone());
        let state = (&mut fold, &mut words[..]);
        program.fold_leaves(signal, atoms, state, facts, (spans, bytes));
        let state = State {
            trace: piece.trace,
            fold: &fold,
            words: &words,
            features: features.as_ref(),
        };
        program.late_evidence(&self.parts.settings.late_evidence, state)
    }

    fn push_amendment(
        &mut self,
        decision: Decision,
        threshold: u64,
        places: Vec<PackedRef>,
        late: PackedRef,
    ) {
        let now = seconds(self.now);
        for delivery in &self.parts.deliveries {
            delivery.expect(now, &places);
        }
        // Nobody had held the old pieces.
        self.hold();
        let amends = decision.amends.unwrap_or_default();
        let records = decision.amended_records;
        self.batch.kept += amends.spans() + u64::from(late.spans());
        self.batch.records.kept += records.spans() + u64::from(late.records());
        self.batch.records.restored.dropped += records.dropped;
        self.batch.records.restored.pressure += records.pressure;
        self.batch.restored.dropped += amends.dropped;
        self.batch.restored.pressure += amends.pressure;
        self.batch.last = self.batch.last.max(late.place().position);
        self.batch.push(&Entry::Keep(decision, threshold, places));
        self.batch.settled.push(late);
    }

    /// Pieces that retention has not taken, and what dropped them.
    fn still_there(&mut self, trace: TraceId, left: &Left) -> (Vec<PackedRef>, Amends, Amends) {
        let start = self.parts.log.start();
        let most = self.max_pieces as usize - 1;
        let mut places = match &left.places {
            Some(places) => places.clone(),
            None => self.read_pieces(trace, left.first.max(start), left.last),
        };
        places.retain(|place| place.place().position >= start);
        let spans = places
            .iter()
            .map(|place| u64::from(place.spans()))
            .sum::<u64>();
        // The entry would not fit; or services had other modes then, and more is found than was dropped.
        if places.len() > most || spans > left.spans {
            places.clear();
        }
        let (mut amends, mut records) = (Amends::default(), Amends::default());
        for place in &places {
            let pressure = left.under_pressure(place.place());
            amends.add(pressure, place.spans());
            records.add(pressure, place.records());
        }
        (places, amends, records)
    }

    /// Finds the pieces of a trace in the frames from `first` to `last`; none when these lie too far apart.
    fn read_pieces(&mut self, trace: TraceId, first: u64, last: u64) -> Vec<PackedRef> {
        let mut out = Vec::new();
        if last.saturating_sub(first) > MOST_READ {
            return out;
        }
        let mut feed = self.parts.log.history(first);
        while feed.position() <= last {
            match feed.next(Duration::ZERO) {
                Fed::Live { position, .. } | Fed::Stored { position, .. } if position > last => {
                    break;
                }
                Fed::Live {
                    position,
                    meta,
                    attachment,
                    ..
                } if self.parts.sources.feed(&meta) => {
                    let modes = &self.parts.modes;
                    let own = |p: &&ScannedPiece| p.trace == trace && modes.of(p.service).is_none();
                    let its = attachment.pieces.iter().filter(own);
                    out.extend(its.map(|piece| {
                        let place = Ref {
                            position,
                            offset: piece.offset,
                            length: piece.length,
                        };
                        PackedRef::of(place, meta.signal, piece.taken)
                    }));
                }
                Fed::Stored {
                    position,
                    meta,
                    body,
                    ..
                } if self.parts.sources.feed(&meta) => {
                    for piece in pieces(&body).flatten() {
                        let scanned = scan_as(meta.signal, &piece.body, &mut Trusting).ok();
                        let own = |scan: &Scan| {
                            scan.traces().next() == Some(trace)
                                && self.at_the_tail(&piece.body, scan)
                        };
                        if scanned.as_ref().is_some_and(own) {
                            let place = Ref {
                                position,
                                offset: piece.offset,
                                length: u32::try_from(piece.body.len()).unwrap_or(u32::MAX),
                            };
                            out.push(PackedRef::of(place, meta.signal, piece.spans));
                        }
                    }
                }
                Fed::Idle { .. } | Fed::Closed => break,
                Fed::Live { .. } | Fed::Stored { .. } | Fed::Damaged { .. } => {}
            }
        }
        drop(feed);
        out.retain(|place| !self.is_filtered(trace, *place));
        out
    }

    fn at_the_tail(&self, piece: &[u8], scan: &Scan) -> bool {
        let modes = &self.parts.modes;
        modes.is_empty() || {
            let services = services_of(piece, scan, &self.parts.services);
            services.iter().all(|service| modes.of(*service).is_none())
        }
    }

    /// The processors leave nothing of the piece: it was settled alone, and not dropped.
    fn is_filtered(&mut self, trace: TraceId, place: PackedRef) -> bool {
        if self.parts.front.is_empty() || place.signal() == Signal::Logs {
            return false;
        }
        let Ok(bytes) = self.parts.log.read(place.place(), trace) else {
            return false;
        };
        let (front, atoms) = (&self.parts.front, &self.parts.atoms);
        see((place.signal(), &bytes), front, atoms, &mut self.scratch)
            .is_some_and(|seen| seen.facts.len() == 0)
    }
}
