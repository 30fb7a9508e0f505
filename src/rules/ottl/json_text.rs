//! Values as the JSON that Go writes: sorted keys, numbers as ES6 writes them, bytes in base64.

use super::error::EvalError;
use super::functions::fits;
use super::value::{Id, List, ListKind, Map, Value};
use crate::otlp::AnyValue;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;

type Written = Result<(), EvalError>;

/// How a value is seen.
#[derive(Clone, Copy)]
struct Style {
    /// As the library that OTTL uses writes: `<`, `>` and `&` escaped, `\u0008`, `1e-07`; else as Go's own does.
    loud: bool,
    /// The Collector's own containers are made Go's; else they show as `{}`.
    unfold: bool,
}

/// JSON of any value, as a function that takes the text of a value sees it.
pub(super) fn marshal(value: &Value<'_>) -> Result<Vec<u8>, EvalError> {
    let unfold = match value {
        Value::Map(map) => !map.is_raw(),
        Value::List(list) => list.kind() == ListKind::Plain,
        _ => false,
    };
    let mut out = Vec::new();
    let style = Style { loud: true, unfold };
    write(value, style, &mut out)?;
    Ok(out)
}

/// The text of an item of the Collector's own lists and maps.
pub(super) fn item_text(value: &Value<'_>) -> Result<Vec<u8>, EvalError> {
    let mut out = Vec::new();
    match value {
        Value::Nil => {}
        Value::Text(text) => out.extend_from_slice(text),
        Value::Bytes(bytes) => out.extend_from_slice(STANDARD.encode(bytes).as_bytes()),
        Value::Double(value) if !value.is_finite() => out.extend_from_slice(match value {
            value if value.is_nan() => b"NaN",
            value if *value > 0.0 => b"Infinity",
            _ => b"-Infinity",
        }),
        other => {
            let style = Style {
                loud: false,
                unfold: true,
            };
            match write(other, style, &mut out) {
                Ok(()) => {}
                Err(EvalError::TooLarge(limit)) => return Err(EvalError::TooLarge(limit)),
                // What cannot be written leaves nothing, as in the Collector.
                Err(_) => out.clear(),
            }
        }
    }
    Ok(out)
}

/// The text of an attribute, as the Collector shows values of any kind; empty when there is none.
#[must_use]
pub(crate) fn attribute_text(value: AnyValue<'_>) -> Vec<u8> {
    item_text(&Value::of(value)).unwrap_or_default()
}

/// A finite double as ES6 writes it; `padded`: with at least two digits in its exponent.
fn double(value: f64, padded: bool) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) = match exponent.strip_prefix('-') {
            Some(digits) => ('-', digits),
            None => ('+', exponent),
        };
        let width = if padded { 2 } else { 1 };
        return format!("{mantissa}e{sign}{digits:0>width$}");
    }
    format!("{value}")
}

fn write(value: &Value<'_>, style: Style, out: &mut Vec<u8>) -> Written {
    match value {
        Value::Nil => out.extend_from_slice(b"null"),
        Value::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Value::Int(value) | Value::Duration(value) | Value::Port(value) => {
            out.extend_from_slice(value.to_string().as_bytes());
        }
        Value::Double(value) if value.is_finite() => {
            out.extend_from_slice(double(*value, style.loud).as_bytes())
        }
        Value::Double(_) => {
            return Err(EvalError::Invalid(
                "a double that is not finite has no text",
            ));
        }
        Value::Text(text) => quote(text, style.loud, out),
        Value::Bytes(bytes) => quote(STANDARD.encode(bytes).as_bytes(), style.loud, out),
        Value::Time(time) => quote(
            super::time_layout::rfc3339(time).as_bytes(),
            style.loud,
            out,
        ),
        Value::Id(Id::Trace(id) | Id::Profile(id)) => numbers(id, out),
        Value::Id(Id::Span(id)) => numbers(id, out),
        Value::Whole(_) => out.extend_from_slice(b"{}"),
        Value::Map(map) if style.unfold || map.is_raw() => object(map, style, out)?,
        Value::List(list) if style.unfold || list.kind() != ListKind::Plain => {
            array(list, style, out)?
        }
        Value::Map(_) | Value::List(_) => out.extend_from_slice(b"{}"),
    }
    Ok(())
}

fn numbers(bytes: &[u8], out: &mut Vec<u8>) {
    let texts: Vec<String> = bytes.iter().map(u8::to_string).collect();
    out.extend_from_slice(format!("[{}]", texts.join(",")).as_bytes());
}

fn array(list: &List<'_>, style: Style, out: &mut Vec<u8>) -> Written {
    out.push(b'[');
    for (index, item) in list.items()?.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(item, style, out)?;
        fits(out.len())?;
    }
    out.push(b']');
    Ok(())
}

fn object(map: &Map<'_>, style: Style, out: &mut Vec<u8>) -> Written {
    let entries = map.entries()?;
    let sorted: BTreeMap<&[u8], &Value<'_>> =
        entries.iter().map(|(key, value)| (&**key, value)).collect();
    out.push(b'{');
    for (index, (key, value)) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        quote(key, style.loud, out);
        out.push(b':');
        write(value, style, out)?;
        fits(out.len())?;
    }
    out.push(b'}');
    Ok(())
}

fn quote(text: &[u8], loud: bool, out: &mut Vec<u8>) {
    out.push(b'"');
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' => out.extend_from_slice(b"\\\""),
                '\\' => out.extend_from_slice(b"\\\\"),
                '\n' => out.extend_from_slice(b"\\n"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\t' => out.extend_from_slice(b"\\t"),
                '\u{8}' if !loud => out.extend_from_slice(b"\\b"),
                '\u{c}' if !loud => out.extend_from_slice(b"\\f"),
                '<' | '>' | '&' if loud => escape(character, out),
                '\u{2028}' | '\u{2029}' => escape(character, out),
                control if control < ' ' => escape(control, out),
                other => out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        if !chunk.invalid().is_empty() {
            out.extend_from_slice(b"\\ufffd");
        }
    }
    out.push(b'"');
}

fn escape(character: char, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("\\u{:04x}", u32::from(character)).as_bytes());
}
