//! Values that are there and cannot be: left out of the record, and counted by reason.

/// Why a value was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anomaly {
    /// A number below zero.
    Negative,
    /// A number that nothing can be: over 100 million tokens, or eleven days.
    TooLarge,
    /// Neither a number nor the text of one, or not of the form that the key has.
    Malformed,
    /// A time to the first token that is longer than the span.
    LongerThanSpan,
    /// A time to the first token of a call that was not streamed.
    NotStreamed,
    /// A name or id longer than 256 bytes.
    TooLong,
    /// More evaluations on one span than a record holds.
    TooManyScores,
    /// A span that ends before it begins.
    Backwards,
}

impl Anomaly {
    /// Every one, in order.
    pub const ALL: &'static [Self] = &[
        Self::Negative,
        Self::TooLarge,
        Self::Malformed,
        Self::LongerThanSpan,
        Self::NotStreamed,
        Self::TooLong,
        Self::TooManyScores,
        Self::Backwards,
    ];

    /// For labels.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Negative => "negative",
            Self::TooLarge => "too_large",
            Self::Malformed => "malformed",
            Self::LongerThanSpan => "longer_than_span",
            Self::NotStreamed => "not_streamed",
            Self::TooLong => "too_long",
            Self::TooManyScores => "too_many_scores",
            Self::Backwards => "backwards",
        }
    }
}

/// How many of each.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Anomalies([u64; Anomaly::ALL.len()]);

impl Anomalies {
    /// One more.
    pub(super) fn count(&mut self, anomaly: Anomaly) {
        if let Some(count) = self.0.get_mut(anomaly as usize) {
            *count += 1;
        }
    }

    /// How many.
    #[must_use]
    pub fn of(&self, anomaly: Anomaly) -> u64 {
        self.0.get(anomaly as usize).copied().unwrap_or_default()
    }
}
