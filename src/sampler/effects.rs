//! What a worker does around its decisions: write entries, let them take effect, save, make room.

use super::batch::{Batch, RecordCounts};
use super::evidence::Evidence;
use super::owners::decide_name;
use super::recovery::{FrameMark, seconds};
use super::snapshot::{RecordSums, RestartPoint, Snapshot};
use super::stats::{RecordStats, add, get, set};
use super::worker::Worker;
use crate::log::{HEADROOM_PART, OnFull, OutFrame, ServiceId};
use prost::Message;
use std::sync::atomic::Ordering;

/// Ticks between two snapshots: what a restart reads of the decision log beyond them, and what percentiles it forgets.
const SNAPSHOT_TICKS: u64 = 10;
/// A cap is left with this much room, so that relief comes in stretches and not with each trace.
const RELIEF_PART: u64 = 32;

/// The ledger in log records.
fn count_records(stats: &RecordStats, batch: &RecordCounts) {
    let RecordCounts {
        kept,
        dropped,
        dropped_pressure,
        restored,
    } = *batch;
    add(&stats.kept, kept);
    let (dropped_now, pressure_now) = (get(&stats.dropped), get(&stats.dropped_pressure));
    let (all, pressure) = restored.take_off(dropped_now + dropped, pressure_now + dropped_pressure);
    set(&stats.dropped, all);
    set(&stats.dropped_pressure, pressure);
    let settled = kept + dropped + dropped_pressure - restored.spans();
    set(
        &stats.undecided,
        get(&stats.undecided).saturating_sub(settled),
    );
}

impl Worker {
    /// Writes the batch and lets it take effect; `false` when it could not be written and waits.
    pub(super) fn flush(&mut self) -> bool {
        if self.batch.is_empty() {
            return true;
        }
        if self.lost {
            return false;
        }
        let meta = self.batch_meta();
        let position = match self.batch.write(&*self.parts.decisions, self.now, meta) {
            Ok(position) => position,
            Err(error) => {
                add(&self.parts.stats.entry_errors, 1);
                self.lost = !self.parts.decisions.is_ours();
                tracing::error!(%error, "decisions cannot be written; they wait and take no effect");
                return false;
            }
        };
        self.flushed = self.parts.clock.monotonic();
        let next = Batch::new(self.parts.decisions.max_batch());
        let batch = std::mem::replace(&mut self.batch, next);
        self.tell_written();
        self.marks.push_back(FrameMark {
            position,
            last: batch.last,
            second: seconds(self.now),
        });
        for position in batch.named.iter().map(|place| place.place().position) {
            self.undecided.remove(position);
            self.named.add(position, 1);
        }
        for place in &batch.settled {
            self.undecided.remove(place.place().position);
        }
        for place in &batch.settled_named {
            self.named.remove(place.place().position);
        }
        let settled = batch.settled_named.iter().chain(&batch.settled);
        self.parts
            .log
            .settle(&mut settled.map(|place| place.place()));
        let stats = &self.parts.stats;
        add(&stats.kept, batch.kept);
        for (_, gone) in &self.parts.gone {
            gone.expire(batch.volume());
        }
        count_records(&stats.records, &batch.records);
        add(&stats.dropped, batch.dropped);
        add(&stats.dropped_pressure, batch.dropped_pressure);
        let (dropped, pressure) = (get(&stats.dropped), get(&stats.dropped_pressure));
        let (dropped, pressure) = batch.restored.take_off(dropped, pressure);
        set(&stats.dropped, dropped);
        set(&stats.dropped_pressure, pressure);
        add(&stats.filtered, batch.filtered);
        let spans = batch.kept + batch.dropped + batch.dropped_pressure + batch.filtered
            - batch.restored.spans();
        set(
            &stats.undecided,
            get(&stats.undecided).saturating_sub(spans),
        );
        self.hold();
        true
    }

    /// The batch is empty: what exporters expect is in the decision log.
    fn tell_written(&self) {
        let end = self.parts.decisions.end();
        self.parts
            .deliveries
            .iter()
            .for_each(|delivery| delivery.written(end));
    }

    pub(super) fn hold(&mut self) {
        let decide = self.decide_position();
        set(&self.parts.stats.decide, decide);
        // A keep reads pieces back that a restart does not fold again.
        let needed = self.named.oldest().unwrap_or(u64::MAX).min(decide);
        self.parts
            .log
            .hold(&decide_name(&self.parts.settings.id), needed);
        for delivery in &self.parts.deliveries {
            self.parts.log.hold(&delivery.name, delivery.oldest());
        }
    }

    /// Tells the services' accounts what decision memory holds for them.
    fn charge_memory(&mut self) {
        let charges: Vec<_> = self
            .partitions
            .iter_mut()
            .flat_map(|partition| partition.memory.take_charges())
            .collect();
        for (service, bytes) in charges {
            if let Some(account) = self.account(service) {
                // Two's complement: adding a negative number wraps to less.
                account
                    .decisions
                    .fetch_add(bytes.cast_unsigned(), Ordering::Relaxed);
            }
        }
    }

    /// After all traces of a tick are decided.
    pub(super) fn after_tick(&mut self, tick: u64) {
        self.flush();
        self.charge_memory();
        let stats = &self.parts.stats;
        self.count_table();
        set(&stats.skeleton_bytes, self.skeleton_bytes);
        let memories = || self.partitions.iter().map(|partition| &partition.memory);
        set(
            &stats.memory_bytes,
            memories().map(|memory| memory.bytes()).sum(),
        );
        set(
            &stats.memory_ids,
            memories().map(|memory| memory.len() as u64).sum(),
        );
        set(
            &stats.forgotten,
            memories().map(|memory| memory.forgotten).sum(),
        );
        if tick.is_multiple_of(SNAPSHOT_TICKS) && self.batch.is_empty() {
            self.save_snapshot();
        } else {
            self.hold();
        }
    }

    /// Writes counters and percentiles behind the entries that they count, then the point where a restart begins; whether
    /// both are saved.
    pub(crate) fn save_snapshot(&mut self) -> bool {
        let snapshot = self.snapshot();
        let mut body = Vec::new();
        super::entry::encode(
            &super::entry::Entry::Snapshot(snapshot.encode_to_vec()),
            &mut body,
        );
        let frame = OutFrame {
            stamp: self.now,
            meta: self.batch_meta().pack(),
            body: &[&body],
        };
        match self.parts.decisions.append(&[frame]) {
            Ok(positions) => {
                self.snapshot_position = positions.first().copied().unwrap_or_default();
                self.tell_written();
            }
            Err(error) => {
                tracing::warn!(%error, "a snapshot cannot be written; the last one stays");
                return false;
            }
        }
        let point = self.restart_point();
        let saved = self.parts.position.save(&point.encode_to_vec());
        match &saved {
            Ok(()) => {
                let cursors = self
                    .parts
                    .deliveries
                    .iter()
                    .map(|delivery| delivery.state().position);
                self.parts
                    .decisions
                    .release_before(cursors.fold(point.entries, u64::min));
            }
            Err(error) => {
                tracing::warn!(%error, "the restart point cannot be saved; the last one stays")
            }
        }
        self.hold();
        saved.is_ok()
    }

    fn snapshot(&self) -> Snapshot {
        let stats = &self.parts.stats;
        Snapshot {
            // A stop during a replay: what is not read again yet was counted by the life before.
            read: self.read.max(self.counted),
            accepted: get(&stats.accepted),
            kept: get(&stats.kept),
            dropped: get(&stats.dropped),
            dropped_pressure: get(&stats.dropped_pressure),
            not_routed: get(&stats.not_routed),
            expired: get(&stats.expired),
            filtered: get(&stats.filtered),
            records: RecordSums::of(&stats.records),
            policies: self.parts.program.policy_names(),
            limits: self.limits.snapshot(),
            sketches: self
                .percentiles
                .snapshot(self.now, self.parts.atoms.values()),
        }
    }

    /// Where a restart begins, when the last snapshot is the one that it takes.
    fn restart_point(&mut self) -> RestartPoint {
        let decide = self.decide_position();
        let now = seconds(self.now);
        let window = self.parts.settings.late_window;
        while self
            .marks
            .front()
            .is_some_and(|mark| mark.last < decide && mark.second.saturating_add(window) < now)
        {
            self.marks.pop_front();
        }
        self.entries_from = self
            .marks
            .front()
            .map_or(self.snapshot_position, |mark| mark.position);
        let named = self
            .partitions
            .iter()
            .filter_map(|p| p.skeletons.named.oldest());
        let entries = named.fold(self.entries_from, u64::min);
        RestartPoint {
            snapshot: self.snapshot_position,
            entries,
            decide,
            gone: false,
        }
    }

    /// At the skeleton cap the oldest traces of the service with most skeleton bytes are decided on what they have.
    pub(super) fn relieve_skeletons(&mut self) {
        let settings = &self.parts.settings;
        let cap = settings.sharers.part(settings.skeleton_cap);
        if self.skeleton_bytes <= cap {
            return;
        }
        let goal = cap - cap / RELIEF_PART;
        self.accounts = self.parts.services.all();
        while self.skeleton_bytes > goal {
            let most = self
                .accounts
                .iter()
                .max_by_key(|account| get(&account.skeletons))
                .map(|account| account.id);
            if most.is_none_or(|service| self.decide_oldest(service).is_none()) {
                break;
            }
        }
    }

    /// With `on_full: decide_early` the oldest traces of a full service are decided until it is below its cap.
    pub(super) fn relieve_services(&mut self) {
        if !self.parts.services.decide_early() {
            return;
        }
        self.accounts = self.parts.services.all();
        let full: Vec<ServiceId> = self
            .accounts
            .iter()
            .filter(|account| account.on_full == OnFull::DecideEarly && account.is_full())
            .map(|account| account.id)
            .collect();
        for service in full {
            // What decisions free is free when their entries are written, so all that are needed are written at once.
            while let Some(excess) = self.excess_of(service) {
                let mut freed = 0;
                while freed < excess
                    && let Some(bytes) = self.decide_oldest(service)
                {
                    freed += bytes;
                }
                if freed == 0 || !self.flush() {
                    break;
                }
            }
        }
    }

    /// What a full service holds beyond where relief ends; `None` when it is not full.
    fn excess_of(&self, service: ServiceId) -> Option<u64> {
        let account = self.accounts.get(service.0 as usize)?;
        let goal = account.cap - account.cap / HEADROOM_PART - account.cap / RELIEF_PART;
        let excess = account.held().saturating_sub(goal).max(1);
        account.is_full().then_some(excess)
    }

    /// Decides the trace of `service` that began first; what it held, payload included. `None` when there is none.
    fn decide_oldest(&mut self, service: ServiceId) -> Option<u64> {
        let oldest = |owner: usize| {
            let skeletons = &self.partitions.get(owner)?.skeletons;
            let slot = skeletons.oldest_of(service)?;
            let skeleton = skeletons.get(slot)?;
            let bytes = skeleton.bytes + skeletons.bytes_each();
            Some((skeleton.first_second, owner, slot, bytes))
        };
        let (_, owner, slot, bytes) = (0..self.partitions.len()).filter_map(oldest).min()?;
        self.decide(owner, slot, Some(Evidence::Pressure));
        Some(bytes)
    }
}
