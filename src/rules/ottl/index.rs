//! `["key"]` and `[0]` behind a path or a call.
//!
//! The two differ: a key that a path's attributes lack gives nil, one that a function's map lacks is an error.

use super::error::EvalError;
use super::evaluate::Scene;
use super::expression::Key;
use super::value::{Bytes, Map, Out, Value};
use std::borrow::Cow;

/// Behind `attributes`: the first key is a name in the map, the others go down into the value.
pub(super) fn of_attributes<'a>(scene: &Scene<'a>, map: &Map<'a>, keys: &'a [Key]) -> Out<'a> {
    let Some((first, rest)) = keys.split_first() else {
        return Ok(Value::Map(map.clone()));
    };
    let first = name(scene, first)?;
    scene.walk(Value::Map(map.clone()).extent())?;
    let Some(mut value) = map.get(&first)? else {
        return Ok(Value::Nil);
    };
    for key in rest {
        scene.walk(value.extent())?;
        value = match &value {
            Value::Map(map) => match map.get(&name(scene, key)?)? {
                Some(value) => value,
                None => return Ok(Value::Nil),
            },
            Value::List(list) => list.get(number(scene, key)?)?,
            other => return Err(other.wrong("a map or a list to index")),
        };
    }
    Ok(value)
}

fn name<'a>(scene: &Scene<'a>, key: &'a Key) -> Result<Bytes<'a>, EvalError> {
    match key {
        Key::Text(text) => Ok(Cow::Borrowed(text)),
        Key::Int(_) => Err(Value::Int(0).wrong("a name in a map")),
        Key::Expr(expr) => match expr.eval(scene)? {
            Value::Text(text) => Ok(text),
            other => Err(other.wrong("a name in a map")),
        },
    }
}

fn number<'a>(scene: &Scene<'a>, key: &'a Key) -> Result<i64, EvalError> {
    match key {
        Key::Int(index) => Ok(*index),
        Key::Text(_) => Err(EvalError::Kind {
            wanted: "an index into a list",
            got: "a string",
        }),
        Key::Expr(expr) => match expr.eval(scene)? {
            Value::Int(index) => Ok(index),
            other => Err(other.wrong("an index into a list")),
        },
    }
}

/// Behind a call or a lambda's parameter.
pub(super) fn of_value<'a>(scene: &Scene<'a>, value: Value<'a>, keys: &'a [Key]) -> Out<'a> {
    let mut value = value;
    for key in keys {
        scene.walk(value.extent())?;
        let key = match key {
            Key::Text(text) => Value::Text(Cow::Borrowed(&**text)),
            Key::Int(index) => Value::Int(*index),
            Key::Expr(expr) => expr.eval(scene)?,
        };
        value = match (&value, &key) {
            (Value::Map(map), Value::Text(name)) => map.get(name)?.ok_or(EvalError::NoSuchKey)?,
            (Value::List(list), Value::Int(index) | Value::Port(index)) => list.get(*index)?,
            (Value::Bytes(bytes), Value::Int(index) | Value::Port(index)) => {
                let byte = usize::try_from(*index)
                    .ok()
                    .and_then(|index| bytes.get(index));
                // One byte is a kind of number of its own, which equals no literal.
                Value::Port(i64::from(*byte.ok_or(EvalError::OutOfBounds)?))
            }
            (Value::Map(_) | Value::List(_) | Value::Bytes(_), key) => {
                return Err(key.wrong("a name in a map or an index into a list"));
            }
            (other, _) => return Err(other.wrong("a map or a list to index")),
        };
    }
    Ok(value)
}
