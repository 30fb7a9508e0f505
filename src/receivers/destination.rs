//! Where a receiver's requests go: the [`Submit`] behind it, the budget they are charged to, the counters.

use super::stats::{ReceiverStats, RefusalReason, Transport};
use crate::otlp::{
    Accepted, IntakeBudget, Refusal, Reservation, Signal, SourceId, Submit, count_spans,
};
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;
use tokio_util::task::TaskTracker;

/// What every receiver of a pipeline is given.
#[derive(Clone)]
pub struct Destination {
    /// The receiver's id in the config.
    pub source: SourceId,
    /// Log records are taken, too: a pipeline asks for them.
    pub logs: bool,
    /// Takes the requests.
    pub submit: Arc<dyn Submit>,
    /// Bytes in flight, shared by all receivers.
    pub budget: IntakeBudget,
    /// Counters, shared by all receivers.
    pub stats: Arc<ReceiverStats>,
}

impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Destination")
            .field("source", &self.source)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

impl Destination {
    /// Hands `request` over on a task of its own, so that a sender that goes away in the middle neither cancels the
    /// append nor frees the reservation while the bytes are still held.
    pub(super) async fn hand_over(
        &self,
        tasks: &TaskTracker,
        transport: Transport,
        signal: Signal,
        (request, held): (Bytes, Reservation),
    ) -> Result<Accepted, Refusal> {
        let this = self.clone();
        tasks
            .spawn(async move {
                let answer = this.submit_counted(transport, signal, request).await;
                drop(held);
                answer
            })
            .await
            .unwrap_or_else(|_| Err(Refusal::Log("the intake task ended early".to_owned())))
    }

    /// Submits and counts the outcome.
    pub(super) async fn submit_counted(
        &self,
        transport: Transport,
        signal: Signal,
        request: Bytes,
    ) -> Result<Accepted, Refusal> {
        let stats = self.stats.of(transport);
        let submitted = self.submit.submit(self.source, signal, request.clone());
        let answer = submitted.await;
        match &answer {
            Ok(accepted) => stats.count_accepted(
                signal,
                request.len() as u64,
                accepted.spans,
                accepted.rejected,
            ),
            Err(refusal) => {
                // Spans and log records lie equally deep, in fields of the same numbers.
                let leaves = count_spans(&request);
                stats.count_refused(RefusalReason::from(refusal), signal, leaves);
            }
        }
        answer
    }
}
