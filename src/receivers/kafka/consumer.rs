//! The consumer's thread: polls, admits records against the intake budget, commits what is done.
//!
//! It does no work on records and asks no disk, so that it always polls in time for the group. What the budget does not
//! take is one record; the partitions are paused until there is room for it.

use super::contents::Contents;
use super::group::{Group, commit};
use super::record::{Intake, Read};
use super::under_way::{Begun, UnderWay};
use crate::clock::{Nanos, SharedClock};
use crate::kafka::Encoding;
use crate::otlp::{Reservation, Signal};
use bytes::Bytes;
use rdkafka::Message as _;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::BorrowedMessage;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

/// How long one poll waits: what a stop may take longer.
const POLL: Duration = Duration::from_millis(100);
/// A stall up to this long is waited out; a longer one pauses the partitions, which throws away what was read ahead.
const STALL: Duration = Duration::from_millis(200);
/// For the records under way at the end, and for the last commit.
const LAST: Duration = Duration::from_secs(5);

/// Why a consumer's loop has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Stopped,
    /// The client is broken for good: a new one goes on.
    Broken,
}

/// A record that is read and not admitted yet.
struct Waiting {
    begun: Begun,
    key: Option<Bytes>,
    value: Bytes,
    /// What it is, by its topic.
    content: (Signal, Encoding),
}

pub(super) struct Loop {
    pub(super) consumer: BaseConsumer<Group>,
    pub(super) intake: Arc<Intake>,
    pub(super) under_way: Arc<UnderWay>,
    pub(super) tracker: TaskTracker,
    pub(super) runtime: Handle,
    pub(super) commit_interval: Duration,
    pub(super) clock: SharedClock,
    pub(super) waiting: WaitingRecords,
    pub(super) committed_at: Nanos,
}

/// What waits for the budget: one record, and what partitions that came meanwhile had read ahead.
#[derive(Default)]
pub(super) struct WaitingRecords {
    records: VecDeque<Waiting>,
    /// The partitions that are paused, by the number of assignments.
    paused: Option<u64>,
}

impl Loop {
    pub(super) fn run(mut self) -> Ended {
        let ended = loop {
            if self.intake.stop.is_cancelled() {
                break Ended::Stopped;
            }
            self.admit();
            match self.consumer.poll(POLL) {
                None => {}
                Some(Ok(message)) => {
                    let waiting = read(&self.under_way, &self.intake.contents, &message);
                    self.waiting.records.extend(waiting);
                }
                Some(Err(error)) if self.failed(&error) => break Ended::Broken,
                Some(Err(_)) => {}
            }
            self.commit_in_time();
        };
        self.finish();
        ended
    }

    /// Hands on what there is room for, and pauses the partitions while there is none.
    fn admit(&mut self) {
        self.waiting.records.retain(|record| record.begun.is_ours());
        while let Some(record) = self.waiting.records.front() {
            let mut room = self.has_room(record);
            if room.is_none() {
                self.under_way.wait_for_one(STALL);
                room = self.has_room(record);
            }
            let (Some(held), Some(record)) = (room, self.waiting.records.pop_front()) else {
                self.pause();
                return;
            };
            let Waiting {
                begun,
                key,
                value,
                content,
            } = record;
            let read = Read {
                begun,
                key,
                value,
                content,
                held,
            };
            let taken = self.intake.clone().take(read);
            self.tracker.spawn_on(taken, &self.runtime);
        }
        self.resume();
    }

    /// A share of the budget for a record, its protobuf included where it is JSON. One that is larger than the whole
    /// budget goes alone: else it would wait for ever.
    fn has_room(&self, record: &Waiting) -> Option<Reservation> {
        if self.under_way.is_full() {
            return None;
        }
        let budget = &self.intake.destination.budget;
        let copies = match record.content.1 {
            Encoding::OtlpProto => 1,
            Encoding::OtlpJson => 2,
        };
        let wanted = (record.value.len() as u64 * copies).min(budget.limit());
        let mut held = budget.reservation();
        held.grow(wanted).then_some(held)
    }

    fn pause(&mut self) {
        let assignments = self.under_way.with(|offsets| offsets.generations());
        if self.waiting.paused == Some(assignments) {
            return;
        }
        let paused = self.consumer.assignment();
        match paused.and_then(|partitions| self.consumer.pause(&partitions)) {
            Ok(()) => self.waiting.paused = Some(assignments),
            Err(error) => self.consumer.context().events.failed(&error),
        }
    }

    fn resume(&mut self) {
        if self.waiting.paused.is_none() {
            return;
        }
        let resumed = self.consumer.assignment();
        match resumed.and_then(|partitions| self.consumer.resume(&partitions)) {
            Ok(()) => self.waiting.paused = None,
            Err(error) => self.consumer.context().events.failed(&error),
        }
    }

    /// Errors of a poll are transient but for those of a broken client, which are told by `true`.
    fn failed(&self, error: &KafkaError) -> bool {
        let group = self.consumer.context();
        group.events.failed(error);
        if error.rdkafka_error_code() == Some(RDKafkaErrorCode::AutoOffsetReset) {
            group.repair(&self.consumer);
        }
        self.consumer.client().fatal_error().is_some()
    }

    fn commit_in_time(&mut self) {
        let now = self.clock.monotonic();
        let since = Duration::from_nanos(now.saturating_sub(self.committed_at));
        if since >= self.commit_interval {
            self.committed_at = now;
            commit(&self.consumer, &self.under_way);
        }
    }

    /// Waits for what is under way and commits it, for a limited time; what is not committed is read again.
    fn finish(mut self) {
        self.waiting.records.clear();
        if !self.under_way.wait_for_all(LAST) {
            tracing::warn!(
                "Kafka: the log has not taken all that was read; the next start reads it again"
            );
        }
        commit(&self.consumer, &self.under_way);
        // Leaving the group sends what is to be committed before it says goodbye.
        self.consumer.unsubscribe();
        drop(self.consumer);
        self.under_way.with(super::offsets::Offsets::disown_all);
    }
}

fn read(
    under_way: &Arc<UnderWay>,
    contents: &Contents,
    message: &BorrowedMessage<'_>,
) -> Option<Waiting> {
    let begun = UnderWay::begin(
        under_way,
        message.topic(),
        message.partition(),
        message.offset(),
    )?;
    // Copied: a borrowed message pins the whole answer that it came in.
    Some(Waiting {
        begun,
        key: message.key().map(Bytes::copy_from_slice),
        value: Bytes::copy_from_slice(message.payload().unwrap_or_default()),
        content: contents.of_topic(message.topic()),
    })
}
