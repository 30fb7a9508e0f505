//! One condition: parsed and checked at load, evaluated any number of times.

use super::compile::Compiler;
use super::error::{EvalError, OttlError};
use super::evaluate::Scene;
use super::expression::Test;
use super::parser;
use super::paths::Context;
use super::view::SpanView;
use std::fmt;

/// An OTTL condition for one context. Pure: the same bytes give the same answer.
pub struct Condition {
    text: Box<str>,
    test: Test,
}

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// When it is not OTTL, asks for what the context does not have, or depends on more than the trace.
    pub fn parse(text: &str, context: Context) -> Result<Self, OttlError> {
        let tree = parser::parse(text)?;
        let mut compiler = Compiler {
            text,
            context,
            locals: Vec::new(),
        };
        Ok(Self {
            test: compiler.test(&tree)?,
            text: text.into(),
        })
    }

    /// Whether it holds.
    ///
    /// # Errors
    /// When what it computes has no result for this span.
    pub fn eval<'a>(&'a self, view: &SpanView<'a>) -> Result<bool, EvalError> {
        self.test.eval(&Scene::new(*view))
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Condition {
    /// Length only: a condition can hold words that must not be shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Condition({} bytes)", self.text.len())
    }
}
