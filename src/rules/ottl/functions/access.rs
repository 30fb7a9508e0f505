//! How a function gets at its arguments.

use super::super::convert;
use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::{Argument, Call, Expr, Lambda};
use super::super::time::Time;
use super::super::value::{Bytes, List, Map, Out, Value};
use std::borrow::Cow;

type Found<T> = Result<T, EvalError>;

impl Call {
    pub(super) fn value<'a>(&'a self, scene: &Scene<'a>, index: usize) -> Out<'a> {
        match self.arguments.get(index) {
            Some(Argument::Expr(expr)) => {
                let value = expr.eval(scene)?;
                scene.walk(value.extent())?;
                Ok(value)
            }
            _ => Ok(Value::Nil),
        }
    }

    pub(super) fn text<'a>(&'a self, scene: &Scene<'a>, index: usize) -> Found<Bytes<'a>> {
        convert::text(&self.value(scene, index)?)
    }

    /// An optional text, or what stands for it.
    pub(super) fn text_or<'a>(
        &'a self,
        scene: &Scene<'a>,
        index: usize,
        default: &'static [u8],
    ) -> Found<Bytes<'a>> {
        if self.has(index) {
            self.text(scene, index)
        } else {
            Ok(Cow::Borrowed(default))
        }
    }

    /// An optional literal text, or what stands for it.
    pub(super) fn literal_or<'a>(&'a self, index: usize, default: &'static str) -> &'a [u8] {
        self.literal_text(index).unwrap_or(default.as_bytes())
    }

    pub(super) fn int<'a>(&'a self, scene: &Scene<'a>, index: usize) -> Found<i64> {
        convert::int(&self.value(scene, index)?)
    }

    pub(super) fn time<'a>(&'a self, scene: &Scene<'a>, index: usize) -> Found<Time> {
        convert::time(&self.value(scene, index)?)
    }

    pub(super) fn duration<'a>(&'a self, scene: &Scene<'a>, index: usize) -> Found<i64> {
        convert::duration(&self.value(scene, index)?)
    }

    pub(super) fn map<'a>(&'a self, scene: &Scene<'a>, index: usize) -> Found<Map<'a>> {
        convert::map(&self.value(scene, index)?)
    }

    pub(super) fn list<'a>(&'a self, scene: &Scene<'a>, index: usize) -> Found<List<'a>> {
        convert::list(&self.value(scene, index)?)
    }

    pub(super) fn text_like<'a>(
        &'a self,
        scene: &Scene<'a>,
        index: usize,
    ) -> Found<Option<Bytes<'a>>> {
        convert::text_like(&self.value(scene, index)?)
    }

    pub(super) fn exprs(&self, index: usize) -> &[Expr] {
        self.arguments.get(index).map_or(&[], Argument::exprs)
    }

    pub(super) fn lambda(&self, index: usize) -> Found<&Lambda> {
        match self.arguments.get(index) {
            Some(Argument::Lambda(lambda)) => Ok(lambda),
            _ => Err(EvalError::Invalid("a lambda is missing")),
        }
    }

    /// Literal texts of a list argument.
    pub(super) fn literal_texts(&self, index: usize) -> Vec<&[u8]> {
        self.exprs(index)
            .iter()
            .filter_map(|expr| match expr.literal() {
                Some(Value::Text(text)) => Some(&**text),
                _ => None,
            })
            .collect()
    }
}
