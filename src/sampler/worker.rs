//! The thread that owns partitions: it reads the log in order, folds, and decides at ticks.
//!
//! Invariants: timers fire before a record with a later stamp is folded; nothing takes effect before its entry is in the
//! decision log; payload is never read to decide. Embedded, one worker owns all partitions: folding takes some 20 ns a
//! span, so one thread keeps up with any intake, and thresholds need no merging between threads.

use super::batch::Batch;
use super::collector_table::{CollectorTable, Found};
use super::coverage::Coverage;
use super::delivery::Delivery;
use super::entry::{BatchMeta, Decision, Entry, Extent};
use super::evidence::Evidence;
use super::memory::{DecisionMemory, Remembered};
use super::packed::PackedRef;
use super::partition::Partition;
use super::position_ring::PositionRing;
use super::recovery::{FrameMark, Recovered, seconds};
use super::scanned::{Scanned, ScannedPiece};
use super::settings::SamplerSettings;
use super::skeletons::Skeletons;
use super::stats::{SamplerStats, add, set};
use super::stop_signal::StopSignal;
use super::strict::Blocked;
use super::waiting::Waiting;
use crate::clock::{SECOND, SharedClock};
use crate::log::{
    Account, CursorFile, Fed, FrameMeta, Log, OnFull, Ref, ServiceId, Services, Stream,
};
use crate::otlp::SourceId;
use crate::processors::Chain;
use crate::rules::{
    Atoms, Facts, Granting, Limits, ObserverScratch, Percentiles, Program, State, Verdict,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What a worker works with.
pub(crate) struct Parts {
    pub(crate) settings: SamplerSettings,
    /// Receivers that feed this pipeline.
    pub(crate) sources: Vec<SourceId>,
    pub(crate) program: Program,
    pub(crate) rules: u32,
    /// What the words of a state mean.
    pub(crate) layout: u32,
    /// Processors that spans pass on their way to the rules.
    pub(crate) front: Arc<Chain>,
    pub(crate) atoms: Arc<Atoms>,
    pub(crate) services: Arc<Services>,
    pub(crate) on_full: OnFull,
    pub(crate) log: Arc<dyn Log<Scanned>>,
    pub(crate) decisions: Stream,
    pub(crate) file: CursorFile,
    pub(crate) deliveries: Vec<Arc<Delivery>>,
    /// Exporters that the config no longer has.
    pub(crate) gone: Vec<(String, Arc<Delivery>)>,
    pub(crate) stats: Arc<SamplerStats>,
    pub(crate) partitions: u16,
    /// To measure with.
    pub(crate) clock: SharedClock,
}

pub(crate) struct Worker {
    pub(super) parts: Parts,
    pub(super) partitions: Vec<Partition>,
    pub(super) percentiles: Percentiles,
    pub(super) limits: Limits,
    /// What budgets answered for the trace in hand.
    pub(super) answers: Vec<u64>,
    /// Log time at which budgets are asked: that of the tick, or now.
    pub(super) budget_time: u64,
    /// Pieces that wait until the table has room (`block_on_overflow`).
    pub(super) blocked: VecDeque<Blocked>,
    pub(super) batch: Batch,
    /// Pieces that no durable entry names.
    pub(super) undecided: PositionRing,
    /// Pieces of undecided traces that `undecided` entries name: a restart does not fold them, a keep reads them.
    pub(super) named: PositionRing,
    /// Everything below is folded, or named by an entry.
    pub(super) read: u64,
    pub(super) next_tick: Option<u64>,
    pub(super) now: u64,
    pub(super) marks: VecDeque<FrameMark>,
    pub(super) coverage: Coverage,
    /// Coverage ends here: everything above was never seen before.
    replay_end: u64,
    /// Counted in `accepted` up to here.
    pub(super) counted: u64,
    pub(super) accounts: Vec<Arc<Account>>,
    pub(super) skeleton_bytes: u64,
    pub(super) snapshot_position: u64,
    /// What was undecided when the last process ended, until the worker runs.
    pub(super) waiting: Vec<Waiting>,
    /// The decision log is needed from here on, but for `undecided` entries.
    pub(super) entries_from: u64,
    /// A keep entry with more pieces might not fit a segment of the decision log.
    max_pieces: u32,
    pub(super) scratch: ObserverScratch,
    pub(super) places: Vec<PackedRef>,
    thresholds: Vec<u64>,
    values: Vec<u32>,
}

/// Frames folded between two flushes of late entries.
const FRAMES_PER_FLUSH: u32 = 64;
/// How long a worker waits for a frame before it looks at the time: a tick is late by no more than this.
const WAIT: Duration = Duration::from_millis(50);
const MILLISECOND: u64 = SECOND / 1000;
/// After a failed write of entries.
const RETRY: Duration = Duration::from_millis(200);

impl Worker {
    pub(crate) fn new(parts: Parts, recovered: Recovered) -> Self {
        let tick = recovered.stamp / SECOND;
        let state_words = parts.program.state_words();
        let memory_cap = parts.settings.memory_cap / u64::from(parts.partitions.max(1));
        let strict = parts.settings.strict;
        let partition = |_| Partition {
            skeletons: Skeletons::new(state_words, 0),
            memory: DecisionMemory::new(parts.settings.late_window, memory_cap),
            table: strict.map(|strict| CollectorTable::new(strict.limits)),
        };
        let owners = strict.map_or(parts.partitions, |strict| strict.shards);
        let limits = parts.program.limits();
        let percentiles = Percentiles::new(parts.program.percentiles(), recovered.stamp);
        let mut worker = Self {
            partitions: (0..owners).map(partition).collect(),
            percentiles,
            limits,
            answers: Vec::new(),
            budget_time: tick * SECOND,
            blocked: VecDeque::new(),
            batch: Batch::new(parts.decisions.max_batch()),
            undecided: PositionRing::default(),
            named: PositionRing::default(),
            read: recovered.replays_from(),
            next_tick: None,
            now: tick * SECOND,
            marks: recovered.marks,
            coverage: recovered.coverage,
            replay_end: parts.log.end(),
            counted: recovered.snapshot.read,
            accounts: Vec::new(),
            skeleton_bytes: 0,
            snapshot_position: recovered.snapshot_position,
            waiting: recovered.waiting.into_values().collect(),
            entries_from: 0,
            max_pieces: max_pieces(&parts.decisions),
            scratch: ObserverScratch::default(),
            places: Vec::new(),
            thresholds: Vec::new(),
            values: Vec::new(),
            parts,
        };
        let snapshot = &recovered.snapshot;
        worker.percentiles.restore(
            &snapshot.sketches,
            recovered.stamp,
            worker.parts.atoms.values(),
        );
        worker.percentiles.refresh(recovered.stamp);
        worker.limits.restore(&snapshot.limits);
        let stats = &worker.parts.stats;
        snapshot.count(stats);
        add(&stats.damaged, recovered.damaged);
        set(&stats.decide, recovered.decide);
        set(&stats.read, worker.read);
        recovered
            .recalled
            .into_iter()
            .for_each(|recalled| worker.recall(recalled));
        worker
    }

    /// Runs until the log is closed or a stop is asked for.
    pub(crate) fn run(mut self, stop: &StopSignal) {
        if !self.take_up_waiting(stop) {
            return;
        }
        let mut feed = self.parts.log.feed(self.read);
        let mut frames = 0;
        while !stop.is_set() {
            let wait = if self.batch.is_empty() {
                WAIT
            } else {
                Duration::ZERO
            };
            let fed = feed.next(wait);
            let idle = matches!(fed, Fed::Idle { .. });
            if !self.take(fed) {
                break;
            }
            self.read = feed.position();
            set(&self.parts.stats.read, self.read);
            frames += 1;
            if idle || frames >= FRAMES_PER_FLUSH {
                frames = 0;
                self.relieve_services();
                self.flush_until_written(stop);
            }
        }
        self.finish(feed.as_mut());
    }

    /// Takes the next thing; `false` when the log has ended.
    pub(super) fn take(&mut self, fed: Fed<Scanned>) -> bool {
        match fed {
            Fed::Live {
                position,
                stamp,
                meta,
                attachment,
            } => {
                self.advance(stamp);
                let scanned = if self.parts.sources.contains(&meta.source) {
                    self.behind_front(position, attachment)
                } else {
                    attachment
                };
                self.frame(position, stamp, meta, &scanned);
            }
            Fed::Stored {
                position,
                stamp,
                meta,
                body,
            } => {
                self.advance(stamp);
                let (scanned, damaged) = Scanned::from_stored(
                    &body,
                    &self.parts.front,
                    &self.parts.atoms,
                    &self.parts.services,
                    &mut self.scratch,
                );
                add(&self.parts.stats.damaged, damaged);
                self.frame(position, stamp, meta, &Arc::new(scanned));
            }
            Fed::Damaged { position, next } => {
                add(&self.parts.stats.damaged, 1);
                tracing::error!(
                    position,
                    next,
                    "bytes of the log cannot be read; going on behind them"
                );
            }
            Fed::Idle { now } => self.advance(now),
            Fed::Closed => return false,
        }
        true
    }

    /// Moves log time on and fires the ticks up to it.
    pub(super) fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
        let tick = self.now / SECOND;
        let Some(next) = self.next_tick else {
            // The first moment: what is due is due after it.
            self.partitions
                .iter_mut()
                .for_each(|partition| partition.skeletons.fired(tick));
            self.next_tick = Some(tick + 1);
            return;
        };
        for tick in next..=tick {
            self.tick(tick);
        }
        self.next_tick = Some(next.max(tick + 1));
        set(&self.parts.stats.log_time, self.now);
    }

    fn tick(&mut self, tick: u64) {
        self.percentiles.refresh(tick * SECOND);
        self.budget_time = tick * SECOND;
        let began = self.parts.clock.monotonic();
        if self.parts.settings.strict.is_some() || !self.limits.is_empty() {
            self.decide_in_order(tick);
        }
        for index in 0..self.partitions.len() {
            while let Some(slot) = self
                .partitions
                .get(index)
                .and_then(|partition| partition.skeletons.due(tick))
            {
                self.decide(index, slot, None);
            }
            if let Some(partition) = self.partitions.get_mut(index) {
                partition.skeletons.fired(tick);
                partition.memory.expire(seconds(tick * SECOND));
            }
        }
        self.name_waiting(seconds(tick * SECOND));
        self.after_tick(tick);
        let took = self.parts.clock.monotonic().saturating_sub(began);
        self.parts.stats.tick_ms.observe(took / MILLISECOND);
        self.take_blocked(seconds(tick * SECOND));
    }

    fn frame(&mut self, position: u64, stamp: u64, meta: FrameMeta, scanned: &Arc<Scanned>) {
        let new = position >= self.counted;
        if !self.parts.sources.contains(&meta.source) {
            if new {
                add(&self.parts.stats.not_routed, u64::from(meta.spans));
                add(&self.parts.stats.accepted, u64::from(meta.spans));
            }
            return;
        }
        let replayed = position < self.replay_end;
        let spans_of = |piece: &ScannedPiece| u64::from(piece.taken);
        let spans = scanned.pieces.iter().map(spans_of).sum();
        if new {
            add(&self.parts.stats.accepted, spans);
        }
        if !replayed {
            self.begin(position, crate::otlp::index(scanned.pieces.len()), spans);
            self.warm(scanned);
        }
        for piece in &scanned.pieces {
            if replayed {
                if self.coverage.covers(piece.trace, position, piece.offset) {
                    continue;
                }
                self.begin(position, 1, spans_of(piece));
            }
            self.piece(position, seconds(stamp), piece, scanned);
        }
        if !replayed {
            self.coverage = Coverage::default();
        }
        self.relieve_skeletons();
    }

    /// Pieces that no durable entry names yet.
    fn begin(&mut self, position: u64, pieces: u32, spans: u64) {
        self.undecided.add(position, pieces);
        add(&self.parts.stats.undecided, spans);
    }

    fn piece(&mut self, position: u64, second: u32, piece: &ScannedPiece, scanned: &Arc<Scanned>) {
        let place = Ref {
            position,
            offset: piece.offset,
            length: piece.length,
        };
        let place = PackedRef::new(place, piece.taken);
        if piece.spans.is_empty() {
            return self.settle_filtered(piece.trace, place, second);
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
                return self.late(piece, place, second, (remembered, true));
            }
            Found::Decided(remembered, since) => {
                if let Some(since) = since {
                    let age = second.saturating_sub(since);
                    self.parts.stats.late_age.observe(u64::from(age));
                }
                return self.late(piece, place, second, (remembered, false));
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
        let due = u64::from(second) + 1 + self.parts.settings.decision_wait;
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
        self.parts.program.fold_piece(
            &self.parts.atoms,
            &mut skeleton.fold,
            words,
            facts,
            (spans, piece.size.traces),
        );
        // Where it is asked for, a trace's size is counted as the Collector counts it.
        skeleton.bytes += match piece.size.resource_spans {
            0 => u64::from(piece.length),
            size => size,
        };
        skeleton.last_second = second;
        let service = skeleton.service;
        let oversize = skeleton.fold.spans > self.parts.settings.max_trace_spans
            || skeleton.bytes > self.parts.settings.max_trace_bytes
            || skeleton.pieces >= self.max_pieces;
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
        if oversize {
            let evidence = match self.parts.settings.strict {
                Some(_) => Evidence::TooLarge,
                None => Evidence::Oversize,
            };
            self.decide(owner, slot, Some(evidence));
        } else if self.parts.settings.span_ingest {
            self.decide(owner, slot, Some(Evidence::Early));
        }
    }

    fn late(
        &mut self,
        piece: &ScannedPiece,
        place: PackedRef,
        second: u32,
        (remembered, cached): (Remembered, bool),
    ) {
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
        let Some(partition) = self.partitions.get_mut(owner) else {
            return;
        };
        let Some(skeleton) = partition.skeletons.get(slot).cloned() else {
            return;
        };
        let mut places = std::mem::take(&mut self.places);
        partition.skeletons.places(slot, &mut places);
        let words = partition.skeletons.words(slot);
        let state = State {
            trace: skeleton.trace(),
            fold: &skeleton.fold,
            words,
        };
        let program = &self.parts.program;
        if !self.percentiles.is_empty() {
            self.values.clear();
            self.values.extend(program.key_values(words));
            self.percentiles
                .thresholds(&self.values, &mut self.thresholds);
        }
        let in_time = match skeleton.root_seen {
            _ if self.parts.settings.span_ingest => Evidence::Unmatched,
            true => Evidence::Root,
            false => Evidence::Complete,
        };
        let evidence = evidence.unwrap_or(in_time);
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
            Evidence::Early => match program.decide_piece(state, &mut grants, count) {
                Some(verdict) => verdict,
                None => {
                    self.places = places;
                    return;
                }
            },
            evidence if evidence.unasked() => Verdict::NONE,
            _ => program.decide(state, &self.thresholds, &mut grants, count),
        };
        if let Some(duration) = state
            .duration()
            .filter(|_| evidence.observes() && !self.percentiles.is_empty())
        {
            self.percentiles.observe(&self.values, duration, self.now);
        }
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
        };
        let remembered = Remembered {
            last_second: skeleton.last_second,
            policy: verdict.policy,
            child: verdict.child,
            keep: verdict.keep,
            threshold: verdict.threshold,
            service: skeleton.service,
        };
        partition.remember(&decision, remembered, seconds(self.now), stats);
        let named = partition.skeletons.named.pieces(slot) as usize;
        let freed = partition.skeletons.close(slot);
        let left = stats.undecided_traces.load(Ordering::Relaxed);
        set(&stats.undecided_traces, left.saturating_sub(1));
        self.release(skeleton.service, freed);
        let pieces = (&places[..], named);
        self.push(decision, verdict.keep, verdict.threshold, pieces);
        self.places = places;
    }

    /// Of the places, the first `named` are named by `undecided` entries.
    fn push(
        &mut self,
        decision: Decision,
        keep: bool,
        threshold: u64,
        (places, named): (&[PackedRef], usize),
    ) {
        let extent = match places {
            [late] if !keep && decision.evidence == Evidence::Late => Extent::of_piece(*late),
            places => Extent::of(places),
        };
        let pressure = decision.evidence == Evidence::Pressure;
        if keep {
            self.batch.kept += extent.spans;
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

    pub(super) fn account(&mut self, service: ServiceId) -> Option<&Account> {
        if self.accounts.len() <= service.0 as usize {
            self.accounts = self.parts.services.all();
        }
        self.accounts.get(service.0 as usize).map(Arc::as_ref)
    }

    pub(super) fn charge(&mut self, service: ServiceId, bytes: u64) {
        self.skeleton_bytes += bytes;
        if let Some(account) = self.account(service) {
            account.skeletons.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    fn release(&mut self, service: ServiceId, bytes: u64) {
        self.skeleton_bytes = self.skeleton_bytes.saturating_sub(bytes);
        if let Some(account) = self.account(service) {
            account.skeletons.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    fn flush_until_written(&mut self, stop: &StopSignal) {
        while !self.flush() && !stop.is_set() {
            std::thread::park_timeout(RETRY);
        }
    }

    pub(super) fn batch_meta(&self) -> BatchMeta {
        BatchMeta {
            rules: self.parts.rules,
            decide: self.decide_position(),
        }
    }

    /// The oldest position that no durable entry names.
    pub(super) fn decide_position(&self) -> u64 {
        self.undecided
            .oldest()
            .map_or(self.read, |oldest| oldest.min(self.read))
    }
}

/// Bytes of a piece in a keep entry: positions and lengths are base-128 numbers.
const PIECE_BYTES: u64 = 24;

/// As many as take half a segment: what is before them in the same frame is no more than a batch's frame.
fn max_pieces(decisions: &Stream) -> u32 {
    u32::try_from(decisions.max_batch() / 2 / PIECE_BYTES).unwrap_or(u32::MAX)
}
