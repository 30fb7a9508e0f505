//! Values to numbers, whatever type they came in: ints as doubles or texts, bools as words, times in any unit.

use super::anomaly::Anomaly;
use super::fold_text::{Folded, unquoted};
use super::words::Form;
use crate::otlp::AnyValue;

/// More tokens than any context holds.
const MOST_TOKENS: f64 = 1e8;
/// More nanoseconds than any call takes: eleven days.
const MOST_NANOS: f64 = 1e15;

/// A finite number.
pub(super) fn number(value: AnyValue<'_>) -> Result<f64, Anomaly> {
    #[allow(
        clippy::cast_precision_loss,
        reason = "beyond 2^52 every number that is asked for is too large"
    )]
    let number = match value {
        AnyValue::Int(number) => number as f64,
        AnyValue::Double(number) => number,
        AnyValue::Str(text) => std::str::from_utf8(unquoted(text))
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or(Anomaly::Malformed)?,
        _ => return Err(Anomaly::Malformed),
    };
    if number.is_finite() {
        Ok(number)
    } else {
        Err(Anomaly::Malformed)
    }
}

/// A count of tokens.
pub(super) fn tokens(value: AnyValue<'_>) -> Result<u32, Anomaly> {
    let number = number(value)?;
    if number < 0.0 {
        Err(Anomaly::Negative)
    } else if number > MOST_TOKENS {
        Err(Anomaly::TooLarge)
    } else {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        Ok(number.round() as u32)
    }
}

/// A number of nanoseconds that a call can take.
pub(super) fn nanos(number: f64) -> Result<u64, Anomaly> {
    if number < 0.0 {
        Err(Anomaly::Negative)
    } else if number > MOST_NANOS {
        Err(Anomaly::TooLarge)
    } else {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        Ok(number.round() as u64)
    }
}

/// A time by the unit that `form` names.
pub(super) fn time(form: Form, value: AnyValue<'_>, start: u64) -> Result<u64, Anomaly> {
    let unit = match form {
        Form::S => 1e9,
        Form::Ms => 1e6,
        Form::Us => 1e3,
        Form::Ns => 1.0,
        Form::Rate => {
            let rate = number(value)?;
            return if rate == 0.0 {
                Err(Anomaly::Malformed)
            } else {
                nanos(1e9 / rate)
            };
        }
        Form::Rust => {
            let AnyValue::Str(text) = value else {
                return Err(Anomaly::Malformed);
            };
            return nanos(super::rust_duration::rust_duration(text).ok_or(Anomaly::Malformed)?);
        }
        Form::Iso => return since(value, start),
        _ => return Err(Anomaly::Malformed),
    };
    nanos(number(value)? * unit)
}

/// From `start` to a timestamp of RFC 3339.
fn since(value: AnyValue<'_>, start: u64) -> Result<u64, Anomaly> {
    let AnyValue::Str(text) = value else {
        return Err(Anomaly::Malformed);
    };
    let at: jiff::Timestamp = std::str::from_utf8(unquoted(text))
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(Anomaly::Malformed)?;
    let nanos = at.as_nanosecond() - i128::from(start);
    if nanos < 0 {
        return Err(Anomaly::Negative);
    }
    u64::try_from(nanos).map_err(|_| Anomaly::TooLarge)
}

/// A bool, or a word for one.
pub(super) fn boolean(value: AnyValue<'_>) -> Result<bool, Anomaly> {
    match value {
        AnyValue::Bool(value) => Ok(value),
        AnyValue::Int(0) => Ok(false),
        AnyValue::Int(1) => Ok(true),
        AnyValue::Str(text) => match Folded::of(unquoted(text)).as_ref().map(Folded::as_bytes) {
            Some(b"true" | b"1") => Ok(true),
            Some(b"false" | b"0") => Ok(false),
            _ => Err(Anomaly::Malformed),
        },
        _ => Err(Anomaly::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_in_any_type() {
        use AnyValue as V;
        for (value, expected) in [
            (V::Int(57), Ok(57)),
            (V::Double(57.0), Ok(57)),
            (V::Str(b"57"), Ok(57)),
            (V::Str(b"\"57\""), Ok(57)),
            (V::Str(b"57.0"), Ok(57)),
            (V::Int(0), Ok(0)),
            (V::Int(-1), Err(Anomaly::Negative)),
            (V::Int(100_000_000), Ok(100_000_000)),
            (V::Int(100_000_001), Err(Anomaly::TooLarge)),
            (V::Int(i64::MAX), Err(Anomaly::TooLarge)),
            (V::Double(f64::NAN), Err(Anomaly::Malformed)),
            (V::Str(b"inf"), Err(Anomaly::Malformed)),
            (V::Str(b"many"), Err(Anomaly::Malformed)),
            (V::Bool(true), Err(Anomaly::Malformed)),
            (V::Empty, Err(Anomaly::Malformed)),
        ] {
            assert_eq!(tokens(value), expected, "{value:?}");
        }
    }

    #[test]
    fn times_come_in_any_unit() {
        use AnyValue as V;
        let start = 1_700_000_000_000_000_000;
        for (form, value, expected) in [
            (Form::S, V::Double(0.25), Ok(250_000_000)),
            (Form::S, V::Str(b"0.25"), Ok(250_000_000)),
            (Form::Ms, V::Int(300), Ok(300_000_000)),
            (Form::Us, V::Int(3), Ok(3_000)),
            (Form::Ns, V::Int(42), Ok(42)),
            (Form::S, V::Double(-48.0), Err(Anomaly::Negative)),
            (Form::S, V::Double(1e7), Err(Anomaly::TooLarge)),
            (Form::Rate, V::Double(50.0), Ok(20_000_000)),
            (Form::Rate, V::Int(0), Err(Anomaly::Malformed)),
            (Form::Rust, V::Str("850.1µs".as_bytes()), Ok(850_100)),
            (Form::Rust, V::Int(1), Err(Anomaly::Malformed)),
            (
                Form::Iso,
                V::Str(b"2023-11-14T22:13:20.5Z"),
                Ok(500_000_000),
            ),
            (
                Form::Iso,
                V::Str(b"\"2023-11-14T23:13:20.5+01:00\""),
                Ok(500_000_000),
            ),
            (
                Form::Iso,
                V::Str(b"2023-11-14T22:13:19Z"),
                Err(Anomaly::Negative),
            ),
            (Form::Iso, V::Str(b"yesterday"), Err(Anomaly::Malformed)),
        ] {
            assert_eq!(time(form, value, start), expected, "{form:?} {value:?}");
        }
    }

    #[test]
    fn bools_come_as_words() {
        use AnyValue as V;
        for (value, expected) in [
            (V::Bool(true), Some(true)),
            (V::Str(b"True"), Some(true)),
            (V::Str(b"\"false\""), Some(false)),
            (V::Int(1), Some(true)),
            (V::Str(b"maybe"), None),
            (V::Int(2), None),
        ] {
            assert_eq!(boolean(value).ok(), expected, "{value:?}");
        }
    }
}
