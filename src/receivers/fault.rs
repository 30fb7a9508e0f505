//! Why a request got no `Accepted`, before the transport spells it.

use super::stats::RefusalReason;
use crate::otlp::Refusal;
use std::time::Duration;

/// When a sender shall come back after the intake budget was full: long enough for a group commit, short enough that
/// SDK queues (2048 spans by default) do not overflow.
const BUDGET_RETRY: Duration = Duration::from_secs(1);

/// Everything that can end a request short of success.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing was taken, for a reason that the sender is told.
    Refused(Refusal),
    /// No byte arrived for the idle time of a body; its reservation is given back.
    Stalled,
    /// The connection broke; nobody reads the answer.
    Gone,
}

impl Fault {
    /// The budget has no room.
    pub(super) const FULL: Refusal = Refusal::Full {
        reason: "intake budget",
        retry_after: BUDGET_RETRY,
    };

    /// The same as a fault.
    pub(super) const fn budget_full() -> Self {
        Self::Refused(Self::FULL)
    }

    /// Broken beyond repair; `reason` holds no payload.
    pub(super) fn malformed(reason: &str) -> Self {
        Self::Refused(Refusal::Malformed(reason.to_owned()))
    }

    /// For the counters.
    pub(super) fn reason(&self) -> RefusalReason {
        match self {
            Self::Refused(refusal) => refusal.into(),
            Self::Stalled | Self::Gone => RefusalReason::Abandoned,
        }
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
