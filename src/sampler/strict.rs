//! How a worker finds, opens and forgets traces: by the Collector's table with `compat: strict`, else by the late window.

use super::collector_table::Found;
use super::entry::Decision;
use super::evidence::Evidence;
use super::memory::Remembered;
use super::packed::PackedRef;
use super::partition::Partition;
use super::recovery::Recalled;
use super::scanned::{Scanned, ScannedPiece};
use super::stats::{SamplerStats, add, get, set};
use super::worker::Worker;
use crate::otlp::{TraceId, partition_of};
use std::sync::Arc;

/// A piece that waits for room in the table, as the Collector's input waits.
#[derive(Debug)]
pub(crate) struct Blocked {
    piece: ScannedPiece,
    place: PackedRef,
    scanned: Arc<Scanned>,
}

/// Pieces that may wait; beyond, the oldest trace is forgotten as without `block_on_overflow`. The Collector lets as many
/// requests wait as it has processors, and its senders with them; here they are in the log already.
const MOST_BLOCKED: usize = 100_000;

impl Worker {
    /// Who owns the piece's trace: its shard with `compat: strict`, its partition else.
    pub(super) fn owner_of(&self, piece: &ScannedPiece) -> usize {
        match self.parts.settings.strict {
            Some(_) => self.parts.program.shard_of(piece.trace) as usize,
            None => usize::from(piece.partition),
        }
    }

    /// The same of a trace of which no piece is at hand.
    pub(super) fn owner_of_trace(&self, trace: TraceId) -> usize {
        match self.parts.settings.strict {
            Some(_) => self.parts.program.shard_of(trace) as usize,
            None => usize::from(partition_of(trace, self.parts.partitions)),
        }
    }

    pub(super) fn find(&mut self, owner: usize, trace: TraceId, second: u32) -> Found {
        let Some(partition) = self.partitions.get_mut(owner) else {
            return Found::New;
        };
        if let Some(table) = &mut partition.table {
            return table.find(trace);
        }
        if let Some(slot) = partition.skeletons.find(trace) {
            return Found::Undecided(slot);
        }
        let remembered = partition.memory.late(trace, second);
        remembered.map_or(Found::New, Found::Cached)
    }

    /// A decision of the life before a restart.
    pub(super) fn recall(&mut self, recalled: &Recalled) {
        let Recalled {
            trace, remembered, ..
        } = *recalled;
        let left = recalled.left.clone();
        let left = left.filter(|_| !self.parts.settings.late_evidence.is_empty());
        let owner = self.owner_of_trace(trace);
        let Some(partition) = self.partitions.get_mut(owner) else {
            return;
        };
        match &mut partition.table {
            Some(table) => table.recall(trace, remembered, remembered.last_second),
            None => {
                partition.memory.insert(trace, remembered);
                if let Some(left) = left {
                    partition.memory.leave(trace, left, recalled.late);
                }
            }
        }
    }

    /// Before a new trace is opened: at `num_traces` the oldest one goes, forgotten as in the Collector or decided early.
    pub(super) fn make_room(&mut self, owner: usize, second: u32) {
        if self.parts.settings.strict.is_some() {
            return self.evict(owner, second);
        }
        let Some(most) = self.parts.settings.num_traces else {
            return;
        };
        while get(&self.parts.stats.undecided_traces) >= most.max(1) {
            let oldest = |owner: usize| {
                let skeletons = &self.partitions.get(owner)?.skeletons;
                let slot = skeletons.oldest()?;
                Some((skeletons.get(slot)?.first_second, owner, slot))
            };
            let Some((_, owner, slot)) = (0..self.partitions.len()).filter_map(oldest).min() else {
                return;
            };
            self.decide(owner, slot, Some(Evidence::Pressure));
        }
    }

    fn evict(&mut self, owner: usize, second: u32) {
        let blocks = self
            .parts
            .settings
            .strict
            .is_some_and(|strict| strict.block_on_overflow);
        while let Some(table) = self
            .partitions
            .get_mut(owner)
            .and_then(|partition| partition.table.as_mut())
            .filter(|table| table.is_full())
        {
            // Where input would wait, what is decided goes first: the Collector waits for ever there.
            let decided = if blocks { table.evict_decided() } else { None };
            let Some(evicted) = decided.or_else(|| table.evict()) else {
                return;
            };
            let age = second.saturating_sub(evicted.arrived);
            self.parts.stats.removal_age.observe(u64::from(age));
            if let Some(slot) = evicted.slot {
                self.decide(owner, slot, Some(Evidence::Evicted));
            }
        }
    }

    /// With `block_on_overflow`: a new trace where all in the table are undecided, and everything behind it.
    pub(super) fn must_wait(&mut self, piece: &ScannedPiece) -> bool {
        let blocks = self
            .parts
            .settings
            .strict
            .is_some_and(|strict| strict.block_on_overflow);
        if !blocks || self.blocked.len() >= MOST_BLOCKED {
            return false;
        }
        !self.blocked.is_empty() || self.finds_no_room(piece)
    }

    fn finds_no_room(&mut self, piece: &ScannedPiece) -> bool {
        let owner = self.owner_of(piece);
        let table = self
            .partitions
            .get_mut(owner)
            .and_then(|partition| partition.table.as_mut());
        table.is_some_and(|table| {
            table.is_full() && !table.holds_decided() && table.find(piece.trace) == Found::New
        })
    }

    pub(super) fn block(&mut self, piece: &ScannedPiece, place: PackedRef, scanned: &Arc<Scanned>) {
        self.blocked.push_back(Blocked {
            piece: piece.clone(),
            place,
            scanned: scanned.clone(),
        });
    }

    /// After a tick: takes what waits, in order, while there is room.
    pub(super) fn take_blocked(&mut self, second: u32) {
        while let Some(first) = self.blocked.pop_front() {
            if self.finds_no_room(&first.piece) {
                return self.blocked.push_front(first);
            }
            self.route(&first.piece, first.place, second, &first.scanned.facts);
        }
    }

    /// What the table holds, as of a tick.
    pub(super) fn count_table(&self) {
        let tables = || {
            self.partitions
                .iter()
                .filter_map(|partition| partition.table.as_ref())
        };
        let held = match self.parts.settings.strict {
            Some(_) => tables().map(|table| table.len() as u64).sum(),
            None => get(&self.parts.stats.undecided_traces),
        };
        set(&self.parts.stats.held_traces, held);
    }
}

impl Partition {
    /// Keeps a decision for late pieces. What was evicted, or never matched alone, is as if it had never been.
    pub(super) fn remember(
        &mut self,
        decision: &Decision,
        remembered: Remembered,
        second: u32,
        stats: &SamplerStats,
    ) {
        let forgotten = decision.evidence == Evidence::Evicted;
        let unmatched = decision.evidence == Evidence::Unmatched;
        let too_large = decision.evidence == Evidence::TooLarge;
        let left = match &mut self.table {
            _ if forgotten => return,
            None if unmatched => return,
            None => return self.memory.insert(decision.trace, remembered),
            Some(table) if unmatched => {
                table.cache(decision.trace, remembered);
                table.forget(decision.trace)
            }
            Some(table) => {
                use Evidence::{Complete, Early, Root};
                if !matches!(decision.evidence, Complete | Root | Early) {
                    table.leave_batch(decision.trace);
                }
                // Of a trace that was too large the Collector has no time of a decision, but for one that `span-ingest` left.
                let asked = table.asked(decision.trace);
                let measured = if too_large { asked } else { Some(second) };
                table.decided(decision.trace, remembered, measured)
            }
        };
        add(&stats.too_large, u64::from(too_large));
        if let Some(arrived) = left {
            stats
                .removal_age
                .observe(u64::from(second.saturating_sub(arrived)));
        }
    }
}
