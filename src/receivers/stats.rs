//! Counters of the receivers, read by the metrics layer (`otelcol_receiver_accepted_spans` and its kin).
//!
//! Plain relaxed atomics: each is a total since the start and stands for itself.

use super::kafka::KafkaStats;
use crate::otlp::{Refusal, Telemetry};
use std::sync::atomic::{AtomicU64, Ordering};

/// The transports, in the order of [`ReceiverStats`]; the `transport` label of the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// OTLP/gRPC.
    Grpc,
    /// OTLP/HTTP.
    Http,
    /// A call from the same process.
    InProcess,
    /// Records of Kafka topics; a request is one record.
    Kafka,
}

impl Transport {
    /// All transports.
    pub const ALL: [Self; 4] = [Self::Grpc, Self::Http, Self::InProcess, Self::Kafka];

    /// The label value.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::Http => "http",
            Self::InProcess => "in_process",
            Self::Kafka => "kafka",
        }
    }
}

/// Why requests were not taken; the `reason` label of the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// Broken framing, JSON or compression.
    Malformed,
    /// Over the size limit.
    TooLarge,
    /// No room in the intake budget or the log.
    Full,
    /// The daemon is stopping.
    Stopping,
    /// The log could not be written.
    Log,
    /// Not OTLP traces: path, method, content type or encoding.
    Unsupported,
    /// The sender went away or fell silent in the middle of its request.
    Abandoned,
}

impl RefusalReason {
    /// All reasons.
    pub const ALL: [Self; 7] = [
        Self::Malformed,
        Self::TooLarge,
        Self::Full,
        Self::Stopping,
        Self::Log,
        Self::Unsupported,
        Self::Abandoned,
    ];

    /// The label value.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::Full => "full",
            Self::Stopping => "stopping",
            Self::Log => "log",
            Self::Unsupported => "unsupported",
            Self::Abandoned => "abandoned",
        }
    }
}

impl From<&Refusal> for RefusalReason {
    fn from(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::Malformed(_) => Self::Malformed,
            Refusal::TooLarge { .. } => Self::TooLarge,
            Refusal::Full { .. } => Self::Full,
            Refusal::Stopping => Self::Stopping,
            Refusal::Log(_) => Self::Log,
        }
    }
}

/// Totals of one transport.
#[derive(Debug, Default)]
pub struct TransportStats {
    accepted_spans: AtomicU64,
    refused_spans: AtomicU64,
    accepted_records: AtomicU64,
    refused_records: AtomicU64,
    accepted_points: AtomicU64,
    refused_points: AtomicU64,
    requests: AtomicU64,
    bytes: AtomicU64,
    refused: [AtomicU64; RefusalReason::ALL.len()],
}

impl TransportStats {
    /// Spans acknowledged.
    #[must_use]
    pub fn accepted_spans(&self) -> u64 {
        self.accepted_spans.load(Ordering::Relaxed)
    }

    /// Spans refused, where they could be counted: malformed ones in accepted requests, and all of a request that was
    /// read whole and then refused.
    #[must_use]
    pub fn refused_spans(&self) -> u64 {
        self.refused_spans.load(Ordering::Relaxed)
    }

    /// Log records acknowledged.
    #[must_use]
    pub fn accepted_records(&self) -> u64 {
        self.accepted_records.load(Ordering::Relaxed)
    }

    /// Log records refused, counted as spans are.
    #[must_use]
    pub fn refused_records(&self) -> u64 {
        self.refused_records.load(Ordering::Relaxed)
    }

    /// Data points of metrics that were passed on.
    #[must_use]
    pub fn accepted_points(&self) -> u64 {
        self.accepted_points.load(Ordering::Relaxed)
    }

    /// Data points refused, counted as spans are.
    #[must_use]
    pub fn refused_points(&self) -> u64 {
        self.refused_points.load(Ordering::Relaxed)
    }

    /// Requests answered, refused ones included.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Bytes of protobuf (inflated, transcoded) handed over.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Requests refused for `reason`.
    #[must_use]
    pub fn refused(&self, reason: RefusalReason) -> u64 {
        self.refused[reason as usize].load(Ordering::Relaxed)
    }

    pub(super) fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    fn leaves(&self, telemetry: Telemetry) -> (&AtomicU64, &AtomicU64) {
        match telemetry {
            Telemetry::Traces => (&self.accepted_spans, &self.refused_spans),
            Telemetry::Logs => (&self.accepted_records, &self.refused_records),
            Telemetry::Metrics => (&self.accepted_points, &self.refused_points),
        }
    }

    pub(super) fn count_accepted(
        &self,
        telemetry: Telemetry,
        bytes: u64,
        taken: u64,
        rejected: u64,
    ) {
        let (accepted, refused) = self.leaves(telemetry);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        accepted.fetch_add(taken, Ordering::Relaxed);
        refused.fetch_add(rejected, Ordering::Relaxed);
    }

    /// A request of which so many spans, log records or data points could be counted.
    pub(super) fn count_refused(&self, reason: RefusalReason, telemetry: Telemetry, leaves: u64) {
        self.refused[reason as usize].fetch_add(1, Ordering::Relaxed);
        self.leaves(telemetry)
            .1
            .fetch_add(leaves, Ordering::Relaxed);
    }

    /// A request that was not read.
    pub(super) fn count_unread(&self, reason: RefusalReason) {
        self.count_refused(reason, Telemetry::Traces, 0);
    }
}

/// Totals by transport.
#[derive(Debug, Default)]
pub struct ReceiverStats {
    by_transport: [TransportStats; Transport::ALL.len()],
    pub(super) kafka: KafkaStats,
}

impl ReceiverStats {
    /// Totals of one transport.
    #[must_use]
    pub fn of(&self, transport: Transport) -> &TransportStats {
        &self.by_transport[transport as usize]
    }

    /// What only a Kafka receiver counts.
    #[must_use]
    pub fn kafka(&self) -> &KafkaStats {
        &self.kafka
    }
}
