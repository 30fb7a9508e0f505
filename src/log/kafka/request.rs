//! A request on its way into the topic: answered when its last record is reported.

use super::inlet::refusal;
use crate::kafka::Events;
use crate::log::account::IntakeCharge;
use crate::log::errors::AppendError;
use crate::log::stats::Counters;
use crate::otlp::Reservation;
use parking_lot::Mutex;
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;
use rdkafka::message::DeliveryResult;
use rdkafka::producer::ProducerContext;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::oneshot;

type Answer = oneshot::Sender<Result<u64, AppendError>>;

/// Counts its records down.
pub(super) struct Request {
    /// Records without a report, and one while more are to be sent.
    open: AtomicUsize,
    state: Mutex<State>,
    counters: Arc<Counters>,
    spans: u64,
}

struct State {
    answer: Option<Answer>,
    failed: Option<AppendError>,
    bytes: u64,
    records: u64,
    /// Given back with the answer.
    held: Option<(Option<Reservation>, Vec<IntakeCharge>)>,
}

impl Request {
    pub(super) fn new(
        answer: Answer,
        reservation: Option<Reservation>,
        charges: Vec<IntakeCharge>,
        counters: Arc<Counters>,
        spans: u64,
    ) -> Arc<Self> {
        let state = State {
            answer: Some(answer),
            failed: None,
            bytes: 0,
            records: 0,
            held: Some((reservation, charges)),
        };
        Arc::new(Self {
            open: AtomicUsize::new(1),
            state: Mutex::new(state),
            counters,
            spans,
        })
    }

    /// One record more is on its way.
    pub(super) fn sent(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// No more records follow.
    pub(super) fn all_sent(&self) {
        self.leave();
    }

    /// One record is reported.
    pub(super) fn done(&self, outcome: Result<u64, AppendError>) {
        let mut state = self.state.lock();
        match outcome {
            Ok(bytes) => {
                state.bytes += bytes;
                state.records += 1;
            }
            Err(error) => state.failed = state.failed.take().or(Some(error)),
        }
        drop(state);
        self.leave();
    }

    fn leave(&self) {
        if self.open.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let mut state = self.state.lock();
        let outcome = match state.failed.take() {
            Some(error) => {
                self.counters.refuse(&error);
                Err(error)
            }
            None => {
                let counters = &self.counters;
                counters.frames.fetch_add(state.records, Ordering::Relaxed);
                counters.writes.fetch_add(1, Ordering::Relaxed);
                counters.bytes.fetch_add(state.bytes, Ordering::Relaxed);
                counters.spans.fetch_add(self.spans, Ordering::Relaxed);
                Ok(0)
            }
        };
        let held = state.held.take();
        if let Some(answer) = state.answer.take() {
            // A sender that no longer waits has given up on it.
            drop(answer.send(outcome));
        }
        drop(state);
        drop(held);
    }
}

fn payload_len(message: &impl rdkafka::Message) -> u64 {
    message.payload().map_or(0, |value| value.len() as u64)
}

/// Takes the reports of records.
pub(super) struct Sent(pub(super) Events);

impl ClientContext for Sent {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.0.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.0.error(error, reason);
    }
}

impl ProducerContext for Sent {
    type DeliveryOpaque = Arc<Request>;

    fn delivery(&self, result: &DeliveryResult<'_>, request: Arc<Request>) {
        request.done(match result {
            Ok(message) => Ok(payload_len(message)),
            Err((error, _)) => Err(refusal(error)),
        });
    }
}
