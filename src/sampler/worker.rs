//! The thread that owns partitions: it reads the log in order, folds, and decides at ticks.
//!
//! Invariants: timers fire before a record with a later stamp is folded; nothing takes effect before its entry is in the
//! decision log; payload is never read to decide. Embedded, one worker owns all partitions: folding takes some 20 ns a
//! span, so one thread keeps up with any intake, and thresholds need no merging between threads.

use super::batch::Batch;
use super::collector_table::CollectorTable;
use super::coverage::Coverage;
use super::delivery::Delivery;
use super::entry::BatchMeta;
use super::memory::DecisionMemory;
use super::packed::PackedRef;
use super::partition::Partition;
use super::position_ring::PositionRing;
use super::recovery::{FrameMark, Recovered, seconds};
use super::replay::Replay;
use super::scanned::{Scanned, Scanning};
use super::service_modes::ServiceModes;
use super::settings::SamplerSettings;
use super::skeletons::Skeletons;
use super::sources::Sources;
use super::stats::{SamplerStats, add, set};
use super::stop_signal::StopSignal;
use super::strict::Blocked;
use super::waiting::Waiting;
use crate::clock::{SECOND, SharedClock};
use crate::genai::Meter;
use crate::log::{
    Account, DecisionLog, Fed, FrameMeta, Log, Position, RECORD, ServiceId, Services, record_piece,
};
use crate::processors::Chain;
use crate::rules::{Atoms, Limits, ObserverScratch, Percentiles, Program, Seen};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What a worker works with.
pub(crate) struct Parts {
    pub(crate) settings: SamplerSettings,
    /// Receivers that feed this pipeline.
    pub(crate) sources: Sources,
    pub(crate) program: Program,
    pub(crate) rules: u32,
    /// What the words of a state mean.
    pub(crate) layout: u32,
    /// Processors that spans pass on their way to the rules.
    pub(crate) front: Arc<Chain>,
    pub(crate) atoms: Arc<Atoms>,
    pub(crate) services: Arc<Services>,
    pub(crate) modes: Arc<ServiceModes>,
    pub(crate) log: Arc<dyn Log<Scanned>>,
    pub(crate) decisions: Arc<dyn DecisionLog>,
    pub(crate) position: Position,
    pub(crate) deliveries: Vec<Arc<Delivery>>,
    /// Exporters that the config no longer has.
    pub(crate) gone: Vec<(String, Arc<Delivery>)>,
    pub(crate) stats: Arc<SamplerStats>,
    /// Metrics of model calls, where they are wanted.
    pub(crate) meter: Option<Arc<Meter>>,
    pub(crate) partitions: u16,
    /// To measure with.
    pub(crate) clock: SharedClock,
}

pub(crate) struct Worker {
    pub(super) parts: Parts,
    pub(super) partitions: Vec<Partition>,
    pub(super) percentiles: Percentiles,
    pub(super) limits: Limits,
    /// Policies that keep early.
    pub(super) early: Vec<usize>,
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
    /// Monotonic time of the last flush, nanoseconds.
    pub(super) flushed: u64,
    /// The decision log is another's: nothing of ours takes effect any more.
    pub(super) lost: bool,
    pub(super) marks: VecDeque<FrameMark>,
    pub(super) coverage: Coverage,
    /// Coverage ends here: everything above was never seen before.
    pub(super) replay_end: u64,
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
    pub(super) max_pieces: u32,
    pub(super) scratch: ObserverScratch,
    pub(super) places: Vec<PackedRef>,
    pub(super) thresholds: Vec<u64>,
    /// What percentile rules see of the trace in hand.
    pub(super) seen: Seen,
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
        let early = match parts.settings.early_keep {
            true => parts.program.early_policies(),
            false => Vec::new(),
        };
        let percentiles = Percentiles::new(parts.program.percentiles(), recovered.stamp);
        let mut worker = Self {
            partitions: (0..owners).map(partition).collect(),
            percentiles,
            limits,
            early,
            answers: Vec::new(),
            budget_time: tick * SECOND,
            blocked: VecDeque::new(),
            batch: Batch::new(parts.decisions.max_batch()),
            undecided: PositionRing::default(),
            named: PositionRing::default(),
            read: recovered.replays_from().min(parts.log.end()),
            next_tick: None,
            now: tick * SECOND,
            flushed: 0,
            lost: false,
            marks: recovered.marks,
            coverage: recovered.coverage,
            replay_end: parts.log.end(),
            counted: recovered.snapshot.read.min(parts.log.end()),
            accounts: Vec::new(),
            skeleton_bytes: 0,
            snapshot_position: recovered.snapshot_position,
            waiting: recovered.waiting.into_values().collect(),
            entries_from: 0,
            max_pieces: max_pieces(&*parts.decisions),
            scratch: ObserverScratch::default(),
            places: Vec::new(),
            thresholds: Vec::new(),
            seen: Seen::default(),
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
            .for_each(|recalled| worker.recall(&recalled));
        worker
    }

    /// Runs until the log is closed or a stop is asked for.
    pub(crate) fn run(mut self, stop: &StopSignal) {
        let mut replay = Replay::begin(&self.parts.settings.id, self.read, self.replay_end);
        if !self.take_up_waiting(stop) {
            return;
        }
        let mut feed = self.parts.log.feed(self.read);
        let mut frames = 0;
        while !stop.is_set() && !self.lost {
            let fed = feed.next(self.wait());
            let idle = matches!(fed, Fed::Idle { .. });
            if !self.take(fed) {
                break;
            }
            self.read = feed.position();
            set(&self.parts.stats.read, self.read);
            replay.passed(self.read);
            frames += 1;
            if idle || frames >= FRAMES_PER_FLUSH {
                frames = 0;
                self.relieve_services();
                if self.gathered() {
                    self.flush_until_written(stop);
                }
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
                let scanned = if self.parts.sources.feed(&meta) {
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
                if position < self.read {
                    // A shared log that has lost records goes on before what was read of it.
                    self.counted = self.counted.min(position);
                    self.replay_end = self.replay_end.min(position);
                }
                let scanned = self.scanned(position, meta, &body);
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

    /// A frame that comes as bytes, scanned.
    fn scanned(&mut self, position: u64, meta: FrameMeta, body: &Bytes) -> Scanned {
        let with = &mut Scanning {
            front: &self.parts.front,
            atoms: &self.parts.atoms,
            services: &self.parts.services,
            scratch: &mut self.scratch,
        };
        if meta.version != RECORD {
            let (scanned, damaged) = Scanned::from_stored((meta.signal, body), with);
            add(&self.parts.stats.damaged, damaged);
            return scanned;
        }
        let Some((scanned, pieces, damaged)) = Scanned::from_record(body, with) else {
            add(&self.parts.stats.damaged, 1);
            self.parts.log.unreadable(position, body);
            return Scanned::default();
        };
        add(&self.parts.stats.damaged, damaged);
        let alone = pieces.iter().zip(&scanned.pieces);
        let alone = alone.filter(|(piece, scanned)| !piece.mixed && piece.trace == scanned.trace);
        let mut cached =
            alone.map(|(piece, scanned)| (record_piece(position, &piece.bytes), scanned.service));
        self.parts.log.cache(body, &mut cached);
        scanned
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

    pub(super) fn release(&mut self, service: ServiceId, bytes: u64) {
        self.skeleton_bytes = self.skeleton_bytes.saturating_sub(bytes);
        if let Some(account) = self.account(service) {
            account.skeletons.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// How long to wait for a frame.
    fn wait(&self) -> Duration {
        if self.batch.is_empty() {
            return WAIT;
        }
        WAIT.min(self.parts.decisions.gathers())
    }

    /// Whether entries that no tick brings have waited for others long enough.
    fn gathered(&self) -> bool {
        let since = self.parts.clock.monotonic().saturating_sub(self.flushed);
        Duration::from_nanos(since) >= self.parts.decisions.gathers()
    }

    fn flush_until_written(&mut self, stop: &StopSignal) {
        while !self.flush() && !self.lost && !stop.is_set() {
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
fn max_pieces(decisions: &dyn DecisionLog) -> u32 {
    u32::try_from(decisions.max_batch() / 2 / PIECE_BYTES).unwrap_or(u32::MAX)
}
