//! The `ottl_condition` policy on one span: the span's list, then each event with the events' list, all joined by `or`.

use super::condition::Condition;
use super::error::EvalError;
use super::view::SpanView;
use super::wire;

/// What an error in a condition does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorMode {
    /// The next condition is asked; the error is worth a warning.
    Ignore,
    /// The next condition is asked. What an unset mode does in the Collector.
    #[default]
    Silent,
    /// The policy has no answer.
    Propagate,
}

/// A policy's answer for one span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A condition holds.
    Matched,
    /// None holds.
    NotMatched,
    /// A condition failed and the mode is `propagate`: what stands behind this span does not count any more.
    Failed(EvalError),
}

/// The answer and the first error that was passed over (mode `ignore` or `silent`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evaluated {
    /// The answer.
    pub outcome: Outcome,
    /// For a warning in the mode `ignore`.
    pub passed_over: Option<EvalError>,
}

/// Walks one span. `view.event` is not looked at: events are found in the span.
#[must_use]
pub fn evaluate_policy(
    mode: ErrorMode,
    span: &[Condition],
    events: &[Condition],
    view: &SpanView<'_>,
) -> Evaluated {
    let mut walk = Walk {
        mode,
        passed_over: None,
    };
    let outcome = walk.span(span, events, view);
    Evaluated {
        outcome: outcome.unwrap_or_else(Outcome::Failed),
        passed_over: walk.passed_over,
    }
}

struct Walk {
    mode: ErrorMode,
    passed_over: Option<EvalError>,
}

impl Walk {
    fn span(
        &mut self,
        span: &[Condition],
        events: &[Condition],
        view: &SpanView<'_>,
    ) -> Result<Outcome, EvalError> {
        if self.any(span, view)? {
            return Ok(Outcome::Matched);
        }
        let mut matched = false;
        if !events.is_empty() {
            wire::each(view.span, 11, |event| {
                let event = event.bytes().map_err(|_| EvalError::Wire)?;
                matched = self.any(events, &SpanView { event, ..*view })?;
                Ok(!matched)
            })?;
        }
        Ok(if matched {
            Outcome::Matched
        } else {
            Outcome::NotMatched
        })
    }

    fn any(&mut self, conditions: &[Condition], view: &SpanView<'_>) -> Result<bool, EvalError> {
        for condition in conditions {
            match condition.eval(view) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) if self.mode == ErrorMode::Propagate => return Err(error),
                Err(error) => {
                    self.passed_over.get_or_insert(error);
                }
            }
        }
        Ok(false)
    }
}
