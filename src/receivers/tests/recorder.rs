//! The far side of a receiver: keeps requests, answers as it was told, and can be made to wait.

use crate::otlp::{Accepted, IntakeBudget, Refusal, Signal, SourceId, Submit, Submitted};
use crate::receivers::{Destination, ReceiverStats, Ways};
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

pub(super) const BUDGET: u64 = 64 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Recorder {
    pub(super) requests: Mutex<Vec<Bytes>>,
    answer: Result<Accepted, Refusal>,
    gate: Semaphore,
}

impl Submit for Recorder {
    fn submit(&self, source: SourceId, signal: Signal, request: Bytes) -> Submitted<'_> {
        Box::pin(async move {
            assert_eq!(source, SourceId::of("otlp"));
            assert_eq!(signal, Signal::Traces);
            let _open = self.gate.acquire().await.expect("the gate is never closed");
            self.requests.lock().push(request);
            self.answer.clone()
        })
    }
}

impl Recorder {
    /// Answers every request with `answer`.
    pub(super) fn answering(answer: Result<Accepted, Refusal>) -> Arc<Self> {
        Arc::new(Self {
            requests: Mutex::default(),
            answer,
            gate: Semaphore::new(Semaphore::MAX_PERMITS),
        })
    }

    pub(super) fn accepting() -> Arc<Self> {
        Self::answering(Ok(Accepted {
            spans: 1,
            ..Accepted::default()
        }))
    }

    /// Takes nothing before [`Self::open`].
    pub(super) fn closed() -> Arc<Self> {
        let accepted = Ok(Accepted {
            spans: 1,
            ..Accepted::default()
        });
        Arc::new(Self {
            requests: Mutex::default(),
            answer: accepted,
            gate: Semaphore::new(0),
        })
    }

    pub(super) fn open(&self) {
        self.gate.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    pub(super) fn taken(&self) -> Vec<Bytes> {
        self.requests.lock().clone()
    }
}

pub(super) fn destination(recorder: &Arc<Recorder>, budget: u64) -> Destination {
    Destination {
        source: SourceId::of("otlp"),
        ways: Ways::traces(),
        submit: recorder.clone(),
        budget: IntakeBudget::new(budget),
        stats: Arc::new(ReceiverStats::default()),
    }
}

/// Waits until `condition` holds; fails the test after a minute.
pub(super) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..12_000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never came true: {what}");
}
