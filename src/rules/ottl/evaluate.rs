//! Evaluation over the bytes of a span: only what a condition asks for is looked up.
//!
//! Steps are counted, so that lambdas over large lists end.

use super::arithmetic::{calculate, negate};
use super::built::Extent;
use super::compare::compare;
use super::convert::literal_map;
use super::error::EvalError;
use super::expression::{Call, Expr, Lambda, LambdaBody, Test};
use super::fields;
use super::functions::Body;
use super::index;
use super::value::{ListKind, Out, Value};
use super::view::SpanView;
use super::wire;
use crate::otlp::AnyValue;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};

/// Values computed and bytes or items walked in one evaluation. A condition of a screenful takes some hundred; a lambda over
/// a thousand items some ten thousand; the text of a prompt of a megabyte sixteen thousand. At some 20 ns each this is 20 ms.
const MAX_STEPS: u32 = 1_000_000;

/// What one evaluation sees and holds.
pub(super) struct Scene<'a> {
    pub(super) view: SpanView<'a>,
    /// Values of the lambdas' parameters, outermost first.
    locals: RefCell<Vec<Value<'a>>>,
    steps: Cell<u32>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(view: SpanView<'a>) -> Self {
        Self {
            view,
            locals: RefCell::default(),
            steps: Cell::new(0),
        }
    }

    #[inline]
    pub(super) fn step(&self) -> Result<(), EvalError> {
        self.steps_for(1)
    }

    /// Counts what it takes to walk so much: a step for each 64 bytes or four items.
    #[inline]
    pub(super) fn walk(&self, extent: Extent) -> Result<(), EvalError> {
        self.steps_for(extent.size / 4)
    }

    #[inline]
    fn steps_for(&self, count: u32) -> Result<(), EvalError> {
        let steps = self.steps.get().saturating_add(count);
        self.steps.set(steps);
        if steps > MAX_STEPS {
            return Err(EvalError::TooComplex);
        }
        Ok(())
    }
}

impl Test {
    pub(super) fn eval<'a>(&'a self, scene: &Scene<'a>) -> Result<bool, EvalError> {
        scene.step()?;
        match self {
            Self::Const(value) => Ok(*value),
            Self::Not(inner) => inner.eval(scene).map(|value| !value),
            Self::And(parts) => {
                for part in parts {
                    if !part.eval(scene)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Or(parts) => {
                for part in parts {
                    if part.eval(scene)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::Compare(left, operator, right) => {
                let (left, right) = (left.eval(scene)?, right.eval(scene)?);
                scene.walk(left.extent())?;
                compare(&left, &right, *operator)
            }
            Self::AttributeIs {
                of,
                key,
                text,
                equal,
            } => {
                let (message, field) = fields::attributes(&scene.view, *of);
                let found = wire::find(message, field, key)?;
                let same = matches!(found, Some(AnyValue::Str(value)) if value == text);
                Ok(same == *equal)
            }
            Self::Call(call) => match call.eval(scene)? {
                Value::Bool(value) => Ok(value),
                other => Err(other.wrong("a bool")),
            },
        }
    }
}

impl Expr {
    pub(super) fn eval<'a>(&'a self, scene: &Scene<'a>) -> Out<'a> {
        scene.step()?;
        match self {
            Self::Literal(value) => Ok(value.borrowed()),
            Self::Path(field, keys) => fields::read(scene, *field, keys),
            Self::Local(slot, keys) => {
                let value = scene.locals.borrow().get(*slot).cloned();
                index::of_value(scene, value.unwrap_or(Value::Nil), keys)
            }
            Self::Negative(inner) => negate(&inner.eval(scene)?),
            Self::Math(first, more) => {
                let mut value = first.eval(scene)?;
                for (operator, right) in more {
                    value = calculate(&value, *operator, &right.eval(scene)?)?;
                }
                Ok(value)
            }
            Self::List(items) => {
                let items: Result<Vec<_>, _> = items.iter().map(|item| item.eval(scene)).collect();
                checked(Value::list(items?, ListKind::Raw))
            }
            Self::Map(entries) => {
                let entries: Result<Vec<_>, EvalError> = entries
                    .iter()
                    .map(|(key, value)| Ok((Cow::Borrowed(&**key), value.eval(scene)?)))
                    .collect();
                checked(literal_map(entries?)?)
            }
            Self::Call(call) => call.eval(scene),
        }
    }
}

/// A container that can be walked in bounded time.
pub(super) fn checked(value: Value<'_>) -> Out<'_> {
    value.extent().check()?;
    Ok(value)
}

impl Call {
    fn eval<'a>(&'a self, scene: &Scene<'a>) -> Out<'a> {
        let value = match self.function.body {
            Body::Done(_, run) => run(scene, self)?,
            Body::Refused(reason) => return Err(EvalError::Invalid(reason)),
        };
        index::of_value(scene, value, &self.keys)
    }
}

impl Lambda {
    /// Runs the body with these arguments.
    pub(super) fn eval<'a, const N: usize>(
        &'a self,
        scene: &Scene<'a>,
        arguments: [Value<'a>; N],
    ) -> Out<'a> {
        let outer = scene.locals.borrow().len();
        scene
            .locals
            .borrow_mut()
            .extend(arguments.into_iter().take(self.parameters));
        let result = match &self.body {
            LambdaBody::Expr(expr) => expr.eval(scene),
            LambdaBody::Test(test) => test.eval(scene).map(Value::Bool),
        };
        scene.locals.borrow_mut().truncate(outer);
        result
    }
}
