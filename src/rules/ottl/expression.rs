//! A condition as it is evaluated: names resolved, types checked, literals folded.

use super::ast::MathOp;
use super::functions::{Function, Prepared};
use super::lexer::Comparison;
use super::paths::{Context, Field};
use super::value::Value;

/// What is true or false.
pub(super) enum Test {
    Const(bool),
    Not(Box<Test>),
    And(Vec<Test>),
    Or(Vec<Test>),
    Compare(Expr, Comparison, Expr),
    /// `attributes["key"] == "text"` or `!=`, compared where it lies.
    AttributeIs {
        of: Context,
        key: Vec<u8>,
        text: Vec<u8>,
        equal: bool,
    },
    Call(Call),
}

/// What has a value.
pub(super) enum Expr {
    Literal(Value<'static>),
    Path(Field, Vec<Key>),
    /// A lambda's parameter, counted from the outermost lambda.
    Local(usize, Vec<Key>),
    Negative(Box<Expr>),
    Math(Box<Expr>, Vec<(MathOp, Expr)>),
    List(Vec<Expr>),
    Map(Vec<(Vec<u8>, Expr)>),
    Call(Box<Call>),
}

pub(super) enum Key {
    Text(Vec<u8>),
    Int(i64),
    Expr(Expr),
}

/// A function with its arguments, in the order of its parameters.
pub(super) struct Call {
    pub(super) function: &'static Function,
    pub(super) arguments: Vec<Argument>,
    pub(super) prepared: Prepared,
    pub(super) keys: Vec<Key>,
}

pub(super) enum Argument {
    Absent,
    Expr(Expr),
    Exprs(Vec<Expr>),
    Lambda(Lambda),
}

pub(super) struct Lambda {
    pub(super) parameters: usize,
    pub(super) body: LambdaBody,
}

pub(super) enum LambdaBody {
    Expr(Expr),
    Test(Test),
}

impl Expr {
    pub(super) fn literal(&self) -> Option<&Value<'static>> {
        match self {
            Self::Literal(value) => Some(value),
            _ => None,
        }
    }
}

impl Call {
    /// The value of an argument that is a literal.
    pub(super) fn literal(&self, index: usize) -> Option<&Value<'static>> {
        match self.arguments.get(index) {
            Some(Argument::Expr(expr)) => expr.literal(),
            _ => None,
        }
    }

    /// The text of an argument that is a literal text.
    pub(super) fn literal_text(&self, index: usize) -> Option<&[u8]> {
        match self.literal(index) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The same, as UTF-8; what is not counts as another text than any that is.
    pub(super) fn literal_str(&self, index: usize) -> Option<&str> {
        self.literal_text(index)
            .map(|text| std::str::from_utf8(text).unwrap_or("\u{fffd}"))
    }

    pub(super) fn flag(&self, index: usize) -> bool {
        matches!(self.literal(index), Some(Value::Bool(true)))
    }

    pub(super) fn has(&self, index: usize) -> bool {
        !matches!(self.arguments.get(index), None | Some(Argument::Absent))
    }
}
