//! Protobuf to OTLP/JSON as the Collector's `file` and `debug` exporters write it.
//!
//! Invariants: fields come in the order of the schema whatever the order on the wire; the last of several scalars wins
//! and messages merge, as protobuf says; invalid UTF-8 is replaced; depth is bounded; never a panic.

use super::error::PrintError;
use super::schema::{Count, Field, Kind, Message, request_of};
use crate::otlp::Signal;
use crate::otlp::fields::{BrokenWire, Fields, WireValue};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;
use std::fmt::Write;

/// As deep as prost reads.
const MAX_DEPTH: u32 = 100;

/// One request of a signal as a line of OTLP/JSON, without the line's end.
///
/// # Errors
/// [`PrintError`] when the bytes are no such request; nothing is printed then.
pub fn to_json_as(signal: Signal, request: &[u8]) -> Result<String, PrintError> {
    let mut out = String::with_capacity(request.len().saturating_mul(2));
    print_message(&mut out, request_of(signal), request, MAX_DEPTH)?;
    Ok(out)
}

/// An `ExportTraceServiceRequest`.
#[cfg(test)]
pub(crate) fn to_json(request: &[u8]) -> Result<String, PrintError> {
    to_json_as(Signal::Traces, request)
}

/// A field that the schema knows, with its place in it.
type Entry<'a> = (usize, WireValue<'a>);

fn print_message(
    out: &mut String,
    message: &'static Message,
    bytes: &[u8],
    depth: u32,
) -> Result<(), PrintError> {
    let depth = depth.checked_sub(1).ok_or(PrintError::TooDeep)?;
    let mut entries = known_fields(message, bytes)?;
    if message.oneof {
        keep_last_member(&mut entries);
    } else {
        // Stable: elements keep their order.
        entries.sort_by_key(|(place, _)| *place);
    }
    out.push('{');
    let mut first = true;
    let mut rest = entries.as_slice();
    for (place, field) in message.fields.iter().enumerate() {
        let (here, after) =
            rest.split_at(rest.iter().take_while(|(found, _)| *found == place).count());
        rest = after;
        if is_absent(field, here, message.oneof) {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        push(out, format_args!("\"{}\":", field.camel));
        match field.count {
            Count::Repeated => print_elements(out, field, here, depth)?,
            Count::Optional | Count::Always => print_one(out, field, here, depth)?,
        }
    }
    out.push('}');
    Ok(())
}

fn known_fields<'a>(
    message: &'static Message,
    bytes: &'a [u8],
) -> Result<Vec<Entry<'a>>, BrokenWire> {
    let mut entries = Vec::new();
    for field in Fields::of(bytes) {
        let (number, value) = field?;
        if let Some(place) = message
            .fields
            .iter()
            .position(|field| field.number == number)
        {
            entries.push((place, value));
        }
    }
    Ok(entries)
}

/// Of a `oneof`: the member that came last, with what it merges with.
fn keep_last_member(entries: &mut Vec<Entry<'_>>) {
    let last = entries.last().map(|(place, _)| *place);
    let merged = entries
        .iter()
        .rev()
        .take_while(|(place, _)| Some(*place) == last)
        .count();
    entries.drain(..entries.len() - merged);
}

fn is_absent(field: &Field, values: &[Entry<'_>], oneof: bool) -> bool {
    match (values.last(), field.count) {
        (None, Count::Always) => false,
        (None, _) => true,
        (Some(_), Count::Repeated | Count::Always) => false,
        (Some((_, value)), Count::Optional) => {
            !oneof
                && matches!(
                    value,
                    WireValue::Varint(0)
                        | WireValue::Fixed64(0)
                        | WireValue::Fixed32(0)
                        | WireValue::Bytes([])
                )
        }
    }
}

fn print_elements(
    out: &mut String,
    field: &Field,
    values: &[Entry<'_>],
    depth: u32,
) -> Result<(), PrintError> {
    out.push('[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        print_one(out, field, std::slice::from_ref(value), depth)?;
    }
    out.push(']');
    Ok(())
}

fn print_one(
    out: &mut String,
    field: &Field,
    values: &[Entry<'_>],
    depth: u32,
) -> Result<(), PrintError> {
    if let Kind::Message(message) = field.kind {
        return print_message(out, message, &merged(values)?, depth);
    }
    let (_, value) = values.last().ok_or(BrokenWire)?;
    print_scalar(out, field.kind, value)?;
    Ok(())
}

/// Protobuf merges messages by reading them one after the other.
fn merged<'a>(values: &[Entry<'a>]) -> Result<Cow<'a, [u8]>, BrokenWire> {
    let mut whole = Cow::Borrowed(&[][..]);
    for (_, value) in values {
        let WireValue::Bytes(bytes) = value else {
            return Err(BrokenWire);
        };
        if whole.is_empty() {
            whole = Cow::Borrowed(bytes);
        } else {
            whole.to_mut().extend_from_slice(bytes);
        }
    }
    Ok(whole)
}

fn print_scalar(out: &mut String, kind: Kind, value: &WireValue<'_>) -> Result<(), BrokenWire> {
    match (kind, *value) {
        (Kind::Id, WireValue::Bytes(bytes)) => {
            out.push('"');
            bytes
                .iter()
                .for_each(|byte| push(out, format_args!("{byte:02x}")));
            out.push('"');
        }
        (Kind::Text, WireValue::Bytes(bytes)) => print_text(out, &String::from_utf8_lossy(bytes)),
        (Kind::Base64, WireValue::Bytes(bytes)) => {
            push(out, format_args!("\"{}\"", STANDARD.encode(bytes)))
        }
        (Kind::Bool, WireValue::Varint(value)) => push(out, format_args!("{}", value != 0)),
        (Kind::Double, WireValue::Fixed64(bits)) => print_double(out, f64::from_bits(bits)),
        (Kind::Int64, WireValue::Varint(value)) => {
            push(out, format_args!("\"{}\"", value.cast_signed()))
        }
        (Kind::Fixed64, WireValue::Fixed64(value)) => push(out, format_args!("\"{value}\"")),
        // Protobuf reads 32-bit varints by cutting them off.
        (Kind::Uint32, WireValue::Varint(value)) => push(out, format_args!("{}", value as u32)),
        (Kind::Enum(_), WireValue::Varint(value)) => push(out, format_args!("{}", value as i32)),
        (Kind::Fixed32, WireValue::Fixed32(value)) => push(out, format_args!("{value}")),
        _ => return Err(BrokenWire),
    }
    Ok(())
}

fn print_text(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(text.get(plain..at).unwrap_or_default());
        plain = at + 1;
        match short {
            "" => push(out, format_args!("\\u{byte:04x}")),
            escape => out.push_str(escape),
        }
    }
    out.push_str(text.get(plain..).unwrap_or_default());
    out.push('"');
}

/// The shortest digits that read back the same, with an exponent where Go writes one.
fn print_double(out: &mut String, value: f64) {
    if value.is_nan() {
        out.push_str("\"NaN\"");
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 {
            "\"Infinity\""
        } else {
            "\"-Infinity\""
        });
    } else if value != 0.0 && !(1e-6..1e21).contains(&value.abs()) {
        let digits = format!("{value:e}");
        out.push_str(&if value.abs() >= 1e21 {
            digits.replacen('e', "e+", 1)
        } else {
            digits
        });
    } else {
        push(out, format_args!("{value}"));
    }
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(text);
}
