//! From a frame of the log to the states of its traces: each piece goes to its undecided trace, after its decision, or opens
//! a trace.

use super::collector_table::Found;
use super::coverage::Coverage;
use super::evidence::Evidence;
use super::packed::PackedRef;
use super::recovery::seconds;
use super::scanned::{Scanned, ScannedPiece};
use super::service_modes::{Passage, ServiceModes};
use super::skeletons::Skeletons;
use super::stats::add;
use super::worker::Worker;
use crate::log::{FrameMeta, Ref, ServiceId, Signal};
use crate::rules::{Facts, Features, State};
use std::ops::Range;
use std::sync::Arc;

impl Worker {
    pub(super) fn frame(
        &mut self,
        position: u64,
        stamp: u64,
        meta: FrameMeta,
        scanned: &Arc<Scanned>,
    ) {
        let new = position >= self.counted;
        if !self.parts.sources.feed(&meta) {
            if new {
                let (accepted, not_routed) = match meta.signal {
                    Signal::Traces => (&self.parts.stats.accepted, &self.parts.stats.not_routed),
                    Signal::Logs => {
                        let records = &self.parts.stats.records;
                        (&records.accepted, &records.not_routed)
                    }
                };
                add(not_routed, u64::from(meta.spans));
                add(accepted, u64::from(meta.spans));
            }
            return;
        }
        let replayed = position < self.replay_end;
        let spans_of = |piece: &ScannedPiece| u64::from(piece.taken);
        let spans = scanned.pieces.iter().map(spans_of).sum();
        let signal = meta.signal;
        if new {
            let accepted = match signal {
                Signal::Traces => &self.parts.stats.accepted,
                Signal::Logs => &self.parts.stats.records.accepted,
            };
            add(accepted, spans);
        }
        if new && signal == Signal::Traces && self.parts.program.sees_spans() {
            self.observe_spans(scanned);
        }
        if !replayed {
            let pieces = crate::otlp::index(scanned.pieces.len());
            self.begin(position, signal, pieces, spans);
            self.warm(scanned);
            add(&self.parts.stats.texts_cut, u64::from(scanned.facts.cut()));
        }
        let modes = Arc::clone(&self.parts.modes);
        for (piece, passage) in in_order(scanned, &modes) {
            if replayed {
                if self.coverage.covers(piece.trace, position, piece.offset) {
                    continue;
                }
                self.begin(position, signal, 1, spans_of(piece));
            }
            self.piece(position, seconds(stamp), (piece, passage), scanned);
        }
        if !replayed {
            self.coverage = Coverage::default();
        }
        self.relieve_skeletons();
    }

    /// Pieces that no durable entry names yet.
    fn begin(&mut self, position: u64, signal: Signal, pieces: u32, spans: u64) {
        self.undecided.add(position, pieces);
        let undecided = match signal {
            Signal::Traces => &self.parts.stats.undecided,
            Signal::Logs => &self.parts.stats.records.undecided,
        };
        add(undecided, spans);
    }

    fn piece(
        &mut self,
        position: u64,
        second: u32,
        (piece, passage): (&ScannedPiece, Option<&Passage>),
        scanned: &Arc<Scanned>,
    ) {
        let place = Ref {
            position,
            offset: piece.offset,
            length: piece.length,
        };
        let place = PackedRef::of(place, scanned.signal, piece.taken);
        if scanned.signal == Signal::Logs && piece.trace.0 == 0 {
            return self.settle_untraced(piece.trace, place, second);
        }
        if piece.spans.is_empty() {
            return self.settle_filtered(piece.trace, place, second);
        }
        if let Some(passage) = passage {
            return self.pass(passage, piece, place, second);
        }
        self.budget_time = self.budget_time.max(self.now);
        if self.must_wait(piece) {
            return self.block(piece, place, scanned);
        }
        self.route(piece, place, second, &scanned.facts);
    }

    /// To its undecided trace, after its decision, or into a new trace.
    pub(super) fn route(
        &mut self,
        piece: &ScannedPiece,
        place: PackedRef,
        second: u32,
        facts: &Facts,
    ) {
        let owner = self.owner_of(piece);
        let slot = match self.find(owner, piece.trace, second) {
            Found::Undecided(slot) => slot,
            Found::Cached(remembered) => {
                return self.late(piece, place, second, facts, (remembered, true));
            }
            Found::Decided(remembered, since) => {
                if let Some(since) = since {
                    let age = second.saturating_sub(since);
                    self.parts.stats.late_age.observe(u64::from(age));
                }
                return self.late(piece, place, second, facts, (remembered, false));
            }
            Found::New => self.open(owner, piece, second),
        };
        self.fold(owner, slot, second, piece, place, facts);
    }

    fn open(&mut self, owner: usize, piece: &ScannedPiece, second: u32) -> u32 {
        self.make_room(owner, second);
        let Some(partition) = self.partitions.get_mut(owner) else {
            return super::pages::NONE;
        };
        // The open batch closes at the next tick; N ticks later it is decided: a delay in (N, N+1].
        let due = match self.parts.settings.idle {
            Some(idle) => idle.due(second, second),
            None => u64::from(second) + 1 + self.parts.settings.decision_wait,
        };
        let timed = partition.table.is_none().then_some(due);
        let slot = partition
            .skeletons
            .open(piece.trace, piece.service, second, timed);
        if let Some(table) = &mut partition.table {
            table.open(piece.trace, slot, second, due);
        }
        let bytes = partition.skeletons.bytes_each();
        add(&self.parts.stats.new_traces, 1);
        add(&self.parts.stats.undecided_traces, 1);
        self.charge(piece.service, bytes);
        slot
    }

    fn fold(
        &mut self,
        owner: usize,
        slot: u32,
        second: u32,
        piece: &ScannedPiece,
        place: PackedRef,
        facts: &Facts,
    ) {
        let Some(partition) = self.partitions.get_mut(owner) else {
            return;
        };
        let Some((skeleton, words)) = partition.skeletons.state_mut(slot) else {
            return;
        };
        let spans = piece.spans.start as usize..piece.spans.end as usize;
        let root = spans.clone().any(|span| facts.is_root(span));
        if self.parts.settings.span_ingest {
            let program = &self.parts.program;
            program.begin_piece(&mut skeleton.fold, words);
        }
        self.parts.program.fold_leaves(
            place.signal(),
            &self.parts.atoms,
            (&mut skeleton.fold, words),
            facts,
            (spans.clone(), piece.size.traces),
        );
        // Where it is asked for, a trace's size is counted as the Collector counts it.
        skeleton.bytes += match piece.size.resource_spans {
            0 => u64::from(piece.length),
            size => size,
        };
        let moved = (skeleton.last_second != second)
            .then_some(self.parts.settings.idle)
            .flatten()
            .map(|idle| idle.due(skeleton.first_second, second));
        skeleton.last_second = second;
        let service = skeleton.service;
        let oversize = skeleton.fold.spans > self.parts.settings.max_trace_spans
            || skeleton.bytes > self.parts.settings.max_trace_bytes
            || skeleton.pieces >= self.max_pieces;
        if let Some(due) = moved {
            partition.skeletons.put_off(slot, due);
        }
        if let Some(wait) = self
            .parts
            .settings
            .decision_wait_after_root
            .filter(|_| root)
        {
            let due = u64::from(second) + 1 + wait;
            match &mut partition.table {
                Some(table) => _ = table.root_received(piece.trace, due),
                None => partition.skeletons.root_received(slot, due),
            }
        }
        if partition.skeletons.add_piece(slot, place) {
            self.charge(service, Skeletons::CHUNK_BYTES);
        }
        self.meter_scores(service, facts, spans.clone());
        let (program, atoms) = (&self.parts.program, &self.parts.atoms);
        if let Some(features) = program.features_of(atoms, facts, spans) {
            self.add_features(owner, slot, service, features);
        }
        if oversize {
            let evidence = match self.parts.settings.strict {
                Some(_) => Evidence::TooLarge,
                None => Evidence::Oversize,
            };
            self.decide(owner, slot, Some(evidence));
        } else if self.parts.settings.span_ingest {
            let partition = self.partitions.get_mut(owner);
            if let Some(table) = partition.and_then(|partition| partition.table.as_mut()) {
                table.ask(piece.trace, second);
            }
            self.decide(owner, slot, Some(Evidence::Early));
        } else if !self.early.is_empty() && self.keeps_early(owner, slot) {
            self.decide(owner, slot, Some(Evidence::EarlyKeep));
        }
    }

    /// Spans for the percentiles: each once, for a snapshot of them tells up to where the log is in it.
    /// Those of services with a mode are none of theirs.
    fn observe_spans(&mut self, scanned: &Scanned) {
        let (modes, facts) = (&self.parts.modes, &scanned.facts);
        let (program, atoms) = (&self.parts.program, &self.parts.atoms);
        let (percentiles, now) = (&mut self.percentiles, self.now);
        let mut observe = |spans: Range<usize>| {
            program.each_span(atoms, facts, spans, |rule, key, duration| {
                percentiles.observe_span(rule, key, duration, now);
            });
        };
        if modes.is_empty() {
            return observe(0..facts.len() as usize);
        }
        let at_the_tail = |piece: &&ScannedPiece| modes.of(piece.service).is_none();
        for piece in scanned.pieces.iter().filter(at_the_tail) {
            observe(piece.spans.start as usize..piece.spans.end as usize);
        }
    }

    /// What its model calls say joins what is known of the trace.
    pub(super) fn add_features(
        &mut self,
        owner: usize,
        slot: u32,
        service: ServiceId,
        features: Features,
    ) {
        let Some(partition) = self.partitions.get_mut(owner) else {
            return;
        };
        let (before, after) = partition.skeletons.features.add(slot, features);
        self.release(service, before);
        self.charge(service, after);
    }

    fn keeps_early(&self, owner: usize, slot: u32) -> bool {
        let Some(partition) = self.partitions.get(owner) else {
            return false;
        };
        let skeletons = &partition.skeletons;
        skeletons.get(slot).is_some_and(|skeleton| {
            let features = skeletons.features.get(slot);
            let state = State {
                trace: skeleton.trace(),
                fold: &skeleton.fold,
                words: skeletons.words(slot),
                features: features.as_ref(),
            };
            self.parts.program.keeps_early(&self.early, state)
        })
    }
}

/// The pieces of a frame, those that leave at once first: what is written later spans only what is written already.
fn in_order<'a>(
    scanned: &'a Scanned,
    modes: &'a ServiceModes,
) -> impl Iterator<Item = (&'a ScannedPiece, Option<&'a Passage>)> {
    let pieces = || scanned.pieces.iter();
    let of_mode = |piece: &'a ScannedPiece| Some((piece, Some(modes.of(piece.service)?)));
    let first = pieces().take(if modes.is_empty() { 0 } else { usize::MAX });
    let at_the_tail = |piece: &&ScannedPiece| modes.of(piece.service).is_none();
    let others = pieces().filter(at_the_tail).map(|piece| (piece, None));
    first.filter_map(of_mode).chain(others)
}
