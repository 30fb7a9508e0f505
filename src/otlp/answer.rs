//! What a request is answered, before any transport spells it.
//!
//! Source: OTLP specification 1.x, "OTLP/gRPC Response" and "OTLP/HTTP Response". A receiver turns these into status
//! codes; whoever takes the request (`sampler::Intake`) produces them.

use super::{Reservation, Signal, Telemetry};
use bytes::Bytes;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// The request is in the log; `rejected` spans of it were not taken and must not be sent again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accepted {
    /// Spans that are in the log now.
    pub spans: u64,
    /// Spans left out because they are malformed: OTLP partial success.
    pub rejected: u64,
    /// Why, for the sender; holds no payload text. Empty when nothing was rejected.
    pub reason: String,
}

/// Nothing of the request was taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The framing is broken: INVALID_ARGUMENT / 400, never to be sent again.
    #[error("malformed OTLP request: {0}")]
    Malformed(String),
    /// Larger than the receiver takes: RESOURCE_EXHAUSTED without RetryInfo / 413, never to be sent again.
    #[error("request of {bytes} bytes is over the limit of {limit}")]
    TooLarge {
        /// Size of the (inflated) request where it is known.
        bytes: u64,
        /// The limit it is over.
        limit: u64,
    },
    /// No room now: RESOURCE_EXHAUSTED with RetryInfo / 429 with Retry-After.
    #[error("no room: {reason}")]
    Full {
        /// Which limit, for the log and the `reason` label of the metric.
        reason: &'static str,
        /// When to come back.
        retry_after: Duration,
    },
    /// The daemon is stopping: UNAVAILABLE / 503.
    #[error("stopping")]
    Stopping,
    /// The log could not be written (a disk error): UNAVAILABLE / 503 with Retry-After, the sender keeps the data.
    #[error("the log could not take the request: {0}")]
    Log(String),
}

/// The future of [`Submit::submit`].
pub type Submitted<'a> = Pin<Box<dyn Future<Output = Result<Accepted, Refusal>> + Send + 'a>>;

/// Takes whole requests: the far side of every receiver.
pub trait Submit: Send + Sync + 'static {
    /// Takes one export request of a signal (protobuf, inflated). Resolves when every span or log record of it is in the
    /// log in the set durability, or none is. `source` names the receiver that it came through.
    fn submit(&self, source: SourceId, signal: Signal, request: Bytes) -> Submitted<'_>;
}

/// Takes whole requests that do not go into the log.
pub trait PassOn: Send + Sync + 'static {
    /// Room for a request of so many bytes until it is passed on; `None`: there is none now.
    fn admit(&self, bytes: u64) -> Option<Reservation>;

    /// Resolves when whoever is behind has the request, as it came, or does not take it. Dropped before that, it ends.
    fn pass_on(&self, telemetry: Telemetry, request: Bytes) -> Submitted<'_>;
}

/// A receiver, by the hash of its id in the config (`otlp`, `otlp/edge`): it stands in every record, so that a restart
/// with a changed config still knows which pipelines a record belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u32);

impl SourceId {
    /// FNV-1a 32 of the id.
    #[must_use]
    pub fn of(component: &str) -> Self {
        Self(component.bytes().fold(0x811c_9dc5, |hash: u32, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        }))
    }
}
