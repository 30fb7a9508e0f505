//! One load to its end: sent, tried again, split where the far side refuses it, given up.
//!
//! A backend that refuses a batch for good may mean one trace in it: the batch is halved until the one is found, so that
//! no other trace is lost with it. A load over the size of a batch leaves in parts from the first: servers refuse large
//! messages in ways that read like "try again" (gRPC's OUT_OF_RANGE), and for ever. A large trace is cut within. Partial success is counted and not sent again.

use super::gather::{Load, LoadedTrace, Outcome, stitch};
use super::halve::{REFUSED_FOR_SIZE, halve, size};
use super::retry::{Backoff, RetrySettings};
use super::settings::ExporterSettings;
use super::stats::ExporterStats;
use super::transport::{Outgoing, SendError, Sent, Transport};
use crate::clock::SharedClock;
use crate::otlp::Signal;
use crate::sampler::{Delivered, DeliveredRecords};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio_util::sync::CancellationToken;

/// Sends loads through one transport.
#[derive(Debug)]
pub(crate) struct Deliverer {
    /// The exporter, for log lines.
    id: String,
    pub(super) transport: Arc<dyn Transport>,
    retry: RetrySettings,
    /// No request holds more payload, unless one span does.
    max_bytes: u64,
    stats: Arc<ExporterStats>,
    clock: SharedClock,
    /// Cancelled when the daemon waits no longer: a load in flight is left for the next start.
    pub(super) stop: CancellationToken,
    /// Differs for each load, so that exporters do not come back all at once.
    seed: AtomicU64,
}

/// The daemon stops before the load's end: what it holds stays in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interrupted;

/// What became of a request.
enum Ended {
    Counts(Signal, Outcome),
    /// Refused for good; to be sent in these parts.
    Cut([Vec<LoadedTrace>; 2]),
}

impl Deliverer {
    pub(crate) fn new(
        id: &str,
        transport: Arc<dyn Transport>,
        settings: &ExporterSettings,
        stats: Arc<ExporterStats>,
        clock: SharedClock,
        stop: CancellationToken,
        seed: u64,
    ) -> Self {
        Self {
            id: id.to_owned(),
            transport,
            retry: settings.retry.clone(),
            max_bytes: settings.queue.batch_max_bytes,
            stats,
            clock,
            stop,
            seed: AtomicU64::new(seed),
        }
    }

    /// What became of the load's spans.
    pub(super) async fn deliver(&self, load: &Load) -> Result<Delivered, Interrupted> {
        let mut sum = Delivered {
            lost: load.lost,
            filtered: load.filtered,
            thinned: load.thinned,
            not_routed: load.not_routed,
            erased: load.erased,
            ..Delivered::default()
        };
        if load.records != DeliveredRecords::default() {
            sum.log_records = Some(load.records);
        }
        let mut open: Vec<Cow<'_, [LoadedTrace]>> = vec![Cow::Borrowed(&load.traces)];
        if !load.logs.is_empty() {
            open.insert(0, Cow::Borrowed(&load.logs));
        }
        while let Some(traces) = open.pop() {
            if size(&traces) > self.max_bytes
                && let Some([first, second]) = halve(&traces, self.max_bytes)
            {
                open.extend([Cow::Owned(second), Cow::Owned(first)]);
                continue;
            }
            match self.send(&traces).await? {
                Ended::Counts(signal, counts) => counts.add_to(signal, &mut sum),
                Ended::Cut([first, second]) => open.extend([Cow::Owned(second), Cow::Owned(first)]),
            }
        }
        Ok(sum)
    }

    /// Sends one request until it has an end.
    async fn send(&self, traces: &[LoadedTrace]) -> Result<Ended, Interrupted> {
        let request = stitch(traces);
        let mut counts = request.counts();
        if request.spans == 0 {
            return Ok(Ended::Counts(request.signal, counts));
        }
        let out = Outgoing {
            telemetry: request.signal.into(),
            request: request.bytes.clone(),
            spans: request.spans,
            traces: traces.len() as u64,
        };
        let mut backoff = None;
        loop {
            let _in_flight = self.stats.in_flight(out.request.len() as u64);
            let outcome = tokio::select! {
                outcome = self.transport.send(out.clone()) => outcome,
                () = self.stop.cancelled() => return Err(Interrupted),
            };
            if matches!(outcome, Err(SendError::Permanent { .. }))
                && let Some(halves) = halve(traces, REFUSED_FOR_SIZE)
            {
                return Ok(Ended::Cut(halves));
            }
            self.stats.record(out.telemetry, request.spans, &outcome);
            match outcome {
                Ok(Sent::All) => counts.delivered = request.spans,
                Ok(Sent::Partial { rejected, .. }) => {
                    counts.rejected = rejected.min(request.spans);
                    counts.delivered = request.spans - counts.rejected;
                }
                Err(SendError::Permanent { reason }) => {
                    tracing::error!(
                        exporter = self.id,
                        reason,
                        spans = request.spans,
                        "the backend refuses a trace for good"
                    );
                    counts.rejected = request.spans;
                }
                Err(error) => {
                    let backoff = backoff.get_or_insert_with(|| self.backoff());
                    if self.wait(backoff, &error).await? {
                        continue;
                    }
                    self.stats.gave_up(out.telemetry, request.spans);
                    counts.expired = request.spans;
                }
            }
            return Ok(Ended::Counts(request.signal, counts));
        }
    }

    /// Waits for the next try; `false` when there is none.
    async fn wait(&self, backoff: &mut Backoff, error: &SendError) -> Result<bool, Interrupted> {
        let after = if let SendError::Retry { after, .. } = error {
            *after
        } else {
            None
        };
        let Some(delay) = backoff.next(after) else {
            tracing::error!(exporter = self.id, %error, "giving up a batch: max_elapsed_time is over");
            return Ok(false);
        };
        self.stats.retried();
        // The first failure of a batch, then nothing louder than the metrics: a dead backend fails every few seconds.
        match self.stats.counts().consecutive_failures {
            1 => {
                tracing::warn!(exporter = self.id, %error, "the backend does not take spans; the log keeps them")
            }
            _ => tracing::debug!(exporter = self.id, %error, ?delay, "trying again"),
        }
        tokio::select! {
            () = tokio::time::sleep(delay) => Ok(true),
            () = self.stop.cancelled() => Err(Interrupted),
        }
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(
            &self.retry,
            self.seed.fetch_add(1, Ordering::Relaxed),
            self.clock.clone(),
        )
    }
}
