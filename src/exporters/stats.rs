//! What one exporter has done, as atomics that a scrape reads.
//!
//! `sent_spans` is the Collector's `otelcol_exporter_sent_spans`, `failed_spans` its
//! `otelcol_exporter_send_failed_spans`. The cursor records each outcome; nothing here decides anything.

use super::transport::{SendError, Sent};
use crate::otlp::Telemetry;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Counts of one exporter since the process started.
#[derive(Debug, Default)]
pub struct ExporterStats {
    spans: LeafStats,
    records: LeafStats,
    points: LeafStats,
    retries: AtomicU64,
    in_flight_bytes: AtomicU64,
    consecutive_failures: AtomicU64,
    last_error: AtomicU8,
}

/// What became of spans, of log records, or of data points.
#[derive(Debug, Default)]
struct LeafStats {
    sent: AtomicU64,
    failed: AtomicU64,
    rejected: AtomicU64,
}

/// The kind of the last failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum LastError {
    /// None since the last success.
    None = 0,
    /// No connection, no answer, or a code that is worth another try.
    Retryable = 1,
    /// The same, with a delay that the server asked for.
    Throttled = 2,
    /// The server will not take the batch.
    Permanent = 3,
}

impl LastError {
    /// All kinds.
    pub const ALL: [Self; 4] = [
        Self::None,
        Self::Retryable,
        Self::Throttled,
        Self::Permanent,
    ];

    /// The label in metrics.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Retryable => "retryable",
            Self::Throttled => "throttled",
            Self::Permanent => "permanent",
        }
    }
}

/// The counts at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExporterCounts {
    /// Spans that the far side took.
    pub sent_spans: u64,
    /// Spans that were given up: a permanent error, or the end of retries.
    pub failed_spans: u64,
    /// Spans that a partial success named as not taken.
    pub rejected_spans: u64,
    /// Log records that the far side took.
    pub sent_records: u64,
    /// Log records that were given up.
    pub failed_records: u64,
    /// Log records that a partial success named as not taken.
    pub rejected_records: u64,
    /// Data points that the far side took.
    pub sent_points: u64,
    /// Data points that it refused for good.
    pub failed_points: u64,
    /// Data points that a partial success named as not taken.
    pub rejected_points: u64,
    /// Tries beyond the first.
    pub retries: u64,
    /// Request bytes handed to the transport and not yet answered.
    pub in_flight_bytes: u64,
    /// Failed tries since the last success.
    pub consecutive_failures: u64,
    /// The last failure.
    pub last_error: LastError,
}

impl ExporterStats {
    fn leaves(&self, telemetry: Telemetry) -> &LeafStats {
        match telemetry {
            Telemetry::Traces => &self.spans,
            Telemetry::Logs => &self.records,
            Telemetry::Metrics => &self.points,
        }
    }

    /// Records the outcome of one try of so many spans, log records or data points.
    pub fn record(&self, telemetry: Telemetry, spans: u64, outcome: &Result<Sent, SendError>) {
        let leaves = self.leaves(telemetry);
        let error = match outcome {
            Ok(sent) => {
                let rejected = match sent {
                    Sent::All => 0,
                    // A server may count wrongly; more than all cannot be rejected.
                    Sent::Partial { rejected, .. } => (*rejected).min(spans),
                };
                leaves.sent.fetch_add(spans - rejected, Ordering::Relaxed);
                leaves.rejected.fetch_add(rejected, Ordering::Relaxed);
                self.consecutive_failures.store(0, Ordering::Relaxed);
                LastError::None
            }
            Err(error) => {
                self.consecutive_failures.fetch_add(1, Ordering::Relaxed);
                match error {
                    SendError::Permanent { .. } => {
                        self.gave_up(telemetry, spans);
                        LastError::Permanent
                    }
                    SendError::Retry { after: Some(_), .. } => LastError::Throttled,
                    SendError::Retry { after: None, .. } | SendError::Unusable { .. } => {
                        LastError::Retryable
                    }
                }
            }
        };
        self.last_error.store(error as u8, Ordering::Relaxed);
    }

    /// A batch of `spans` is given up after its last retry. A permanent error is counted by [`Self::record`].
    pub fn gave_up(&self, telemetry: Telemetry, spans: u64) {
        let failed = &self.leaves(telemetry).failed;
        failed.fetch_add(spans, Ordering::Relaxed);
    }

    /// A batch is tried again.
    pub fn retried(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    /// `bytes` are on their way until the guard is dropped.
    #[must_use]
    pub fn in_flight(&self, bytes: u64) -> InFlight<'_> {
        self.in_flight_bytes.fetch_add(bytes, Ordering::Relaxed);
        InFlight { stats: self, bytes }
    }

    /// The counts now; each is exact, together they are of about the same moment.
    #[must_use]
    pub fn counts(&self) -> ExporterCounts {
        ExporterCounts {
            sent_spans: self.spans.sent.load(Ordering::Relaxed),
            failed_spans: self.spans.failed.load(Ordering::Relaxed),
            rejected_spans: self.spans.rejected.load(Ordering::Relaxed),
            sent_records: self.records.sent.load(Ordering::Relaxed),
            failed_records: self.records.failed.load(Ordering::Relaxed),
            rejected_records: self.records.rejected.load(Ordering::Relaxed),
            sent_points: self.points.sent.load(Ordering::Relaxed),
            failed_points: self.points.failed.load(Ordering::Relaxed),
            rejected_points: self.points.rejected.load(Ordering::Relaxed),
            retries: self.retries.load(Ordering::Relaxed),
            in_flight_bytes: self.in_flight_bytes.load(Ordering::Relaxed),
            consecutive_failures: self.consecutive_failures.load(Ordering::Relaxed),
            last_error: match self.last_error.load(Ordering::Relaxed) {
                0 => LastError::None,
                1 => LastError::Retryable,
                2 => LastError::Throttled,
                _ => LastError::Permanent,
            },
        }
    }
}

/// Bytes on their way.
#[derive(Debug)]
pub struct InFlight<'a> {
    stats: &'a ExporterStats,
    bytes: u64,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.stats
            .in_flight_bytes
            .fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn counts_each_outcome_once() {
        let stats = ExporterStats::default();
        stats.record(Telemetry::Traces, 10, &Ok(Sent::All));
        stats.record(
            Telemetry::Traces,
            10,
            &Ok(Sent::Partial {
                rejected: 3,
                reason: String::new(),
            }),
        );
        stats.record(
            Telemetry::Traces,
            10,
            &Ok(Sent::Partial {
                rejected: 99,
                reason: String::new(),
            }),
        );
        stats.record(Telemetry::Traces, 10, &Err(SendError::permanent("no")));
        stats.record(
            Telemetry::Traces,
            10,
            &Err(SendError::Retry {
                reason: String::new(),
                after: Some(Duration::ZERO),
            }),
        );
        stats.retried();
        let guard = stats.in_flight(100);
        let expected = ExporterCounts {
            sent_spans: 17,
            failed_spans: 10,
            rejected_spans: 13,
            sent_records: 0,
            failed_records: 0,
            rejected_records: 0,
            sent_points: 0,
            failed_points: 0,
            rejected_points: 0,
            retries: 1,
            in_flight_bytes: 100,
            consecutive_failures: 2,
            last_error: LastError::Throttled,
        };
        assert_eq!(stats.counts(), expected);
        drop(guard);
        stats.record(Telemetry::Logs, 1, &Ok(Sent::All));
        let counts = stats.counts();
        assert_eq!(counts.sent_records, 1);
        assert_eq!(
            (counts.in_flight_bytes, counts.consecutive_failures),
            (0, 0)
        );
        assert_eq!(counts.last_error, LastError::None);
    }
}
