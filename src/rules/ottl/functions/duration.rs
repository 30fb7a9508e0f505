//! Durations: Go's notation, and how long they are in other units.

use super::super::compare::as_double;
use super::super::convert::truncated;
use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::Call;
use super::super::value::{Out, Value};

const BROKEN: EvalError = EvalError::Invalid("a text is no duration");

pub(super) fn duration<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let text = call.text(scene, 0)?;
    let text = std::str::from_utf8(&text).map_err(|_| BROKEN)?;
    parse(text).map(Value::Duration)
}

/// `1h2m3.5s`, with a sign before it; `0` needs no unit.
fn parse(text: &str) -> Result<i64, EvalError> {
    let (negative, mut rest) = match text.strip_prefix(['+', '-']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(BROKEN);
    }
    let mut sum = 0_u64;
    while !rest.is_empty() {
        let number = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or(BROKEN)?;
        let (digits, after) = rest.split_at(number);
        let unit_end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let part = part(digits, unit_of(unit).ok_or(BROKEN)?).ok_or(BROKEN)?;
        sum = sum
            .checked_add(part)
            .filter(|sum| *sum <= LIMIT)
            .ok_or(BROKEN)?;
        rest = after;
    }
    if negative {
        return Ok(sum.wrapping_neg().cast_signed());
    }
    i64::try_from(sum).map_err(|_| BROKEN)
}

/// 2^63 nanoseconds.
const LIMIT: u64 = 1 << 63;

fn unit_of(unit: &str) -> Option<i64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// Digits before the dot are exact, those behind it go through a double, as in Go.
fn part(digits: &str, unit: i64) -> Option<u64> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let nanos = whole
        .checked_mul(unit.unsigned_abs())
        .filter(|nanos| *nanos <= LIMIT)?;
    let (mut parts, mut scale) = (0_i64, 1.0);
    for digit in fraction.bytes() {
        // What does not fit 63 bits any more is below what counts.
        let Some(more) = parts
            .checked_mul(10)
            .and_then(|parts| parts.checked_add(i64::from(digit - b'0')))
        else {
            break;
        };
        parts = more;
        scale *= 10.0;
    }
    let fraction = truncated(as_double(parts) * (as_double(unit) / scale));
    nanos.checked_add(fraction.unsigned_abs())
}

/// Whole units and the rest as a fraction, as Go computes it.
fn in_units<'a>(scene: &Scene<'a>, call: &'a Call, unit: i64) -> Out<'a> {
    let nanos = call.duration(scene, 0)?;
    let (whole, rest) = (nanos / unit, nanos % unit);
    Ok(Value::Double(
        as_double(whole) + as_double(rest) / as_double(unit),
    ))
}

pub(super) fn hours<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    in_units(scene, call, 3_600_000_000_000)
}

pub(super) fn minutes<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    in_units(scene, call, 60_000_000_000)
}

pub(super) fn seconds<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    in_units(scene, call, 1_000_000_000)
}

fn whole<'a>(scene: &Scene<'a>, call: &'a Call, unit: i64) -> Out<'a> {
    Ok(Value::Int(call.duration(scene, 0)? / unit))
}

pub(super) fn milliseconds<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    whole(scene, call, 1_000_000)
}

pub(super) fn microseconds<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    whole(scene, call, 1_000)
}

pub(super) fn nanoseconds<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    whole(scene, call, 1)
}

/// As Go shows a duration: `1h2m3.5s`, `1.5ms`, `0s`.
pub(super) fn shown(nanos: i64) -> String {
    let size = nanos.unsigned_abs();
    let sign = if nanos < 0 { "-" } else { "" };
    let fraction = |value: u64, unit: u64| {
        let digits = unit.ilog10() as usize;
        let rest = format!("{:0digits$}", value % unit);
        let rest = rest.trim_end_matches('0');
        let dot = if rest.is_empty() || unit == 1 {
            ""
        } else {
            "."
        };
        format!("{}{dot}{}", value / unit, if unit == 1 { "" } else { rest })
    };
    match size {
        0 => "0s".into(),
        1..=999 => format!("{sign}{size}ns"),
        1_000..=999_999 => format!("{sign}{}µs", fraction(size, 1_000)),
        1_000_000..=999_999_999 => format!("{sign}{}ms", fraction(size, 1_000_000)),
        _ => {
            let (minutes, rest) = (size / 60_000_000_000, size % 60_000_000_000);
            let seconds = fraction(rest, 1_000_000_000);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}
