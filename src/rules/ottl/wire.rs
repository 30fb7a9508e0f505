//! Single fields of a message, looked up when a condition asks for them.
//!
//! Scalars: the last one counts, the default where there is none. Messages were found sound when the span was scanned; what
//! is broken all the same is an error, never a panic.

use super::error::EvalError;
use crate::otlp::{AnyValue, Cursor, WireValue, any_value, key_value};

type Found<T> = Result<T, EvalError>;

fn broken<E>(_: E) -> EvalError {
    EvalError::Wire
}

/// Calls `each` with every occurrence of a field, until it says stop.
pub(super) fn each<'a>(
    message: &'a [u8],
    field: u32,
    mut each: impl FnMut(WireValue<'a>) -> Found<bool>,
) -> Found<()> {
    let mut cursor = Cursor::new(message);
    while let Some((number, value)) = cursor.next().map_err(broken)? {
        if number == field && !each(value)? {
            break;
        }
    }
    Ok(())
}

fn last<'a>(message: &'a [u8], field: u32) -> Found<Option<WireValue<'a>>> {
    let mut found = None;
    each(message, field, |value| {
        found = Some(value);
        Ok(true)
    })?;
    Ok(found)
}

pub(super) fn bytes(message: &[u8], field: u32) -> Found<&[u8]> {
    last(message, field)?.map_or(Ok(&[]), |value| value.bytes().map_err(broken))
}

pub(super) fn varint(message: &[u8], field: u32) -> Found<u64> {
    last(message, field)?.map_or(Ok(0), |value| value.varint().map_err(broken))
}

/// A 32-bit number: the low half of the varint, as every protobuf reader takes it.
#[allow(clippy::cast_possible_truncation, reason = "the low half is meant")]
pub(super) fn varint32(message: &[u8], field: u32) -> Found<u32> {
    varint(message, field).map(|value| value as u32)
}

pub(super) fn fixed64(message: &[u8], field: u32) -> Found<u64> {
    last(message, field)?.map_or(Ok(0), |value| value.fixed64().map_err(broken))
}

pub(super) fn fixed32(message: &[u8], field: u32) -> Found<u32> {
    last(message, field)?.map_or(Ok(0), |value| value.fixed32().map_err(broken))
}

pub(super) fn count(message: &[u8], field: u32) -> Found<usize> {
    let mut count = 0;
    each(message, field, |_| {
        count += 1;
        Ok(true)
    })?;
    Ok(count)
}

/// The value of the first entry with this key in a repeated `KeyValue`.
#[inline]
pub(super) fn find<'a>(message: &'a [u8], field: u32, key: &[u8]) -> Found<Option<AnyValue<'a>>> {
    let mut found = None;
    each(message, field, |value| {
        let entry = value.bytes().map_err(broken)?;
        if is_other(entry, key) {
            return Ok(true);
        }
        let (name, value) = key_value(entry, 0).map_err(broken)?;
        if name == key {
            found = Some(value);
            return Ok(false);
        }
        Ok(true)
    })?;
    Ok(found)
}

/// The entry is the usual kind (a short key, then the value, nothing more) and has another key.
#[inline]
fn is_other(entry: &[u8], key: &[u8]) -> bool {
    let [0x0a, length, rest @ ..] = entry else {
        return false;
    };
    let Some((name, rest)) = rest.split_at_checked(usize::from(*length)) else {
        return false;
    };
    if *length >= 0x80 || name == key {
        return false;
    }
    // A second key behind the value would win; only an entry that ends with its value is plain.
    match rest {
        [] => true,
        [0x12, a, value @ ..] if *a < 0x80 => value.len() == usize::from(*a),
        [0x12, a, b, value @ ..] if *b < 0x80 => {
            value.len() == usize::from(*a & 0x7f) | usize::from(*b) << 7
        }
        _ => false,
    }
}

/// The entries of a repeated `KeyValue`, in order.
pub(super) fn entries<'a>(message: &'a [u8], field: u32) -> Found<Vec<(&'a [u8], AnyValue<'a>)>> {
    let mut out = Vec::new();
    each(message, field, |value| {
        let entry = value.bytes().map_err(broken)?;
        out.push(key_value(entry, 0).map_err(broken)?);
        Ok(true)
    })?;
    Ok(out)
}

/// The values of an `ArrayValue`.
pub(super) fn items(message: &[u8]) -> Found<Vec<AnyValue<'_>>> {
    let mut out = Vec::new();
    each(message, 1, |value| {
        out.push(any_value(value.bytes().map_err(broken)?, 0).map_err(broken)?);
        Ok(true)
    })?;
    Ok(out)
}
