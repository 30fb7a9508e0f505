//! The way in without a socket: the same path, the same limits.

use super::destination::Destination;
use super::fault::Fault;
use super::stats::{RefusalReason, Transport};
use crate::otlp::{Accepted, Refusal, Signal, Telemetry};
use bytes::Bytes;

/// Submits requests from the process that embeds the daemon.
#[derive(Debug, Clone)]
pub struct InProcess {
    destination: Destination,
}

impl InProcess {
    /// A handle on `destination`.
    #[must_use]
    pub fn new(destination: Destination) -> Self {
        Self { destination }
    }

    /// Takes one `ExportTraceServiceRequest` as protobuf. Resolves when it is in the log.
    ///
    /// # Errors
    /// As for every receiver; on [`Refusal::Full`] come back after the time it gives.
    pub async fn submit(&self, request: Bytes) -> Result<Accepted, Refusal> {
        let stats = self.destination.stats.of(Transport::InProcess);
        stats.count_request();
        let mut held = self.destination.budget.reservation();
        if !held.grow(request.len() as u64) {
            let spans = crate::otlp::count_spans(&request);
            stats.count_refused(RefusalReason::Full, Telemetry::Traces, spans);
            return Err(Fault::FULL);
        }
        self.destination
            .submit_counted(Transport::InProcess, Signal::Traces, request)
            .await
    }
}
