//! Functions on texts. A text is bytes: lengths and positions count bytes, as in Go.

use super::super::convert;
use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::{Argument, Call};
use super::super::json_text::item_text;
use super::super::value::{Bytes, ListKind, Out, Value};
use super::fits;
use memchr::memmem;
use std::borrow::Cow;

/// Lower-case hexadecimal.
pub(in super::super) fn hex(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0');
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// Of nil: the empty text.
pub(super) fn hex_of<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let bytes = convert::bytes_like(&call.value(scene, 0)?)?.unwrap_or_default();
    fits(bytes.len().saturating_mul(2))?;
    Ok(Value::text(hex(&bytes)))
}

/// nil is written as `<nil>`; in a list of a span's own it is nothing, as the Collector has it.
pub(super) fn concat<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let delimiter = call.text(scene, 1)?;
    let mut parts: Vec<Option<Bytes<'a>>> = Vec::new();
    match call.arguments.first() {
        Some(Argument::Exprs(exprs)) => {
            for expr in exprs {
                parts.push(convert::text_like(&expr.eval(scene)?)?);
            }
        }
        _ => match call.value(scene, 0)? {
            Value::Nil => {}
            Value::List(list) => {
                for item in list.items()?.iter() {
                    parts.push(match list.kind() {
                        ListKind::Plain => Some(Cow::Owned(item_text(item)?)),
                        ListKind::Raw | ListKind::Texts => convert::text_like(item)?,
                    });
                }
            }
            other => return Err(other.wrong("a list")),
        },
    }
    let mut out = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(&delimiter);
        }
        out.extend_from_slice(part.as_deref().unwrap_or(b"<nil>"));
        fits(out.len())?;
    }
    Ok(Value::text(out))
}

pub(super) fn has_prefix<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let (text, prefix) = (call.text(scene, 0)?, call.text(scene, 1)?);
    Ok(Value::Bool(text.starts_with(&prefix)))
}

pub(super) fn has_suffix<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let (text, suffix) = (call.text(scene, 0)?, call.text(scene, 1)?);
    Ok(Value::Bool(text.ends_with(&suffix)))
}

/// A part of a text, without a copy where it is borrowed.
fn part(text: Bytes<'_>, start: usize, end: usize) -> Bytes<'_> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(start..end).unwrap_or_default()),
        Cow::Owned(text) => Cow::Owned(text.get(start..end).unwrap_or_default().to_vec()),
    }
}

pub(super) fn trim_prefix<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let (text, prefix) = (call.text(scene, 0)?, call.text(scene, 1)?);
    let start = if text.starts_with(&prefix) {
        prefix.len()
    } else {
        0
    };
    let end = text.len();
    Ok(Value::Text(part(text, start, end)))
}

pub(super) fn trim_suffix<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let (text, suffix) = (call.text(scene, 0)?, call.text(scene, 1)?);
    let cut = if text.ends_with(&suffix) {
        suffix.len()
    } else {
        0
    };
    let end = text.len() - cut;
    Ok(Value::Text(part(text, 0, end)))
}

/// Cuts the characters of the second argument off both ends; blanks unless it is given.
pub(super) fn trim<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let text = call.text(scene, 0)?;
    let cut = String::from_utf8_lossy(call.literal_or(1, " "));
    // Each piece of text that is no UTF-8 stays.
    let whole = String::from_utf8_lossy(&text);
    if let Cow::Owned(_) = whole {
        let is_cut = |byte: &u8| byte.is_ascii() && cut.as_bytes().contains(byte);
        let start = text.iter().take_while(|byte| is_cut(byte)).count();
        let end = text.iter().rev().take_while(|byte| is_cut(byte)).count();
        let end = text.len().saturating_sub(end).max(start);
        return Ok(Value::Text(part(text, start, end)));
    }
    let left = whole.trim_start_matches(|c| cut.contains(c));
    let start = whole.len() - left.len();
    let end = start + left.trim_end_matches(|c| cut.contains(c)).len();
    drop(whole);
    Ok(Value::Text(part(text, start, end)))
}

/// An empty delimiter splits into characters.
pub(super) fn split<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let (text, delimiter) = (call.text(scene, 0)?, call.text(scene, 1)?);
    fits(text.len())?;
    let own = |text: &[u8]| Value::text(text);
    let mut parts = Vec::new();
    if delimiter.is_empty() {
        for chunk in text.utf8_chunks() {
            let valid = chunk.valid();
            parts.extend(
                valid
                    .chars()
                    .map(|c| own(c.encode_utf8(&mut [0; 4]).as_bytes())),
            );
            parts.extend(chunk.invalid().iter().map(|byte| own(&[*byte])));
        }
    } else {
        let mut start = 0;
        for at in memmem::find_iter(&text, &*delimiter) {
            parts.push(own(text.get(start..at).unwrap_or_default()));
            start = at + delimiter.len();
        }
        parts.push(own(text.get(start..).unwrap_or_default()));
    }
    Ok(Value::list(parts, ListKind::Texts))
}

pub(super) fn substring<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let start = call.int(scene, 1)?;
    if start < 0 {
        return Err(EvalError::Invalid("a substring begins before its text"));
    }
    let length = call.int(scene, 2)?;
    if length <= 0 {
        return Err(EvalError::Invalid("a substring's length is not above zero"));
    }
    let text = call.text(scene, 0)?;
    let range = usize::try_from(start)
        .ok()
        .zip(usize::try_from(length).ok())
        .and_then(|(start, length)| Some((start, start.checked_add(length)?)))
        .filter(|(_, end)| *end <= text.len());
    let Some((mut start, mut end)) = range else {
        return Err(EvalError::Invalid("a substring ends behind its text"));
    };
    if call.flag(3) {
        let begins = |at: usize| text.get(at).is_none_or(|byte| byte & 0xc0 != 0x80);
        while !begins(start) {
            start += 1;
        }
        while start < end && !begins(end) {
            end -= 1;
        }
        end = end.max(start);
    }
    Ok(Value::Text(part(text, start, end)))
}

pub(super) fn luhn<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let Some(text) = call.text_like(scene, 0)? else {
        return Err(Value::Nil.wrong("a number"));
    };
    let mut sum = 0_u32;
    let digits = text.iter().rev().filter(|byte| **byte != b' ');
    for (place, byte) in digits.enumerate() {
        if !byte.is_ascii_digit() {
            return Err(EvalError::Invalid(
                "a number has a character that is no digit",
            ));
        }
        let digit = u32::from(byte - b'0');
        let doubled = if place % 2 == 1 { digit * 2 } else { digit };
        sum = (sum + doubled / 10 + doubled % 10) % 10;
    }
    let any = text.iter().any(|byte| *byte != b' ');
    Ok(Value::Bool(any && sum == 0))
}
