//! Values read as what a function takes: strictly, or with the conversions of the `…Like` parameters.

use super::compare::as_double;
use super::error::EvalError;
use super::json_text;
use super::value::{Bytes, List, ListKind, Map, Out, Value};
use std::borrow::Cow;
use std::sync::Arc;

type Found<T> = Result<T, EvalError>;

pub(super) fn text<'a>(value: &Value<'a>) -> Found<Bytes<'a>> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        other => Err(other.wrong("a string")),
    }
}

pub(super) fn int(value: &Value<'_>) -> Found<i64> {
    match value {
        Value::Int(value) => Ok(*value),
        other => Err(other.wrong("an int")),
    }
}

pub(super) fn double(value: &Value<'_>) -> Found<f64> {
    match value {
        Value::Double(value) => Ok(*value),
        other => Err(other.wrong("a double")),
    }
}

pub(super) fn bool(value: &Value<'_>) -> Found<bool> {
    match value {
        Value::Bool(value) => Ok(*value),
        other => Err(other.wrong("a bool")),
    }
}

pub(super) fn time(value: &Value<'_>) -> Found<super::time::Time> {
    match value {
        Value::Time(value) => Ok(*value),
        other => Err(other.wrong("a time")),
    }
}

pub(super) fn duration(value: &Value<'_>) -> Found<i64> {
    match value {
        Value::Duration(value) => Ok(*value),
        other => Err(other.wrong("a duration")),
    }
}

/// A map of the Collector's own kind.
pub(super) fn map<'a>(value: &Value<'a>) -> Found<Map<'a>> {
    match value {
        Value::Map(map) if map.is_raw() => match own(value)? {
            Value::Map(map) => Ok(map),
            other => Err(other.wrong("a map")),
        },
        Value::Map(map) => Ok(map.clone()),
        other => Err(other.wrong("a map")),
    }
}

/// A list of the Collector's own kind.
pub(super) fn list<'a>(value: &Value<'a>) -> Found<List<'a>> {
    match value {
        Value::List(List::Built(items, ListKind::Texts)) => {
            Ok(List::Built(Arc::clone(items), ListKind::Plain))
        }
        Value::List(list) if list.kind() == ListKind::Raw => match own(value)? {
            Value::List(list) => Ok(list),
            other => Err(other.wrong("a list")),
        },
        Value::List(list) => Ok(list.clone()),
        other => Err(other.wrong("a list")),
    }
}

/// A raw value as one of the Collector's own; only raw containers and scalars can become one.
fn own<'a>(value: &Value<'a>) -> Out<'a> {
    Ok(match value {
        Value::Nil
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Double(_)
        | Value::Text(_)
        | Value::Bytes(_) => value.clone(),
        Value::Port(port) => Value::Int(*port),
        Value::List(List::Built(items, ListKind::Raw)) => {
            let items: Found<Vec<_>> = items.iter().map(own).collect();
            Value::list(items?, ListKind::Plain)
        }
        Value::Map(Map::Built(entries, true)) => {
            let entries: Found<Vec<_>> = entries
                .iter()
                .map(|(key, value)| Ok((key.clone(), own(value)?)))
                .collect();
            Value::map(entries?, false)
        }
        other => return Err(other.wrong("a plain value")),
    })
}

/// A map literal. Its values become the Collector's own; maps in it and in lists directly in it are so already.
pub(super) fn literal_map<'a>(entries: Vec<(Bytes<'a>, Value<'a>)>) -> Out<'a> {
    let entries: Found<Vec<_>> = entries
        .into_iter()
        .map(|(key, value)| Ok((key, literal_entry(&value)?)))
        .collect();
    Ok(Value::map(entries?, false))
}

fn literal_entry<'a>(value: &Value<'a>) -> Out<'a> {
    let is_own_map = |value: &Value<'_>| matches!(value, Value::Map(map) if !map.is_raw());
    match value {
        value if is_own_map(value) => Ok(value.clone()),
        Value::List(List::Built(items, ListKind::Raw)) => {
            let items: Found<Vec<_>> = items
                .iter()
                .map(|item| {
                    if is_own_map(item) {
                        Ok(item.clone())
                    } else {
                        own(item)
                    }
                })
                .collect();
            Ok(Value::list(items?, ListKind::Plain))
        }
        value => own(value),
    }
}

/// The value's text; nil has none.
pub(super) fn text_like<'a>(value: &Value<'a>) -> Found<Option<Bytes<'a>>> {
    Ok(Some(match value {
        Value::Nil => return Ok(None),
        Value::Text(text) => text.clone(),
        Value::Bytes(bytes) => Cow::Owned(super::functions::hex(bytes)),
        other => Cow::Owned(json_text::marshal(other)?),
    }))
}

pub(super) fn int_like(value: &Value<'_>) -> Found<Option<i64>> {
    Ok(Some(match value {
        Value::Nil => return Ok(None),
        Value::Int(value) => *value,
        Value::Double(value) => truncated(*value),
        Value::Bool(value) => i64::from(*value),
        Value::Text(text) => std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or(EvalError::Invalid("a text is not an int"))?,
        other => return Err(other.wrong("what can be an int")),
    }))
}

/// Go's conversion on the usual processors: out of range is the smallest int.
#[allow(clippy::cast_possible_truncation, reason = "in range by the check")]
pub(super) fn truncated(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) {
        value as i64
    } else {
        i64::MIN
    }
}

pub(super) fn double_like(value: &Value<'_>) -> Found<Option<f64>> {
    Ok(Some(match value {
        Value::Nil => return Ok(None),
        Value::Double(value) => *value,
        Value::Int(value) => as_double(*value),
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::Text(text) => parse_double(text)?,
        other => return Err(other.wrong("what can be a double")),
    }))
}

/// Decimal, hexadecimal (`0x1p-2`), `Inf` and `NaN`; underscores may stand between digits.
fn parse_double(text: &[u8]) -> Found<f64> {
    let invalid = EvalError::Invalid("a text is not a double");
    let text = std::str::from_utf8(text).map_err(|_| invalid)?;
    let text = without_underscores(text).ok_or(invalid)?;
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => (-1.0, size),
        None => (1.0, text.strip_prefix('+').unwrap_or(&text)),
    };
    if let Some(digits) = size.strip_prefix("0x").or_else(|| size.strip_prefix("0X")) {
        return hexadecimal(digits).map(|size| sign * size).ok_or(invalid);
    }
    let value: f64 = text.parse().map_err(|_| invalid)?;
    if value.is_infinite() && text.contains(|c: char| c.is_ascii_digit()) {
        return Err(EvalError::Invalid("a number is out of range"));
    }
    Ok(value)
}

fn without_underscores(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('_') {
        return Some(Cow::Borrowed(text));
    }
    let hexadecimal = text.contains(['x', 'X']);
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at)).is_some_and(|byte| {
            byte.is_ascii_digit()
                || hexadecimal && (byte.is_ascii_hexdigit() || b"xX".contains(byte))
        })
    };
    let fits = |at: usize| digit(at.checked_sub(1)) && digit(Some(at + 1));
    let sound = text.match_indices('_').all(|(at, _)| fits(at));
    sound.then(|| Cow::Owned(text.replace('_', "")))
}

/// `1.8p-3`: up to 16 digits, an exponent of two.
fn hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, power) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let value = i64::from_str_radix(&digits, 16).ok()?;
    let power: i32 = power.parse().ok()?;
    let places = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    let value = as_double(value) * 2_f64.powi(power.checked_sub(places)?);
    value.is_finite().then_some(value)
}

pub(super) fn bool_like(value: &Value<'_>) -> Found<Option<bool>> {
    Ok(Some(match value {
        Value::Nil => return Ok(None),
        Value::Bool(value) => *value,
        Value::Int(value) | Value::Port(value) => *value != 0,
        Value::Double(value) => *value != 0.0,
        Value::Text(text) => match &**text {
            b"1" | b"t" | b"T" | b"TRUE" | b"true" | b"True" => true,
            b"0" | b"f" | b"F" | b"FALSE" | b"false" | b"False" => false,
            _ => return Err(EvalError::Invalid("a text is not a bool")),
        },
        other => return Err(other.wrong("what can be a bool")),
    }))
}

pub(super) fn bytes_like<'a>(value: &Value<'a>) -> Found<Option<Bytes<'a>>> {
    Ok(Some(match value {
        Value::Nil => return Ok(None),
        Value::Text(bytes) | Value::Bytes(bytes) => bytes.clone(),
        Value::Int(value) => Cow::Owned(value.to_be_bytes().to_vec()),
        Value::Double(value) => Cow::Owned(value.to_bits().to_be_bytes().to_vec()),
        Value::Bool(value) => Cow::Owned(vec![u8::from(*value)]),
        other => return Err(other.wrong("what can be bytes")),
    }))
}

/// A lambda's result as an item of one of the Collector's own containers.
pub(super) fn stored<'a>(value: &Value<'a>) -> Out<'a> {
    match value {
        Value::Map(map) if !map.is_raw() => Ok(value.clone()),
        Value::List(list) if list.kind() != ListKind::Raw => {
            Ok(Value::List(List::Built(list.items()?, ListKind::Plain)))
        }
        value => own(value),
    }
}
