//! What an exporter has still to deliver: the sampler adds, the exporter takes away.
//!
//! Invariants: a kept span is counted here before its entry can be read, and leaves when the exporter says what became
//! of it; the cursor's position and its counts are saved in one write.

use super::backlog::Backlog;
use super::packed::PackedRef;
use super::position_ring::PositionRing;
use crate::log::Position;
use parking_lot::Mutex;
use prost::Message;
use std::sync::atomic::{AtomicU64, Ordering};

/// Kept spans and log records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Volume {
    pub(crate) spans: u64,
    pub(crate) records: u64,
}

/// What became of kept log records at one exporter.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct DeliveredRecords {
    /// Taken by the backend.
    #[prost(uint64, tag = "1")]
    pub delivered: u64,
    /// Refused by the backend for good.
    #[prost(uint64, tag = "2")]
    pub rejected: u64,
    /// In pieces that could not be read back.
    #[prost(uint64, tag = "3")]
    pub lost: u64,
    /// Given up after `max_elapsed_time`, or never to be delivered since the exporter is new.
    #[prost(uint64, tag = "4")]
    pub expired: u64,
    /// Of traces that go to other exporters.
    #[prost(uint64, tag = "5")]
    pub not_routed: u64,
    /// Of which nothing is left.
    #[prost(uint64, tag = "6")]
    pub erased: u64,
}

impl DeliveredRecords {
    fn sum(self) -> u64 {
        self.delivered + self.rejected + self.lost + self.expired + self.not_routed + self.erased
    }
}

/// What became of kept spans at one exporter, all in spans; the saved part of a [`Delivery`].
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Delivered {
    /// Everything before this position of the decision log is done with.
    #[prost(uint64, tag = "1")]
    pub position: u64,
    /// Keeps of the frame at `position` that are done with too.
    #[prost(uint64, tag = "7")]
    pub skip: u64,
    /// Taken by the backend.
    #[prost(uint64, tag = "2")]
    pub delivered: u64,
    /// Twins within one entry, left out.
    #[prost(uint64, tag = "3")]
    pub duplicate: u64,
    /// Refused by the backend for good.
    #[prost(uint64, tag = "4")]
    pub rejected: u64,
    /// In pieces that could not be read back.
    #[prost(uint64, tag = "5")]
    pub lost: u64,
    /// Given up after `max_elapsed_time`, or never to be delivered since the exporter is new.
    #[prost(uint64, tag = "6")]
    pub expired: u64,
    /// Left out by processors, of pieces of which something else may have left.
    #[prost(uint64, tag = "9")]
    pub filtered: u64,
    /// Left out of kept traces by thinning.
    #[prost(uint64, tag = "11")]
    pub thinned: u64,
    /// In kept traces that go to other exporters.
    #[prost(uint64, tag = "12")]
    pub not_routed: u64,
    /// In pieces that were erased before they were delivered.
    #[prost(uint64, tag = "13")]
    pub erased: u64,
    /// The exporter had left the config: it begins at the end when it comes back.
    #[prost(bool, tag = "8")]
    pub gone: bool,
    /// What became of kept log records; none where none ever came.
    #[prost(message, optional, tag = "10")]
    pub log_records: Option<DeliveredRecords>,
}

impl Delivered {
    /// Log records that are accounted for.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.log_records.map_or(0, DeliveredRecords::sum)
    }

    /// What became of log records, to be added to.
    pub(crate) fn records_mut(&mut self) -> &mut DeliveredRecords {
        self.log_records.get_or_insert_default()
    }

    /// Log records are expired, if any.
    fn expire_records(&mut self, records: u64) {
        if records > 0 {
            self.records_mut().expired += records;
        }
    }

    /// Spans that are accounted for.
    #[must_use]
    pub fn spans(&self) -> u64 {
        let left = self.delivered + self.duplicate + self.rejected + self.lost + self.expired;
        left + self.filtered + self.thinned + self.not_routed + self.erased
    }

    /// Adds counts; the position stays.
    pub(crate) fn add(&mut self, more: &Self) {
        self.delivered += more.delivered;
        self.duplicate += more.duplicate;
        self.rejected += more.rejected;
        self.lost += more.lost;
        self.expired += more.expired;
        self.filtered += more.filtered;
        self.thinned += more.thinned;
        self.not_routed += more.not_routed;
        self.erased += more.erased;
        if let Some(more) = more.log_records {
            let records = self.records_mut();
            records.delivered += more.delivered;
            records.rejected += more.rejected;
            records.lost += more.lost;
            records.expired += more.expired;
            records.not_routed += more.not_routed;
            records.erased += more.erased;
        }
    }

    /// Keep number `number` of the frame at `position` is still to be delivered.
    pub(crate) fn awaits(&self, position: u64, number: u64) -> bool {
        position > self.position || (position == self.position && number >= self.skip)
    }
}

/// The position and counts of one exporter of one instance.
#[derive(Debug)]
pub struct Delivery {
    /// `deliver/INSTANCE > EXPORTER`: the name of its file and of its hold on the log.
    pub name: String,
    expected: Mutex<Expected>,
    awaiting: AtomicU64,
    awaiting_records: AtomicU64,
    backlog: Mutex<Backlog>,
    state: Mutex<Delivered>,
    position: Position,
    new: bool,
}

/// Pieces that are to be delivered.
#[derive(Debug, Default)]
struct Expected {
    ring: PositionRing,
    /// The end of the decision log when all that is expected is in it; `None` while an entry is under way.
    written: Option<u64>,
}

impl Delivery {
    /// Loads the exporter's position; a new exporter begins at `end` of the decision log, as does one that was gone.
    #[must_use]
    pub fn open(name: &str, position: Position, end: u64) -> Self {
        let saved = position
            .load()
            .and_then(|bytes| Delivered::decode(&bytes[..]).ok());
        let gone = saved.is_some_and(|state| state.gone);
        let mut state = saved.unwrap_or_default();
        if saved.is_none() || gone {
            (state.position, state.skip) = (end, 0);
        }
        Self {
            name: name.to_owned(),
            expected: Mutex::default(),
            awaiting: AtomicU64::new(0),
            awaiting_records: AtomicU64::new(0),
            backlog: Mutex::default(),
            new: saved.is_none() || gone,
            state: Mutex::new(state),
            position,
        }
    }

    /// The exporter was not there before, or not in the process before.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.new
    }

    /// Spans kept without this exporter are none of its business: they count as expired for it.
    pub(crate) fn begin_after(&self, kept: Volume) {
        let mut state = self.state.lock();
        state.expired += kept.spans.saturating_sub(state.spans());
        let records = kept.records.saturating_sub(state.records());
        state.expire_records(records);
        state.gone = false;
    }

    /// The exporter has left the config: what it had not delivered of `kept` spans is expired. How many these are, when
    /// it had not left before.
    ///
    /// # Errors
    /// When that cannot be saved.
    pub(crate) fn give_up(&self, kept: Volume, end: u64) -> std::io::Result<Option<u64>> {
        let left = {
            let mut state = self.state.lock();
            let (was_gone, left) = (state.gone, kept.spans.saturating_sub(state.spans()));
            state.expired += left;
            let records = kept.records.saturating_sub(state.records());
            state.expire_records(records);
            (state.position, state.skip, state.gone) = (end, 0, true);
            (!was_gone).then_some(left)
        };
        self.save()?;
        Ok(left)
    }

    /// More was kept while the exporter is gone.
    pub(crate) fn expire(&self, kept: Volume) {
        let mut state = self.state.lock();
        state.expired += kept.spans;
        state.expire_records(kept.records);
    }

    /// Where it stands, and what became of the spans so far.
    #[must_use]
    pub fn state(&self) -> Delivered {
        *self.state.lock()
    }

    /// Kept spans that wait.
    #[must_use]
    pub fn awaiting(&self) -> u64 {
        self.awaiting.load(Ordering::Relaxed)
    }

    /// Kept log records that wait.
    #[must_use]
    pub fn awaiting_records(&self) -> u64 {
        self.awaiting_records.load(Ordering::Relaxed)
    }

    /// Log time, whole seconds, since when the oldest of them waits; `None`: none waits.
    #[must_use]
    pub fn waiting_since(&self) -> Option<u32> {
        self.backlog.lock().since()
    }

    /// The oldest position that it still has to read; `u64::MAX`: none.
    pub(crate) fn oldest(&self) -> u64 {
        self.expected.lock().ring.oldest().unwrap_or(u64::MAX)
    }

    /// These pieces, kept at `second` of log time, are to be delivered.
    pub(crate) fn expect(&self, second: u32, places: &[PackedRef]) {
        let mut expected = self.expected.lock();
        expected.written = None;
        let (mut spans, mut records) = (0, 0);
        for place in places {
            expected.ring.add(place.place().position, 1);
            spans += u64::from(place.spans());
            records += u64::from(place.records());
        }
        self.backlog.lock().add(second, spans + records);
        self.awaiting.fetch_add(spans, Ordering::Relaxed);
        self.awaiting_records.fetch_add(records, Ordering::Relaxed);
    }

    /// All entries that are expected lie before `end` of the decision log.
    pub(crate) fn written(&self, end: u64) {
        self.expected.lock().written = Some(end);
    }

    /// The exporter is done with all that it could read before `end`, and frames of the decision log could not be read:
    /// what it still awaits was in those, and is lost. How many spans; `None` while more is under way.
    ///
    /// # Errors
    /// As [`Self::done`].
    pub(crate) fn lose_unread(&self, end: u64) -> Option<std::io::Result<u64>> {
        let (lost, records) = {
            let mut expected = self.expected.lock();
            if expected.written != Some(end) {
                return None;
            }
            expected.ring = PositionRing::default();
            (self.awaiting(), self.awaiting_records())
        };
        let mut sum = Delivered {
            lost,
            ..Delivered::default()
        };
        if records > 0 {
            sum.records_mut().lost = records;
        }
        Some(self.done((end, 0), &[], sum).map(|()| lost))
    }

    /// At a start: of `kept` spans, those that are neither done with nor awaited were in frames that cannot be read.
    pub(crate) fn lose_missing(&self, kept: Volume) -> u64 {
        let mut state = self.state.lock();
        let lost = kept.spans.saturating_sub(state.spans() + self.awaiting());
        state.lost += lost;
        let records = kept
            .records
            .saturating_sub(state.records() + self.awaiting_records());
        if records > 0 {
            state.records_mut().lost += records;
        }
        lost
    }

    /// The keeps in front of `position` (a frame, and keeps of it) are done with; `sum` tells what became of their spans.
    /// Saved before it returns.
    ///
    /// # Errors
    /// When it could not be saved; it stands in memory, and the next call tries again.
    pub(crate) fn done(
        &self,
        position: (u64, u64),
        places: &[PackedRef],
        sum: Delivered,
    ) -> std::io::Result<()> {
        {
            let ring = &mut self.expected.lock().ring;
            places
                .iter()
                .for_each(|place| ring.remove(place.place().position));
        }
        self.backlog.lock().remove(sum.spans() + sum.records());
        self.awaiting.fetch_sub(sum.spans(), Ordering::Relaxed);
        self.awaiting_records
            .fetch_sub(sum.records(), Ordering::Relaxed);
        {
            let mut state = self.state.lock();
            (state.position, state.skip) = position;
            state.add(&sum);
        }
        self.save()
    }

    #[cfg(feature = "kafka")]
    /// Stands as it is told: for a sum of several.
    pub(super) fn stand(&self, state: Delivered, awaiting: u64, backlog: Backlog) {
        *self.state.lock() = state;
        *self.backlog.lock() = backlog;
        self.awaiting.store(awaiting, Ordering::Relaxed);
    }

    /// Saves the position as it stands.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn save(&self) -> std::io::Result<()> {
        let bytes = self.state.lock().encode_to_vec();
        self.position.save(&bytes)
    }
}
