//! Records that are no OTLP: told, counted, and copied to the dead-letter topic where there is one.
//!
//! Invariant: with a dead-letter topic a record is passed over only when that has it (or cannot take it: too large,
//! refused for good). No log line holds a byte of it.

use crate::clock::{Nanos, SECOND, SharedClock};
use crate::kafka::{Failure, Producer, Record};
use crate::receivers::stats::ReceiverStats;
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Between two lines: a topic of another format would fill the disk with them.
const QUIET: Nanos = SECOND;
/// Between two tries.
const RETRY: Duration = Duration::from_secs(1);

/// Where they go.
#[derive(Debug)]
pub(super) struct DeadLetters {
    pub(super) receiver: String,
    /// With its topic.
    pub(super) producer: Option<(Producer, String)>,
    pub(super) stats: Arc<ReceiverStats>,
    pub(super) clock: SharedClock,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    at: Option<Nanos>,
    since: u64,
}

/// A record that cannot be taken, where it stands, and why.
#[derive(Debug)]
pub(super) struct Poison<'a> {
    pub(super) place: (&'a str, i32, i64),
    pub(super) key: Option<&'a [u8]>,
    pub(super) value: &'a Bytes,
    /// A fixed phrase.
    pub(super) reason: &'a str,
}

impl DeadLetters {
    pub(super) fn new(
        receiver: &str,
        producer: Option<(Producer, String)>,
        stats: Arc<ReceiverStats>,
        clock: SharedClock,
    ) -> Self {
        Self {
            receiver: receiver.to_owned(),
            producer,
            stats,
            clock,
            told: Mutex::default(),
        }
    }

    /// `false` when `stop` came first: the record is read again.
    pub(super) async fn take(&self, poison: &Poison<'_>, stop: &CancellationToken) -> bool {
        self.tell(poison);
        let Some((producer, topic)) = &self.producer else {
            return true;
        };
        loop {
            match self.send(producer, topic, poison).await {
                Ok(()) => {
                    self.stats
                        .kafka
                        .dead_lettered
                        .fetch_add(1, Ordering::Relaxed);
                    return true;
                }
                Err(failure @ (Failure::TooLarge | Failure::Permanent(_))) => {
                    let (name, partition, offset) = poison.place;
                    tracing::error!(
                        receiver = self.receiver,
                        topic = name,
                        partition,
                        offset,
                        reason = failure.reason(),
                        "Kafka: the dead-letter topic does not take a record; it is passed over"
                    );
                    return true;
                }
                Err(failure) => {
                    let reason = failure.reason();
                    tracing::warn!(
                        receiver = self.receiver,
                        reason,
                        "Kafka: the dead-letter topic takes nothing; trying again"
                    );
                }
            }
            tokio::select! {
                () = tokio::time::sleep(RETRY) => {}
                () = stop.cancelled() => return false,
            }
        }
    }

    async fn send(
        &self,
        producer: &Producer,
        topic: &str,
        poison: &Poison<'_>,
    ) -> Result<(), Failure> {
        let (from, partition, offset) = poison.place;
        let headers = [
            ("tailwater.reason", poison.reason.to_owned()),
            ("tailwater.topic", from.to_owned()),
            ("tailwater.partition", partition.to_string()),
            ("tailwater.offset", offset.to_string()),
        ];
        let record = Record {
            topic,
            key: poison.key,
            value: poison.value,
            headers: &headers,
        };
        producer.send(&record)?.await.unwrap_or(Err(Failure::GONE))
    }

    fn tell(&self, poison: &Poison<'_>) {
        let now = self.clock.monotonic();
        let before = {
            let mut told = self.told.lock();
            if told.at.is_some_and(|at| now.saturating_sub(at) < QUIET) {
                told.since += 1;
                return;
            }
            told.at = Some(now);
            std::mem::take(&mut told.since)
        };
        let (topic, partition, offset) = poison.place;
        let (receiver, reason, bytes) = (&self.receiver, poison.reason, poison.value.len());
        tracing::error!(
            receiver,
            topic,
            partition,
            offset,
            bytes,
            reason,
            others_before = before,
            "Kafka: a record cannot be taken and is passed over"
        );
    }
}
