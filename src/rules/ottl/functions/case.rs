//! Letter case. Snake and camel case look at ASCII letters only, as the library that the Collector uses.

use super::super::evaluate::Scene;
use super::super::expression::Call;
use super::super::value::{Out, Value};
use super::fits;

pub(super) fn prepare(call: &mut Call) -> Result<(), String> {
    match call.literal_str(1) {
        Some("lower" | "upper" | "snake" | "camel") => Ok(()),
        _ => Err("the case is one of lower, upper, snake, camel".into()),
    }
}

pub(super) fn convert<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    match call.literal_str(1) {
        Some("lower") => to_lower(scene, call),
        Some("upper") => to_upper(scene, call),
        Some("snake") => to_snake(scene, call),
        _ => to_camel(scene, call),
    }
}

fn mapped<'a>(scene: &Scene<'a>, call: &'a Call, map: fn(&[u8]) -> Vec<u8>) -> Out<'a> {
    let text = call.text(scene, 0)?;
    fits(text.len())?;
    Ok(Value::text(map(&text)))
}

pub(super) fn to_lower<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    mapped(scene, call, |text| {
        by_character(text, |c| single(c, c.to_lowercase()))
    })
}

pub(super) fn to_upper<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    mapped(scene, call, |text| {
        by_character(text, |c| single(c, c.to_uppercase()))
    })
}

pub(super) fn to_snake<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    mapped(scene, call, snake)
}

pub(super) fn to_camel<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    mapped(scene, call, camel)
}

/// Go maps a character to one character; where Unicode has several (`ß` to `SS`) it stays, but for the few below.
fn single(character: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next(), character) {
        (Some(only), None, _) => only,
        (_, _, 'İ') => 'i',
        (_, _, 'ᾳ') => 'ᾼ',
        (_, _, 'ῃ') => 'ῌ',
        (_, _, 'ῳ') => 'ῼ',
        // Greek with iota below: the capitals stand eight places on.
        (_, _, 'ᾀ'..='ᾇ' | 'ᾐ'..='ᾗ' | 'ᾠ'..='ᾧ') => {
            char::from_u32(u32::from(character) + 8).unwrap_or(character)
        }
        _ => character,
    }
}

/// Bytes that are no UTF-8 become U+FFFD, as in Go; ASCII texts keep them.
fn by_character(text: &[u8], map: impl Fn(char) -> char) -> Vec<u8> {
    String::from_utf8_lossy(text)
        .chars()
        .map(map)
        .collect::<String>()
        .into_bytes()
}

/// Without Unicode's blanks at the ends.
fn trimmed(text: &[u8]) -> &[u8] {
    match std::str::from_utf8(text) {
        Ok(text) => text.trim().as_bytes(),
        Err(_) => text.trim_ascii(),
    }
}

/// `foo_bar` as `FooBar`.
pub(in super::super) fn camel(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let (mut raise, mut after_upper) = (true, false);
    for &byte in trimmed(text) {
        let upper = byte.is_ascii_uppercase();
        let shown = if raise {
            byte.to_ascii_uppercase()
        } else if after_upper && upper {
            byte.to_ascii_lowercase()
        } else {
            byte
        };
        after_upper = upper;
        if byte.is_ascii_alphabetic() {
            out.push(shown);
            raise = false;
        } else if byte.is_ascii_digit() {
            out.push(shown);
            raise = true;
        } else {
            raise = matches!(byte, b'_' | b' ' | b'-' | b'.');
        }
    }
    out
}

/// `fooBar9` as `foo_bar_9`.
fn snake(text: &[u8]) -> Vec<u8> {
    let text = trimmed(text);
    let mut out = Vec::with_capacity(text.len() + 2);
    let kind = |byte: Option<&u8>| match byte {
        Some(b'A'..=b'Z') => 'A',
        Some(b'a'..=b'z') => 'a',
        Some(b'0'..=b'9') => '0',
        _ => ' ',
    };
    let mut before = None;
    let mut rest = text.iter().peekable();
    while let Some(byte) = rest.next() {
        let (this, next) = (kind(Some(byte)), kind(rest.peek().copied()));
        let change = matches!(
            (this, next),
            ('A', 'a' | '0') | ('a', 'A' | '0') | ('0', 'A' | 'a')
        );
        if change && this == 'A' && next == 'a' && kind(before) == 'A' {
            out.push(b'_');
        }
        out.push(match byte {
            b' ' | b'_' | b'-' | b'.' => b'_',
            byte => byte.to_ascii_lowercase(),
        });
        if change && (this != 'A' || next == '0') {
            out.push(b'_');
        }
        before = Some(byte);
    }
    out
}
