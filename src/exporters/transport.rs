//! The seam between the cursor over the decision log and the ways out.
//!
//! A transport sends one batch once: retry, order and positions are the cursor's (`retry` holds the policy). Invariant:
//! no text of a [`Sent`] or [`SendError`] holds a header value or anything the far side wrote, because servers echo
//! what they refuse and that may be a prompt.

use crate::otlp::Telemetry;
use bytes::Bytes;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// One batch on its way out.
#[derive(Clone)]
pub struct Outgoing {
    /// What the request is of.
    pub telemetry: Telemetry,
    /// The encoded export request, uncompressed.
    pub request: Bytes,
    /// Spans, log records or data points in it, for the counts.
    pub spans: u64,
    /// Traces in it, for the counts.
    pub traces: u64,
}

impl Debug for Outgoing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outgoing")
            .field("telemetry", &self.telemetry)
            .field("bytes", &self.request.len())
            .field("spans", &self.spans)
            .field("traces", &self.traces)
            .finish()
    }
}

/// The far side has answered success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// It took every span.
    All,
    /// It took all but `rejected` spans: OTLP partial success, counted and never sent again.
    Partial {
        /// Spans that the far side says it did not take.
        rejected: u64,
        /// A fixed phrase; the server's own message is not repeated.
        reason: String,
    },
}

/// The batch did not go through.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Worth another try: OTLP's retryable codes, no connection, no answer in time, a full disk.
    #[error("{reason}")]
    Retry {
        /// A code and a fixed phrase.
        reason: String,
        /// What the server asked for (`RetryInfo`, `Retry-After`); at most [`LONGEST_ASKED_DELAY`].
        after: Option<Duration>,
    },
    /// The far side refuses whatever comes: credentials, path, service, compression. The operator's to put right, so
    /// it is tried again and an expired token costs no trace; the Collector drops the batch.
    #[error("{reason}")]
    Unusable {
        /// A code and a fixed phrase.
        reason: String,
    },
    /// The batch itself is refused: another try would end the same way.
    #[error("{reason}")]
    Permanent {
        /// A code and a fixed phrase.
        reason: String,
    },
}

impl SendError {
    pub(crate) fn retry(reason: impl Into<String>) -> Self {
        Self::Retry {
            reason: reason.into(),
            after: None,
        }
    }

    pub(crate) fn permanent(reason: impl Into<String>) -> Self {
        Self::Permanent {
            reason: reason.into(),
        }
    }
}

/// The longest delay that is taken from a server, one hour: a slip in a server's units must not stop an exporter for
/// years, and asking once an hour burdens nobody.
pub const LONGEST_ASKED_DELAY: Duration = Duration::from_secs(3600);

/// The future of [`Transport::send`].
pub type Sending<'a> = Pin<Box<dyn Future<Output = Result<Sent, SendError>> + Send + 'a>>;

/// The future of [`Transport::flush`] and [`Transport::close`].
pub type Flushing<'a> = Pin<Box<dyn Future<Output = Result<(), SendError>> + Send + 'a>>;

/// One way out. Sends of several consumers may run at once.
pub trait Transport: Send + Sync + Debug + 'static {
    /// Sends one batch, once, within the exporter's timeout. Success means that the far side has it; for a file that
    /// the operating system has it. Dropping the future leaves open whether the batch arrived.
    fn send(&self, out: Outgoing) -> Sending<'_>;

    /// Makes what was sent survive the loss of power where that is ours to do (`file`); for the others it is done.
    fn flush(&self) -> Flushing<'_> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Flushes and lets go of what is held; nothing is sent afterwards.
    fn close(&self) -> Flushing<'_> {
        self.flush()
    }
}
