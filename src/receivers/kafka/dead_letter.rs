//! Records that are no OTLP: told, counted, and copied to the dead-letter topic where there is one.
//!
//! Invariant: with a dead-letter topic a record is passed over only when that has it (or cannot take it: too large,
//! refused for good). No log line holds a byte of it.

use crate::clock::SharedClock;
use crate::kafka::{Failure, Poison, PoisonLog, Producer, Record};
use crate::receivers::stats::ReceiverStats;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Between two tries.
const RETRY: Duration = Duration::from_secs(1);

/// Where they go.
#[derive(Debug)]
pub(super) struct DeadLetters {
    pub(super) receiver: String,
    /// With its topic.
    pub(super) producer: Option<(Producer, String)>,
    pub(super) stats: Arc<ReceiverStats>,
    log: PoisonLog,
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
            log: PoisonLog::new(receiver, clock),
        }
    }

    /// `false` when `stop` came first: the record is read again.
    pub(super) async fn take(&self, poison: &Poison<'_>, stop: &CancellationToken) -> bool {
        self.log.tell(poison);
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
                    self.log.tell_untaken(poison, &failure.reason());
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
        let headers = poison.headers();
        let record = Record {
            topic,
            key: poison.key,
            value: poison.value,
            headers: &headers,
        };
        producer.send(&record)?.await.unwrap_or(Err(Failure::GONE))
    }
}
