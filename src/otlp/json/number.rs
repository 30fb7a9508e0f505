//! Numbers as JSON senders write them: bare, as strings, as integral floats, `"NaN"` and its kin.

/// A number before its field says what it must fit into.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Unsigned(u64),
    Negative(i64),
    Float(f64),
}

/// 2^63 and 2^64, the first values that do not fit.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_64: f64 = 18_446_744_073_709_551_616.0;

impl Number {
    /// The number in a JSON string.
    pub(super) fn in_text(text: &str) -> Option<Self> {
        match text {
            "NaN" => return Some(Self::Float(f64::NAN)),
            "Infinity" => return Some(Self::Float(f64::INFINITY)),
            "-Infinity" => return Some(Self::Float(f64::NEG_INFINITY)),
            _ => {}
        }
        if let Ok(value) = text.parse() {
            return Some(Self::Unsigned(value));
        }
        if let Ok(value) = text.parse() {
            return Some(Self::Negative(value));
        }
        // Rust also parses "inf" and "nan" in any case; JSON knows them only as above.
        let digits = text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        let value: f64 = text.parse().ok().filter(|_| digits)?;
        value.is_finite().then_some(Self::Float(value))
    }

    pub(super) fn as_u64(self) -> Option<u64> {
        match self {
            Self::Unsigned(value) => Some(value),
            Self::Negative(value) => u64::try_from(value).ok(),
            Self::Float(value) => {
                (value.fract() == 0.0 && (0.0..TWO_64).contains(&value)).then_some(value as u64)
            }
        }
    }

    pub(super) fn as_i64(self) -> Option<i64> {
        match self {
            Self::Unsigned(value) => i64::try_from(value).ok(),
            Self::Negative(value) => Some(value),
            Self::Float(value) => {
                (value.fract() == 0.0 && (-TWO_63..TWO_63).contains(&value)).then_some(value as i64)
            }
        }
    }

    pub(super) fn as_u32(self) -> Option<u32> {
        self.as_u64().and_then(|value| u32::try_from(value).ok())
    }

    pub(super) fn as_f64(self) -> f64 {
        match self {
            Self::Unsigned(value) => value as f64,
            Self::Negative(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}
