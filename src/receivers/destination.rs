//! Where a receiver's requests go: the [`Submit`] in front of the log or what passes them on, the budget they are charged
//! to, the counters.

use super::fault::Fault;
use super::stats::{ReceiverStats, RefusalReason, Transport, TransportStats};
use super::ways::{Way, Ways};
use crate::otlp::{
    Accepted, IntakeBudget, PassOn, Refusal, Reservation, Signal, SourceId, Submit, Telemetry,
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
    /// Which requests go where.
    pub ways: Ways,
    /// Takes the requests that go into the log.
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
            .field("ways", &self.ways)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

impl Destination {
    /// Hands a request over. Into the log it goes on a task of its own, so that a sender that goes away in the middle
    /// neither cancels the append nor frees the reservation while the bytes are still held. What is passed on is given up
    /// with its sender.
    pub(super) async fn hand_over(
        &self,
        tasks: &TaskTracker,
        transport: Transport,
        telemetry: Telemetry,
        (request, held): (Bytes, Reservation),
    ) -> Result<Accepted, Refusal> {
        match self.ways.of(telemetry) {
            Way::Log(signal) => {
                let (this, signal) = (self.clone(), *signal);
                tasks
                    .spawn(async move {
                        let answer = this.submit_counted(transport, signal, request).await;
                        drop(held);
                        answer
                    })
                    .await
                    .unwrap_or_else(|_| Err(Refusal::Log("the intake task ended early".to_owned())))
            }
            Way::Past(relay) => {
                self.pass_on(&**relay, transport, telemetry, (request, held))
                    .await
            }
            // Receivers ask before they read.
            Way::Closed => Err(Refusal::Malformed("no pipeline takes it".to_owned())),
        }
    }

    /// Submits and counts the outcome.
    pub(super) async fn submit_counted(
        &self,
        transport: Transport,
        signal: Signal,
        request: Bytes,
    ) -> Result<Accepted, Refusal> {
        let submitted = self.submit.submit(self.source, signal, request.clone());
        let answer = submitted.await;
        self.count(transport, signal.into(), &request, &answer);
        answer
    }

    async fn pass_on(
        &self,
        relay: &dyn PassOn,
        transport: Transport,
        telemetry: Telemetry,
        (request, held): (Bytes, Reservation),
    ) -> Result<Accepted, Refusal> {
        let admitted = relay.admit(request.len() as u64);
        // From here on it is the relay's, and takes no room from what goes into the log.
        drop(held);
        let abandoned = Abandoned(self.stats.of(transport), telemetry);
        let answer = match admitted {
            Some(_held) => relay.pass_on(telemetry, request.clone()).await,
            None => Err(Fault::FULL),
        };
        std::mem::forget(abandoned);
        self.count(transport, telemetry, &request, &answer);
        answer
    }

    fn count(
        &self,
        transport: Transport,
        telemetry: Telemetry,
        request: &[u8],
        answer: &Result<Accepted, Refusal>,
    ) {
        let stats = self.stats.of(transport);
        match answer {
            Ok(accepted) => stats.count_accepted(
                telemetry,
                request.len() as u64,
                accepted.spans,
                accepted.rejected,
            ),
            Err(refusal) => {
                let leaves = telemetry.count(request);
                stats.count_refused(RefusalReason::from(refusal), telemetry, leaves);
            }
        }
    }
}

/// Counts a request whose sender has gone away before its answer.
struct Abandoned<'a>(&'a TransportStats, Telemetry);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        let Self(stats, telemetry) = self;
        stats.count_refused(RefusalReason::Abandoned, *telemetry, 0);
    }
}
