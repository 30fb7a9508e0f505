//! Why a condition is refused at load, and why an evaluation has no result.
//!
//! Load errors show the condition's own text; evaluation errors never show a value of a span.

use std::fmt;

/// Where in a condition, in lines and characters from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Line.
    pub line: u32,
    /// Character in the line.
    pub column: u32,
}

/// A name that is not known, and those that are: for a suggestion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    /// As it was written.
    pub written: String,
    /// What could stand there.
    pub known: Vec<&'static str>,
}

/// A condition cannot be used. The fault is the condition's; nothing is to be retried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OttlError {
    /// Where.
    pub place: Place,
    /// The first characters from there on.
    pub near: String,
    /// What is wrong and what was expected.
    pub message: String,
    /// Set when a path, function or enum is not known.
    pub unknown: Option<UnknownName>,
}

impl fmt::Display for OttlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}:{}", self.place.line, self.place.column)?;
        if !self.near.is_empty() {
            write!(f, " near `{}`", self.near)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for OttlError {}

/// Characters shown after the place of a mistake; the Collector shows ten bytes.
const NEAR: usize = 10;

impl OttlError {
    /// An error at a byte of the condition.
    pub(super) fn at(text: &str, byte: usize, message: impl Into<String>) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let count = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX - 1);
        let lines = before.bytes().filter(|byte| *byte == b'\n').count();
        let near: String = text
            .get(byte..)
            .unwrap_or_default()
            .chars()
            .take(NEAR)
            .collect();
        Self {
            place: Place {
                line: u32::try_from(lines).unwrap_or(u32::MAX - 1) + 1,
                column: count(before.get(line_start..).unwrap_or_default()) + 1,
            },
            near: near.trim().to_owned(),
            message: message.into(),
            unknown: None,
        }
    }

    pub(super) fn with_known(mut self, written: &str, known: Vec<&'static str>) -> Self {
        self.unknown = Some(UnknownName {
            written: written.to_owned(),
            known,
        });
        self
    }
}

/// An evaluation has no result. The fault is the telemetry's (or the condition's, which met it); the same span gives the
/// same error again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// The bytes are not the message that they should be.
    #[error("the span is malformed")]
    Wire,
    /// A value is of a kind that cannot be used there.
    #[error("expected {wanted} but got {got}")]
    Kind {
        /// What was needed.
        wanted: &'static str,
        /// What was there.
        got: &'static str,
    },
    /// Division by zero.
    #[error("a division by zero")]
    DivisionByZero,
    /// A list has no such index.
    #[error("an index is out of bounds")]
    OutOfBounds,
    /// A function's map has no such key.
    #[error("a key is not in the map")]
    NoSuchKey,
    /// A text or number is not what a function takes.
    #[error("{0}")]
    Invalid(&'static str),
    /// Two values that cannot be compared at all.
    #[error("two lists of this kind cannot be compared")]
    Incomparable,
    /// A value is not known where the condition runs.
    #[error("'event_index' is not set here")]
    NotSet,
    /// A result is larger than a condition may build.
    #[error("a result is larger than {0} bytes")]
    TooLarge(usize),
    /// The evaluation takes more steps than a condition may.
    #[error("the condition takes too many steps")]
    TooComplex,
}
