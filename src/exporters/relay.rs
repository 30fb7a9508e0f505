//! Requests that are passed on and not held: a pipeline of logs without `tail_sampling`, or of metrics.
//!
//! Invariants: success is answered when every exporter's far side has the request, so nothing that was acknowledged can be
//! lost with the process; what waits is charged to a budget of its own, so that a dead backend of metrics takes no room
//! from traces; when the sender goes away (the future is dropped) no further try is made, for the sender has the data.
//! The bytes leave as they came, but for what an exporter redacts.

use super::retry::{Backoff, RetrySettings};
use super::stats::ExporterStats;
use super::transport::{Outgoing, SendError, Sent, Transport};
use crate::clock::SharedClock;
use crate::otlp::{Accepted, IntakeBudget, PassOn, Refusal, Reservation, Submitted, Telemetry};
use crate::redaction::Redactor;
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// When a sender shall come back after a backend that takes nothing: as after a full intake budget.
const AGAIN: Duration = Duration::from_secs(1);

/// One exporter of such a pipeline.
#[derive(Clone)]
pub(crate) struct Outlet {
    /// `PIPELINE > EXPORTER`, for log lines.
    pub(crate) name: String,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) retry: RetrySettings,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) stats: Arc<ExporterStats>,
    pub(crate) clock: SharedClock,
    /// Cancelled when receivers stop: what is in hand is tried no further.
    pub(crate) stop: CancellationToken,
}

/// All exporters of such pipelines that take one receiver's requests of one kind.
pub(crate) struct Relay {
    outlets: Vec<Outlet>,
    budget: IntakeBudget,
    /// Differs for each try, so that requests do not come back all at once.
    seed: AtomicU64,
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.outlets.iter().map(|outlet| &outlet.name);
        f.debug_list().entries(names).finish()
    }
}

impl Relay {
    pub(crate) fn new(outlets: Vec<Outlet>, budget: IntakeBudget, seed: u64) -> Self {
        Self {
            outlets,
            budget,
            seed: AtomicU64::new(seed),
        }
    }

    async fn send(&self, telemetry: Telemetry, request: Bytes) -> Result<Accepted, Refusal> {
        let spans = telemetry.count(&request);
        let mut tries = JoinSet::new();
        for outlet in &self.outlets {
            let seed = self.seed.fetch_add(1, Ordering::Relaxed);
            let request = outlet.redacted(telemetry, &request)?;
            let out = Outgoing {
                telemetry,
                request,
                spans,
                traces: 0,
            };
            tries.spawn(outlet.clone().deliver(out, seed));
        }
        let mut rejected = 0;
        while let Some(done) = tries.join_next().await {
            // A task that ends early is one that panicked: none is known.
            let done = done.unwrap_or(Err(Refusal::Stopping))?;
            rejected = done.max(rejected);
        }
        Ok(Accepted {
            spans: spans - rejected,
            rejected,
            reason: match rejected {
                0 => String::new(),
                _ => "a backend behind this daemon refuses them".to_owned(),
            },
        })
    }
}

impl PassOn for Relay {
    /// One that is larger than the whole budget goes alone: else it would wait for ever.
    fn admit(&self, bytes: u64) -> Option<Reservation> {
        let mut held = self.budget.reservation();
        held.grow(bytes.min(self.budget.limit())).then_some(held)
    }

    fn pass_on(&self, telemetry: Telemetry, request: Bytes) -> Submitted<'_> {
        Box::pin(self.send(telemetry, request))
    }
}

impl Outlet {
    fn redacted(&self, telemetry: Telemetry, request: &Bytes) -> Result<Bytes, Refusal> {
        match telemetry.signal() {
            Some(signal) => self
                .redactor
                .apply(signal, request)
                .map_err(|error| Refusal::Malformed(error.to_string())),
            None => Ok(request.clone()),
        }
    }

    /// How many of the leaves the far side refuses for good.
    async fn deliver(self, out: Outgoing, seed: u64) -> Result<u64, Refusal> {
        let mut backoff = None;
        loop {
            let outcome = {
                let _in_flight = self.stats.in_flight(out.request.len() as u64);
                self.transport.send(out.clone()).await
            };
            self.stats.record(out.telemetry, out.spans, &outcome);
            let error = match outcome {
                Ok(Sent::All) => return Ok(0),
                Ok(Sent::Partial { rejected, .. }) => return Ok(rejected.min(out.spans)),
                Err(SendError::Permanent { reason }) => {
                    tracing::error!(
                        exporter = self.name,
                        reason,
                        "the backend refuses a request for good"
                    );
                    return Ok(out.spans);
                }
                Err(error) => error,
            };
            let backoff =
                backoff.get_or_insert_with(|| Backoff::new(&self.retry, seed, self.clock.clone()));
            self.wait(backoff, &error).await?;
        }
    }

    /// Waits for the next try; an error when there is none: the sender keeps what was not taken.
    async fn wait(&self, backoff: &mut Backoff, error: &SendError) -> Result<(), Refusal> {
        let after = match error {
            SendError::Retry { after, .. } => *after,
            _ => None,
        };
        let Some(delay) = backoff.next(after) else {
            return Err(Refusal::Full {
                reason: "the backend takes nothing",
                retry_after: after.unwrap_or(AGAIN),
            });
        };
        self.stats.retried();
        match self.stats.counts().consecutive_failures {
            1 => {
                tracing::warn!(exporter = self.name, %error, "the backend takes nothing; senders wait")
            }
            _ => tracing::debug!(exporter = self.name, %error, ?delay, "trying again"),
        }
        tokio::select! {
            () = tokio::time::sleep(delay) => Ok(()),
            () = self.stop.cancelled() => Err(Refusal::Stopping),
        }
    }
}
