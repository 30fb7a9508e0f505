//! From the decision log back to the state of a worker: entries are taken as they stand, and only what no entry names is
//! decided again.

use super::coverage::Coverage;
use super::delivery::Delivery;
use super::entry::{BatchMeta, Decision, Entries, Entry, Extent};
use super::evidence::Evidence;
use super::left::Left;
use super::memory::Remembered;
use super::snapshot::{LimitStates, RestartPoint, Snapshot};
use super::waiting::Waiting;
use crate::log::{DecisionLog, LogError, PositionStore, ReadError, ServiceId};
use crate::otlp::{NEVER, TraceId};
use hashbrown::HashMap;
use prost::Message;
use std::collections::VecDeque;
use std::sync::Arc;

/// A frame of the decision log that a later restart may need.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameMark {
    pub(crate) position: u64,
    /// Greatest span-log position that its entries name.
    pub(crate) last: u64,
    /// Its log time, whole seconds.
    pub(crate) second: u32,
}

/// A decision that late pieces may still ask for.
#[derive(Debug)]
pub(crate) struct Recalled {
    pub(crate) trace: TraceId,
    pub(crate) remembered: Remembered,
    /// What a drop has left.
    pub(crate) left: Option<Left>,
    /// It is one of a late piece.
    pub(crate) late: bool,
}

/// What the decision log says.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    pub(crate) coverage: Coverage,
    pub(crate) recalled: Vec<Recalled>,
    /// Undecided traces that need not be folded again.
    pub(crate) waiting: HashMap<TraceId, Waiting>,
    pub(crate) marks: VecDeque<FrameMark>,
    /// Counters as of the end of the decision log.
    pub(crate) snapshot: Snapshot,
    pub(crate) snapshot_position: u64,
    /// As it was saved.
    pub(crate) point: RestartPoint,
    /// No restart point was ever saved, or its owner had left the config: it begins at the end of the spans.
    pub(crate) begins: bool,
    /// Where replay begins.
    pub(crate) decide: u64,
    /// Greatest span-log position that an entry names: the span log goes on beyond it.
    pub(crate) beyond: u64,
    /// Log time of the last batch.
    pub(crate) stamp: u64,
    /// Frames that could not be read.
    pub(crate) damaged: u64,
}

/// Reads what a restart needs of the decision log, and tells each exporter what it has still to deliver.
///
/// # Errors
/// When the log is away and comes back.
pub(crate) fn recover(
    log: &dyn DecisionLog,
    position: &dyn PositionStore,
    deliveries: &[Arc<Delivery>],
) -> Result<Recovered, LogError> {
    let saved = position
        .load()
        .and_then(|bytes| RestartPoint::decode(&bytes[..]).ok());
    let point = saved.unwrap_or_default();
    let oldest = deliveries
        .iter()
        .map(|delivery| delivery.state().position)
        .min()
        .unwrap_or(u64::MAX);
    let mut out = Recovered {
        decide: point.decide,
        point,
        begins: point.gone,
        ..Recovered::default()
    };
    let mut reader = log.reader(point.entries.min(oldest).max(log.start()));
    loop {
        match reader.next() {
            Ok(Some(frame)) => {
                let Some(meta) = BatchMeta::unpack(&frame.meta) else {
                    out.damaged += 1;
                    continue;
                };
                let place = Place {
                    position: frame.position,
                    stamp: frame.stamp,
                    point,
                };
                out.take_frame(place, meta, &frame.body, deliveries);
            }
            Ok(None) => break,
            Err(ReadError::Io { source, .. }) if log.comes_back() => {
                return Err(LogError::io("reading decisions")(source));
            }
            Err(error) => {
                out.damaged += 1;
                tracing::error!(%error, "a frame of the decision log cannot be read");
                if matches!(error, ReadError::Beyond { .. } | ReadError::Io { .. }) {
                    break;
                }
            }
        }
    }
    // A position file that is lost leaves the entries to go by.
    out.begins |= saved.is_none() && out.marks.is_empty() && out.damaged == 0;
    if point.gone {
        out.snapshot.expire_undecided();
        out.waiting.clear();
        out.coverage = Coverage::default();
    }
    for (trace, waiting) in &out.waiting {
        out.coverage.add(*trace, Extent::of(&waiting.places));
        out.damaged += u64::from(!waiting.complete);
    }
    for delivery in deliveries.iter().filter(|delivery| delivery.is_new()) {
        delivery.begin_after(out.snapshot.volume());
    }
    if out.damaged > 0 {
        for delivery in deliveries {
            let spans = delivery.lose_missing(out.snapshot.volume());
            tracing::error!(
                position = delivery.name,
                spans,
                "kept spans are lost with entries that cannot be read"
            );
        }
    }
    for delivery in deliveries {
        delivery.written(log.end());
    }
    Ok(out)
}

#[derive(Clone, Copy)]
struct Place {
    position: u64,
    stamp: u64,
    point: RestartPoint,
}

impl Recovered {
    /// It has no past that it goes on from: nothing before `end` of the span log is its own.
    pub(crate) fn begin_at(&mut self, end: u64) {
        self.decide = end;
        self.snapshot.read = end;
    }

    /// Counting goes on from the snapshot, deciding from the oldest undecided piece.
    pub(crate) fn replays_from(&self) -> u64 {
        self.decide.min(self.snapshot.read)
    }

    /// The oldest position of the span log that is still needed.
    pub(crate) fn needs(&self) -> u64 {
        let pieces = self.waiting.values().flat_map(|waiting| &waiting.places);
        let positions = pieces.map(|place| place.place().position);
        positions.fold(self.decide, u64::min)
    }

    fn take_frame(
        &mut self,
        place: Place,
        meta: BatchMeta,
        body: &[u8],
        deliveries: &[Arc<Delivery>],
    ) {
        let second = seconds(place.stamp);
        let (mut last, mut keeps, mut keep_threshold) = (0, 0, NEVER);
        let mut entries = Entries::new(body);
        for entry in entries.by_ref() {
            if let Entry::Undecided(entry) = entry {
                let named = Waiting::take(&mut self.waiting, *entry, place.position);
                last = last.max(named.unwrap_or_default());
                continue;
            }
            if let Entry::Snapshot(bytes) = &entry {
                self.take_snapshot(place.position, bytes);
                continue;
            }
            if let Entry::Limits(bytes) = &entry {
                match LimitStates::decode(&bytes[..]) {
                    Ok(states) => self.snapshot.limits = states.limits,
                    Err(_) => self.damaged += 1,
                }
                continue;
            }
            if let Entry::Keep(_, threshold, places) = &entry {
                keep_threshold = *threshold;
                let due = deliveries
                    .iter()
                    .filter(|delivery| delivery.state().awaits(place.position, keeps));
                due.for_each(|delivery| delivery.expect(second, places));
                keeps += 1;
                self.take_named(place, &entry);
            }
            if let Some((decision, extent, keep)) = entry.decision() {
                let late = decision.is_of_piece(extent);
                last = last.max(if late { extent.first } else { extent.last });
                let threshold = keep.then_some(keep_threshold);
                self.take_decision(place, decision, extent, threshold);
            }
        }
        self.damaged += u64::from(entries.broken());
        self.decide = self.decide.max(meta.decide);
        self.beyond = self.beyond.max(last);
        self.stamp = self.stamp.max(place.stamp);
        if place.position >= place.point.entries {
            self.marks.push_back(FrameMark {
                position: place.position,
                last,
                second,
            });
        }
    }

    /// A keep that covers just the pieces that it names. What an amendment brings back was dropped before.
    fn take_named(&mut self, place: Place, entry: &Entry) {
        let Entry::Keep(decision, _, places) = entry else {
            return;
        };
        if decision.evidence == Evidence::Untraced {
            return self.coverage.add_pieces(decision.trace, places);
        }
        let Some(amends) = decision.amends else {
            return;
        };
        let Snapshot {
            dropped,
            dropped_pressure,
            ..
        } = &mut self.snapshot;
        (*dropped, *dropped_pressure) = amends.take_off(*dropped, *dropped_pressure);
        let amends = decision.amended_records;
        if amends.spans() > 0 {
            let records = self.snapshot.records.get_or_insert_default();
            (records.dropped, records.dropped_pressure) =
                amends.take_off(records.dropped, records.dropped_pressure);
        }
        let after = places.partition_point(|at| at.place().position < place.point.decide);
        let after = places.get(after..).unwrap_or_default();
        self.coverage.add_pieces(decision.trace, after);
    }

    fn take_snapshot(&mut self, position: u64, bytes: &[u8]) {
        match Snapshot::decode(bytes) {
            Ok(snapshot) => {
                self.snapshot = snapshot;
                self.snapshot_position = position;
            }
            Err(_) => self.damaged += 1,
        }
    }

    fn cover(&mut self, place: Place, decision: &Decision, extent: Extent) {
        let named = match decision.evidence {
            Evidence::Amendment => true,
            Evidence::Untraced => !decision.is_of_piece(extent),
            _ => false,
        };
        if extent.last < place.point.decide || named {
            return;
        }
        if decision.is_of_piece(extent) {
            self.coverage.add_piece(decision.trace, extent);
        } else {
            self.coverage.add(decision.trace, extent);
        }
    }

    fn count_records(&mut self, decision: &Decision, extent: Extent, keep: bool) {
        if extent.records == 0 {
            return;
        }
        let records = self.snapshot.records.get_or_insert_default();
        let counter = match (keep, decision.evidence) {
            (true, _) => &mut records.kept,
            (false, Evidence::Pressure) => &mut records.dropped_pressure,
            (false, _) => &mut records.dropped,
        };
        *counter += extent.records;
    }

    /// `threshold` is that of a keep.
    fn take_decision(
        &mut self,
        place: Place,
        decision: &Decision,
        extent: Extent,
        threshold: Option<u64>,
    ) {
        if decision.evidence == Evidence::Filtered {
            self.snapshot.filtered += extent.spans;
            self.cover(place, decision, extent);
            return;
        }
        let keep = threshold.is_some();
        // What is counted before a snapshot is read is replaced by the snapshot's own sums.
        let counter = match (keep, decision.evidence) {
            (true, _) => &mut self.snapshot.kept,
            (false, Evidence::Pressure) => &mut self.snapshot.dropped_pressure,
            (false, _) => &mut self.snapshot.dropped,
        };
        *counter += extent.spans;
        self.count_records(decision, extent, keep);
        if decision.evidence.is_apart() {
            self.cover(place, decision, extent);
            return;
        }
        let late = decision.evidence == Evidence::Late;
        if !late {
            self.waiting.remove(&decision.trace);
        }
        // A trace that a policy dropped stays dropped.
        let left = !keep && decision.policy.is_none();
        self.cover(place, decision, extent);
        self.recalled.push(Recalled {
            trace: decision.trace,
            // Entries do not tell the service.
            remembered: Remembered {
                last_second: decision.last_second,
                policy: decision.policy,
                child: decision.child,
                keep,
                threshold: threshold.unwrap_or(NEVER),
                service: ServiceId(0),
            },
            left: left.then(|| Left::between(decision, extent)),
            late,
        });
    }
}

/// Whole seconds of log time.
pub(crate) fn seconds(stamp: u64) -> u32 {
    u32::try_from(stamp / crate::clock::SECOND).unwrap_or(u32::MAX)
}
