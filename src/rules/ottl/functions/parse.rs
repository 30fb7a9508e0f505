//! Texts that hold other things: JSON, numbers, `key=value` pairs.

use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::Call;
use super::super::json_text::item_text;
use super::super::value::{Bytes, Out, Value};
use super::entries::Entries;
use super::{fits, json};
use memchr::memmem;
use std::borrow::Cow;

/// An object or a list; a scalar alone is an error.
pub(super) fn json<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    match json::parse(&call.text(scene, 0)?)? {
        value @ (Value::Map(_) | Value::List(_)) => Ok(value),
        _ => Err(EvalError::Invalid("a JSON text is no object and no list")),
    }
}

/// An int in a base of 2 to 36, or 0: by its prefix, `_` between digits allowed.
pub(super) fn int<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let text = call.text(scene, 0)?;
    let base = call.int(scene, 1)?;
    let invalid = EvalError::Invalid("a text is not an int of this base");
    let text = std::str::from_utf8(&text).map_err(|_| invalid)?;
    let (negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    let (base, digits) = match u32::try_from(base).map_err(|_| invalid)? {
        0 => by_prefix(digits).ok_or(invalid)?,
        base @ 2..=36 => (base, Cow::Borrowed(digits)),
        _ => return Err(invalid),
    };
    if digits.starts_with(['+', '-']) {
        return Err(invalid);
    }
    let size = u64::from_str_radix(&digits, base).map_err(|_| invalid)?;
    let value = if negative {
        -i128::from(size)
    } else {
        i128::from(size)
    };
    i64::try_from(value).map(Value::Int).map_err(|_| invalid)
}

/// The base that a prefix names, and the digits without underscores, which must stand between digits.
fn by_prefix(text: &str) -> Option<(u32, Cow<'_, str>)> {
    let lower = text.get(..2).unwrap_or_default().to_ascii_lowercase();
    let (base, digits, prefixed) = match &*lower {
        "0x" => (16, text.get(2..)?, true),
        "0b" => (2, text.get(2..)?, true),
        "0o" => (8, text.get(2..)?, true),
        _ if text.len() > 1 && text.starts_with('0') => (8, text.get(1..)?, true),
        _ => (10, text, false),
    };
    if !digits.contains('_') {
        return Some((base, Cow::Borrowed(digits)));
    }
    let misplaced =
        digits.ends_with('_') || digits.contains("__") || !prefixed && digits.starts_with('_');
    (!misplaced).then(|| (base, Cow::Owned(digits.replace('_', ""))))
}

pub(super) fn prepare_pairs(call: &mut Call) -> Result<(), String> {
    let (delimiter, pairs) = (call.literal_or(1, "="), call.literal_or(2, " "));
    if delimiter.is_empty() || pairs.is_empty() {
        return Err("a delimiter cannot be empty".into());
    }
    if delimiter == pairs {
        return Err("the two delimiters cannot be the same".into());
    }
    Ok(())
}

pub(super) fn key_value<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let text = call.text(scene, 0)?;
    if text.is_empty() {
        return Err(EvalError::Invalid("an empty text has no pairs"));
    }
    let delimiter = call.literal_or(1, "=");
    let mut entries = Entries::default();
    for pair in split_quoted(&text, call.literal_or(2, " "))? {
        let at =
            memmem::find(&pair, delimiter).ok_or(EvalError::Invalid("a pair has no delimiter"))?;
        let (key, value) = pair.split_at(at);
        let value = value.get(delimiter.len()..).unwrap_or_default();
        let (key, value) = (trimmed(key), Value::text(trimmed(value)));
        entries.put(Cow::Owned(key), value);
    }
    Ok(entries.into_map(false))
}

fn trimmed(text: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(text) {
        Ok(text) => text.trim().into(),
        Err(_) => text.trim_ascii().into(),
    }
}

/// Splits at a delimiter outside of quotes; quotes go, a backslash keeps the next quote, empty parts are left out.
fn split_quoted(text: &[u8], delimiter: &[u8]) -> Result<Vec<Vec<u8>>, EvalError> {
    let (mut out, mut part) = (Vec::new(), Vec::new());
    let (mut quote, mut escaped) = (None, false);
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        if quote.is_none()
            && let Some(after) = rest.strip_prefix(delimiter)
        {
            if !part.is_empty() {
                out.push(std::mem::take(&mut part));
            }
            rest = after;
            continue;
        }
        rest = after;
        if escaped {
            escaped = false;
        } else {
            if quote.is_none() && matches!(byte, b'"' | b'\'') {
                quote = Some(byte);
                continue;
            }
            if quote == Some(byte) {
                quote = None;
                continue;
            }
            escaped = byte == b'\\';
        }
        part.push(byte);
    }
    if quote.is_some() {
        return Err(EvalError::Invalid("a quoted text does not end"));
    }
    if !part.is_empty() {
        out.push(part);
    }
    Ok(out)
}

pub(super) fn to_key_value<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let entries = call.map(scene, 0)?.entries()?;
    let (delimiter, between) = (call.literal_or(1, "="), call.literal_or(2, " "));
    let mut order: Vec<&(Bytes<'a>, Value<'a>)> = entries.iter().collect();
    if call.flag(3) {
        order.sort_by(|(a, _), (b, _)| a.cmp(b));
    }
    let mut out = Vec::new();
    for (index, (key, value)) in order.into_iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(between);
        }
        quoted(key, delimiter, between, &mut out);
        out.extend_from_slice(delimiter);
        quoted(&item_text(value)?, delimiter, between, &mut out);
        fits(out.len())?;
    }
    Ok(Value::text(out))
}

fn quoted(text: &[u8], delimiter: &[u8], between: &[u8], out: &mut Vec<u8>) {
    let mut escaped = Vec::with_capacity(text.len());
    for byte in text {
        if *byte == b'"' {
            escaped.push(b'\\');
        }
        escaped.push(*byte);
    }
    let has = |part| memmem::find(&escaped, part).is_some();
    let quotes: &[u8] = if has(delimiter) || has(between) {
        b"\""
    } else {
        b""
    };
    for part in [quotes, &escaped, quotes] {
        out.extend_from_slice(part);
    }
}
