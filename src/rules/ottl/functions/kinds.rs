//! Questions about a value's kind, and conversions.

use super::super::convert;
use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::Call;
use super::super::value::{Id, Out, Value, Whole};

pub(super) fn bool<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let value = convert::bool_like(&call.value(scene, 0)?)?;
    Ok(value.map_or(Value::Nil, Value::Bool))
}

pub(super) fn double<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let value = convert::double_like(&call.value(scene, 0)?)?;
    Ok(value.map_or(Value::Nil, Value::Double))
}

pub(super) fn int<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let value = convert::int_like(&call.value(scene, 0)?)?;
    Ok(value.map_or(Value::Nil, Value::Int))
}

pub(super) fn text<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    Ok(call.text_like(scene, 0)?.map_or(Value::Nil, Value::Text))
}

fn is<'a>(scene: &Scene<'a>, call: &'a Call, kind: fn(&Value<'_>) -> bool) -> Out<'a> {
    Ok(Value::Bool(kind(&call.value(scene, 0)?)))
}

pub(super) fn is_bool<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    is(scene, call, |value| matches!(value, Value::Bool(_)))
}

pub(super) fn is_double<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    is(scene, call, |value| matches!(value, Value::Double(_)))
}

pub(super) fn is_int<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    is(scene, call, |value| matches!(value, Value::Int(_)))
}

pub(super) fn is_map<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    is(scene, call, |value| matches!(value, Value::Map(_)))
}

pub(super) fn is_text<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    is(scene, call, |value| matches!(value, Value::Text(_)))
}

pub(super) fn is_list<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    is(scene, call, |value| {
        matches!(
            value,
            Value::List(_) | Value::Whole(Whole::Events(_) | Whole::Links(_))
        )
    })
}

/// nil, zero, and what has no items.
pub(super) fn is_empty<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    Ok(Value::Bool(match call.value(scene, 0)? {
        Value::Nil => true,
        Value::Bool(value) => !value,
        Value::Int(value) | Value::Duration(value) | Value::Port(value) => value == 0,
        Value::Double(value) => value == 0.0,
        Value::Text(bytes) | Value::Bytes(bytes) => bytes.is_empty(),
        Value::Id(Id::Trace(id) | Id::Profile(id)) => id == [0; 16],
        Value::Id(Id::Span(id)) => id == [0; 8],
        Value::Map(map) => map.len()? == 0,
        Value::List(list) => list.len()? == 0,
        Value::Time(_) | Value::Whole(_) => false,
    }))
}

/// Bytes of a text, items of the rest.
pub(super) fn len<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let length = match call.value(scene, 0)? {
        Value::Text(bytes) | Value::Bytes(bytes) => bytes.len(),
        Value::Map(map) => map.len()?,
        Value::List(list) => list.len()?,
        Value::Whole(Whole::Events(count) | Whole::Links(count)) => count,
        other => return Err(other.wrong("a string, a map or a list")),
    };
    Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

pub(super) fn log<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    match convert::double_like(&call.value(scene, 0)?)? {
        Some(value) if value > 0.0 || value.is_nan() => Ok(Value::Double(value.ln())),
        Some(_) => Err(EvalError::Invalid("a logarithm of what is not above zero")),
        None => Err(Value::Nil.wrong("a number")),
    }
}
