//! Why a decision was taken when it was.

/// Evidence of a decision (design: "Words"); the number stands in entries and must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Evidence {
    /// The wait is over.
    Complete = 1,
    /// The wait after the root is over.
    Root = 2,
    /// Memory ran short: decided on what had come.
    Pressure = 3,
    /// The trace is over its span or byte limit.
    Oversize = 4,
    /// The daemon stopped and keeps nothing undecided (memory buffer).
    Shutdown = 5,
    /// A piece of a trace that was decided before.
    Late = 6,
    /// Pending at shutdown and told to vanish (`drop_pending_traces_on_shutdown`): dropped without asking a policy.
    Discarded = 7,
    /// `span-ingest`: a piece decided the trace as it arrived.
    Early = 8,
    /// Evicted by `num_traces` without asking a policy (`compat: strict`).
    Evicted = 9,
    /// Over `maximum_trace_size_bytes`: dropped without asking a policy (`compat: strict`).
    TooLarge = 10,
    /// `span-ingest`: the wait is over, and no piece decided.
    Unmatched = 11,
    /// No decision: the processors before `tail_sampling` have left nothing of a piece.
    Filtered = 12,
    /// A late piece brought a dropped trace back.
    Amendment = 13,
    /// A policy keeps the trace whatever comes (`early_keep`).
    EarlyKeep = 14,
    /// The trace is over its age (`max_age`).
    MaxAge = 15,
    /// A piece of a `head` service: its coin was asked, no policy.
    Head = 16,
    /// A piece of a service that is not sampled (`off`).
    Off = 17,
    /// No decision: log records without a trace id.
    Untraced = 18,
}

impl Evidence {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 18] = [
        Self::Complete,
        Self::Root,
        Self::Pressure,
        Self::Oversize,
        Self::Shutdown,
        Self::Late,
        Self::Discarded,
        Self::Early,
        Self::Evicted,
        Self::TooLarge,
        Self::Unmatched,
        Self::Filtered,
        Self::Amendment,
        Self::EarlyKeep,
        Self::MaxAge,
        Self::Head,
        Self::Off,
        Self::Untraced,
    ];

    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|evidence| *evidence as u8 == number)
    }

    /// The label value in metrics.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Root => "root",
            Self::Pressure => "pressure",
            Self::Oversize => "oversize",
            Self::Shutdown => "shutdown",
            Self::Late => "late",
            Self::Discarded => "discarded",
            // Never both in one pipeline.
            Self::Early | Self::EarlyKeep => "early",
            Self::Evicted => "evicted",
            Self::TooLarge => "too_large",
            Self::Unmatched => "unmatched",
            Self::Filtered => "filtered",
            Self::Amendment => "amendment",
            Self::MaxAge => "max_age",
            Self::Head => "head",
            Self::Off => "off",
            Self::Untraced => "untraced",
        }
    }

    /// No policy was asked.
    pub(crate) fn unasked(self) -> bool {
        matches!(
            self,
            Self::Late
                | Self::Discarded
                | Self::Evicted
                | Self::TooLarge
                | Self::Unmatched
                | Self::Filtered
                | Self::Head
                | Self::Off
                | Self::Untraced
        )
    }

    /// The entry is of one piece alone, and its trace knows nothing of it.
    pub(crate) fn is_apart(self) -> bool {
        matches!(self, Self::Filtered | Self::Untraced) || self.is_of_mode()
    }

    /// The mode of a service has decided.
    pub(crate) fn is_of_mode(self) -> bool {
        matches!(self, Self::Head | Self::Off)
    }

    /// One observation for the percentiles is taken from decisions with this evidence.
    pub(crate) fn observes(self) -> bool {
        matches!(self, Self::Complete | Self::Root)
    }
}
