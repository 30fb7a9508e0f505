//! One record on its way into the log, to its end: taken, passed over, or left for the next start.

use super::contents::Contents;
use super::dead_letter::DeadLetters;
use super::under_way::Begun;
use crate::kafka::{Encoding, Poison};
use crate::otlp::json::from_json_as;
use crate::otlp::{Refusal, Reservation, Signal, count_spans};
use crate::receivers::destination::Destination;
use crate::receivers::stats::{RefusalReason, Transport};
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// After a refusal that names no time.
const RETRY: Duration = Duration::from_secs(1);

/// What records are handed to.
#[derive(Debug)]
pub(super) struct Intake {
    pub(super) destination: Destination,
    pub(super) contents: Contents,
    pub(super) dead_letters: DeadLetters,
    pub(super) stop: CancellationToken,
}

/// A record as it was read, charged to the intake budget.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) begun: Begun,
    pub(super) key: Option<Bytes>,
    pub(super) value: Bytes,
    /// What it is, by its topic.
    pub(super) content: (Signal, Encoding),
    pub(super) held: Reservation,
}

impl Intake {
    /// Takes the record, however long the log needs; gives up only when the daemon stops.
    pub(super) async fn take(self: Arc<Self>, record: Read) {
        let Read {
            begun,
            key,
            value,
            content: (signal, encoding),
            held,
        } = record;
        let stats = self.destination.stats.of(Transport::Kafka);
        stats.count_request();
        let refusal = match read_as((signal, encoding), &value) {
            Ok(request) => match self.submit(signal, request).await {
                Some(Ok(())) => {
                    begun.done();
                    return;
                }
                Some(Err(refusal)) => refusal,
                None => return,
            },
            Err(refusal) => refusal,
        };
        stats.count_refused(
            RefusalReason::from(&refusal),
            signal.into(),
            count_spans(&value),
        );
        let poison = Poison {
            place: begun.place(),
            key: key.as_deref(),
            value: &value,
            reason: &refusal.to_string(),
        };
        if self.dead_letters.take(&poison, &self.stop).await {
            begun.done();
        }
        drop(held);
    }

    /// `None`: stopped.
    async fn submit(&self, signal: Signal, request: Bytes) -> Option<Result<(), Refusal>> {
        let Destination { submit, source, .. } = &self.destination;
        let stats = self.destination.stats.of(Transport::Kafka);
        loop {
            let after = match submit.submit(*source, signal, request.clone()).await {
                Ok(accepted) => {
                    let bytes = request.len() as u64;
                    stats.count_accepted(signal.into(), bytes, accepted.spans, accepted.rejected);
                    return Some(Ok(()));
                }
                Err(Refusal::Full { retry_after, .. }) => retry_after,
                Err(Refusal::Log(_)) => RETRY,
                Err(Refusal::Stopping) => return None,
                Err(refusal @ (Refusal::Malformed(_) | Refusal::TooLarge { .. })) => {
                    return Some(Err(refusal));
                }
            };
            tokio::select! {
                () = tokio::time::sleep(after) => {}
                () = self.stop.cancelled() => return None,
            }
        }
    }
}

fn read_as((signal, encoding): (Signal, Encoding), value: &Bytes) -> Result<Bytes, Refusal> {
    match encoding {
        Encoding::OtlpProto => Ok(value.clone()),
        Encoding::OtlpJson => from_json_as(signal, value)
            .map(Bytes::from)
            .map_err(|error| Refusal::Malformed(error.to_string())),
    }
}
