//! `+ - * /` and the minus before a value. Ints wrap as Go's do; times and durations add and subtract.

use super::ast::MathOp;
use super::compare::as_double;
use super::error::EvalError;
use super::value::{Out, Value};

pub(super) fn negate<'a>(value: &Value<'_>) -> Out<'a> {
    match value {
        Value::Int(value) => Ok(Value::Int(value.wrapping_neg())),
        Value::Double(value) => Ok(Value::Double(-value)),
        other => Err(other.wrong("a number")),
    }
}

pub(super) fn calculate<'a>(left: &Value<'_>, operator: MathOp, right: &Value<'_>) -> Out<'a> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => ints(*a, operator, *b).map(Value::Int),
        (Value::Int(a), Value::Double(b)) => doubles(as_double(*a), operator, *b),
        (Value::Double(a), Value::Int(b)) => doubles(*a, operator, as_double(*b)),
        (Value::Double(a), Value::Double(b)) => doubles(*a, operator, *b),
        (Value::Int(_) | Value::Double(_), other) => Err(other.wrong("a number")),
        (Value::Time(_) | Value::Duration(_), _) => times(left, operator, right),
        (other, _) => Err(other.wrong("a number, a time or a duration")),
    }
}

fn ints(a: i64, operator: MathOp, b: i64) -> Result<i64, EvalError> {
    match operator {
        MathOp::Add => Ok(a.wrapping_add(b)),
        MathOp::Sub => Ok(a.wrapping_sub(b)),
        MathOp::Mul => Ok(a.wrapping_mul(b)),
        MathOp::Div if b == 0 => Err(EvalError::DivisionByZero),
        MathOp::Div => Ok(a.wrapping_div(b)),
    }
}

fn doubles<'a>(a: f64, operator: MathOp, b: f64) -> Out<'a> {
    Ok(Value::Double(match operator {
        MathOp::Add => a + b,
        MathOp::Sub => a - b,
        MathOp::Mul => a * b,
        MathOp::Div if b == 0.0 => return Err(EvalError::DivisionByZero),
        MathOp::Div => a / b,
    }))
}

fn times<'a>(left: &Value<'_>, operator: MathOp, right: &Value<'_>) -> Out<'a> {
    Ok(match (left, operator, right) {
        (Value::Time(a), MathOp::Add, Value::Duration(b))
        | (Value::Duration(b), MathOp::Add, Value::Time(a)) => Value::Time(a.plus(*b)),
        (Value::Time(a), MathOp::Sub, Value::Duration(b)) => Value::Time(a.plus(b.wrapping_neg())),
        (Value::Time(a), MathOp::Sub, Value::Time(b)) => Value::Duration(a.since(b)),
        (Value::Duration(a), MathOp::Add, Value::Duration(b)) => {
            Value::Duration(a.wrapping_add(*b))
        }
        (Value::Duration(a), MathOp::Sub, Value::Duration(b)) => {
            Value::Duration(a.wrapping_sub(*b))
        }
        (_, MathOp::Mul | MathOp::Div, _) => {
            return Err(EvalError::Invalid(
                "times and durations only add and subtract",
            ));
        }
        (_, _, other) => return Err(other.wrong("a time or a duration")),
    })
}
