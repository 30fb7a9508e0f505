//! One value under one verb of `Format`.

use super::super::error::EvalError;
use super::super::time_layout;
use super::super::value::{Id, ListKind, Value};
use super::duration;
use super::format::Flags;
use super::{fits, hex};

type Shown = Result<(), EvalError>;

/// The name of Go's type, for `%T` and for mistakes.
pub(super) fn go_type(value: &Value<'_>) -> &'static str {
    match value {
        Value::Nil => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Double(_) => "float64",
        Value::Text(_) => "string",
        Value::Bytes(_) => "[]uint8",
        Value::Duration(_) => "time.Duration",
        Value::Time(_) => "time.Time",
        Value::Id(Id::Trace(_)) => "pcommon.TraceID",
        Value::Id(Id::Span(_)) => "pcommon.SpanID",
        Value::Id(Id::Profile(_)) => "pprofile.ProfileID",
        Value::Map(map) if map.is_raw() => "map[string]interface {}",
        Value::Map(_) => "pcommon.Map",
        Value::List(list) => match list.kind() {
            ListKind::Plain => "pcommon.Slice",
            ListKind::Raw => "[]interface {}",
            ListKind::Texts => "[]string",
        },
        Value::Whole(_) => "ptrace.SpanEventSlice",
        Value::Port(_) => "int",
    }
}

/// Appends the value.
pub(super) fn show(value: &Value<'_>, verb: char, flags: Flags, out: &mut Vec<u8>) -> Shown {
    if verb == 'T' {
        text(go_type(value).as_bytes(), 's', flags, out);
        return Ok(());
    }
    match (value, verb) {
        (Value::Nil, 'v') => pad(b"<nil>", flags, out),
        (Value::Nil, _) => out.extend_from_slice(format!("%!{verb}(<nil>)").as_bytes()),
        (Value::Bool(value), 't' | 'v') => pad(value.to_string().as_bytes(), flags, out),
        (Value::Int(value) | Value::Port(value), _) if integer(*value, verb, flags, out) => {}
        (Value::Double(value), _) if double(*value, verb, flags, out) => {}
        (Value::Double(_), 'b' | 'x' | 'X') => {
            return Err(EvalError::Invalid(
                "Format writes no double in base 2 or 16",
            ));
        }
        (Value::Text(value), 's' | 'v' | 'q' | 'x' | 'X') => text(value, verb, flags, out),
        (Value::Bytes(bytes), 's' | 'q' | 'x' | 'X') => text(bytes, verb, flags, out),
        (Value::Bytes(bytes), 'v' | 'd') if !flags.sharp => {
            let items: Vec<_> = bytes
                .iter()
                .map(|byte| Value::Int(i64::from(*byte)))
                .collect();
            list(&items, 'd', flags, out)?;
        }
        (Value::Duration(nanos), 's' | 'v' | 'q') if !flags.sharp => {
            text(duration::shown(*nanos).as_bytes(), verb, flags, out);
        }
        (Value::Duration(nanos), _) if integer(*nanos, verb, flags, out) => {}
        (Value::Time(time), 's' | 'v' | 'q') if !flags.sharp => {
            text(time_layout::shown(time).as_bytes(), verb, flags, out);
        }
        (Value::Id(id), 's' | 'v' | 'q' | 'x' | 'X') if !flags.sharp => {
            identifier(*id, verb, flags, out)
        }
        (Value::List(values), _) if values.kind() != ListKind::Plain => {
            list(&values.items()?, verb, flags, out)?;
        }
        (Value::Map(_) | Value::List(_) | Value::Whole(_) | Value::Time(_) | Value::Id(_), _) => {
            pad(b"{...}", flags, out);
        }
        (value, _) => mistake(value, verb, out)?,
    }
    Ok(())
}

/// `%!d(string=x)`
fn mistake(value: &Value<'_>, verb: char, out: &mut Vec<u8>) -> Shown {
    out.extend_from_slice(format!("%!{verb}({}=", go_type(value)).as_bytes());
    show(value, 'v', Flags::default(), out)?;
    out.push(b')');
    Ok(())
}

/// The id's digits; an id of zeros has none.
fn identifier(id: Id, verb: char, flags: Flags, out: &mut Vec<u8>) {
    let bytes: &[u8] = match &id {
        Id::Trace(id) | Id::Profile(id) => id,
        Id::Span(id) => id,
    };
    let empty = bytes.iter().all(|byte| *byte == 0);
    let digits = if empty { Vec::new() } else { hex(bytes) };
    text(&digits, verb, flags, out);
}

fn list(values: &[Value<'_>], verb: char, flags: Flags, out: &mut Vec<u8>) -> Shown {
    out.push(b'[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        show(value, verb, flags, out)?;
        fits(out.len())?;
    }
    out.push(b']');
    Ok(())
}

/// Fills up to the width, which counts characters.
fn pad(shown: &[u8], flags: Flags, out: &mut Vec<u8>) {
    let length = String::from_utf8_lossy(shown).chars().count();
    let fill = flags.width.unwrap_or(0).saturating_sub(length);
    if flags.minus {
        out.extend_from_slice(shown);
        out.resize(out.len() + fill, b' ');
    } else {
        out.resize(out.len() + fill, if flags.zero { b'0' } else { b' ' });
        out.extend_from_slice(shown);
    }
}

fn text(value: &[u8], verb: char, flags: Flags, out: &mut Vec<u8>) {
    match verb {
        'x' | 'X' => {
            let cut = flags.precision.unwrap_or(value.len()).min(value.len());
            let mut shown = Vec::new();
            if flags.sharp && !flags.space && cut > 0 {
                shown.extend_from_slice(b"0x");
            }
            for (index, byte) in value.iter().take(cut).enumerate() {
                if flags.space && index > 0 {
                    shown.push(b' ');
                }
                if flags.space && flags.sharp {
                    shown.extend_from_slice(b"0x");
                }
                shown.extend(hex(&[*byte]));
            }
            if verb == 'X' {
                shown.make_ascii_uppercase();
            }
            pad(&shown, flags, out);
        }
        'q' => pad(
            quoted(truncated(value, flags), flags.plus).as_bytes(),
            flags,
            out,
        ),
        'v' if flags.sharp => pad(quoted(value, false).as_bytes(), flags, out),
        _ => pad(truncated(value, flags), flags, out),
    }
}

/// The first characters, as many as the precision says.
fn truncated(value: &[u8], flags: Flags) -> &[u8] {
    let Some(precision) = flags.precision else {
        return value;
    };
    let mut length = 0;
    let mut left = precision;
    for chunk in value.utf8_chunks() {
        for character in chunk.valid().chars() {
            if left == 0 {
                return value.get(..length).unwrap_or(value);
            }
            left -= 1;
            length += character.len_utf8();
        }
        let taken = chunk.invalid().len().min(left);
        left -= taken;
        length += taken;
        if taken < chunk.invalid().len() {
            break;
        }
    }
    value.get(..length).unwrap_or(value)
}

/// Go's quoted string; `ascii`: everything else escaped.
fn quoted(value: &[u8], ascii: bool) -> String {
    let mut out = String::from("\"");
    for chunk in value.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                '\u{7}' => out.push_str("\\a"),
                '\u{8}' => out.push_str("\\b"),
                '\u{b}' => out.push_str("\\v"),
                '\u{c}' => out.push_str("\\f"),
                c if c < ' ' || c == '\u{7f}' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
                c if ascii && u32::from(c) > 0xffff => {
                    out.push_str(&format!("\\U{:08x}", u32::from(c)))
                }
                c if ascii && !c.is_ascii() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
                c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out.push('"');
    out
}

fn integer(value: i64, verb: char, flags: Flags, out: &mut Vec<u8>) -> bool {
    let size = value.unsigned_abs();
    let (digits, prefix) = match verb {
        'd' | 'v' => (size.to_string(), ""),
        'b' => (format!("{size:b}"), "0b"),
        'o' => (format!("{size:o}"), "0"),
        'O' => (format!("{size:o}"), "0o"),
        'x' => (format!("{size:x}"), "0x"),
        'X' => (format!("{size:X}"), "0X"),
        'c' | 'q' | 'U' => {
            character(value, verb, flags, out);
            return true;
        }
        _ => return false,
    };
    let prefix = if flags.sharp || verb == 'O' {
        prefix
    } else {
        ""
    };
    let sign = match value {
        value if value < 0 => "-",
        _ if flags.plus => "+",
        _ if flags.space => " ",
        _ => "",
    };
    number(sign, prefix, digits, flags, out);
    true
}

fn character(value: i64, verb: char, flags: Flags, out: &mut Vec<u8>) {
    let character = u32::try_from(value)
        .ok()
        .and_then(char::from_u32)
        .unwrap_or('\u{fffd}');
    let shown = match verb {
        'c' => character.to_string(),
        'q' => match character {
            '\'' => "'\\''".into(),
            '"' => "'\"'".into(),
            other => {
                let text = quoted(other.to_string().as_bytes(), flags.plus);
                format!("'{}'", text.trim_matches('"'))
            }
        },
        _ if flags.sharp => format!("U+{value:04X} '{character}'"),
        _ => format!("U+{value:04X}"),
    };
    pad(
        shown.as_bytes(),
        Flags {
            zero: false,
            ..flags
        },
        out,
    );
}

fn number(sign: &str, prefix: &str, digits: String, flags: Flags, out: &mut Vec<u8>) {
    let mut digits = digits;
    let around = sign.len() + prefix.len();
    let wanted = match (flags.precision, flags.width) {
        (Some(0), _) if digits == "0" => {
            pad(
                b"",
                Flags {
                    zero: false,
                    ..flags
                },
                out,
            );
            return;
        }
        (Some(precision), _) => precision,
        (None, Some(width)) if flags.zero && !flags.minus => width.saturating_sub(around),
        _ => 0,
    };
    let fill = wanted.saturating_sub(digits.len());
    digits.insert_str(0, &"0".repeat(fill));
    let shown = format!("{sign}{prefix}{digits}");
    pad(
        shown.as_bytes(),
        Flags {
            zero: false,
            ..flags
        },
        out,
    );
}

fn double(value: f64, verb: char, flags: Flags, out: &mut Vec<u8>) -> bool {
    let size = value.abs();
    let digits = match verb {
        _ if !value.is_finite() => if value.is_nan() { "NaN" } else { "Inf" }.to_owned(),
        'f' | 'F' => format!("{size:.*}", flags.precision.unwrap_or(6)),
        'e' | 'E' => exponent(&format!("{size:.*e}", flags.precision.unwrap_or(6))),
        'v' | 'g' | 'G' => general(size, flags.precision),
        _ => return false,
    };
    let digits = if matches!(verb, 'E' | 'G') {
        digits.to_uppercase()
    } else {
        digits
    };
    let sign = match value {
        value if value.is_sign_negative() && !value.is_nan() => "-",
        _ if flags.plus || value.is_infinite() => "+",
        _ if flags.space => " ",
        _ => "",
    };
    let fill = match flags.width {
        Some(width) if flags.zero && !flags.minus && value.is_finite() => {
            width.saturating_sub(sign.len() + digits.len())
        }
        _ => 0,
    };
    let shown = format!("{sign}{}{digits}", "0".repeat(fill));
    pad(
        shown.as_bytes(),
        Flags {
            zero: false,
            ..flags
        },
        out,
    );
    true
}

/// Rust's `1e5` as Go's `1e+05`.
fn exponent(shown: &str) -> String {
    let (mantissa, exponent) = shown.split_once('e').unwrap_or((shown, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// `%g`: the shortest digits, or as many as the precision says; an exponent below 1e-4 and from 1e6 or the precision on.
fn general(size: f64, precision: Option<usize>) -> String {
    let shown = match precision {
        Some(precision) => format!("{size:.*e}", precision.max(1) - 1),
        None => format!("{size:e}"),
    };
    let (mantissa, power) = shown.split_once('e').unwrap_or((&shown, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let mantissa = match precision {
        Some(_) if mantissa.contains('.') => mantissa.trim_end_matches('0').trim_end_matches('.'),
        _ => mantissa,
    };
    let top = precision.map_or(6, |precision| {
        i32::try_from(precision.max(1)).unwrap_or(i32::MAX)
    });
    if power < -4 || power >= top {
        return exponent(&format!("{mantissa}e{power}"));
    }
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let places = i32::try_from(digits).unwrap_or(0) - 1 - power;
    match precision {
        Some(_) => format!("{size:.*}", usize::try_from(places).unwrap_or(0)),
        None => format!("{size}"),
    }
}
