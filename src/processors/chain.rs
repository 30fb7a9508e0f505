//! Processors one after the other, over one piece.

use super::settings::ProcessorSettings;
use super::step::{Step, Stop};
use super::walk::Walk;
use crate::otlp::{WireError, count_spans};
use bytes::Bytes;
use std::fmt;

/// A processor's settings hold what is no expression or condition. The config finds that first, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the processor `{id}` has an expression or condition that is none")]
pub struct BuildError {
    /// The processor.
    pub id: String,
}

/// The processors of a pipeline before `tail_sampling`, or those behind it.
#[derive(Default)]
pub struct Chain {
    steps: Vec<Step>,
}

/// What a chain leaves of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The piece; the same bytes when nothing was changed, empty when nothing is left.
    pub bytes: Bytes,
    /// Spans in it.
    pub spans_left: u64,
    /// Spans that are gone.
    pub spans_filtered: u64,
}

impl Chain {
    /// Builds the processors.
    ///
    /// # Errors
    /// When settings hold what is no expression or condition.
    pub fn new(settings: &[ProcessorSettings]) -> Result<Self, BuildError> {
        let mut steps = Vec::new();
        for processor in settings {
            steps.extend(Step::of(processor)?);
        }
        Ok(Self { steps })
    }

    /// Nothing is done with a piece.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Runs the processors over a `TracesData` message.
    ///
    /// # Errors
    /// When the piece is damaged.
    pub fn apply(&self, piece: &Bytes) -> Result<Applied, WireError> {
        let spans = count_spans(piece);
        let mut walk = Walk::new(&self.steps);
        let bytes = match walk.traces(piece) {
            Ok(new) => new.map_or_else(|| piece.clone(), Bytes::from),
            Err(Stop::Wire(error)) => return Err(error),
            Err(Stop::Lost) => {
                return Ok(Applied {
                    bytes: Bytes::new(),
                    spans_left: 0,
                    spans_filtered: spans,
                });
            }
        };
        let left = walk.left();
        Ok(Applied {
            bytes: if left > 0 { bytes } else { Bytes::new() },
            spans_left: left,
            spans_filtered: spans.saturating_sub(left),
        })
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({} steps)", self.steps.len())
    }
}
