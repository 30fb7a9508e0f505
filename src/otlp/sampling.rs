//! Consistent probability sampling (OpenTelemetry specification, "TraceState: Probability Sampling"): thresholds,
//! randomness, and their place in a W3C tracestate.
//!
//! A threshold is a number of 56 bits: a trace is kept when its randomness is at or above it. 0 keeps all; 2^56 none.

use super::TraceId;

/// Keeps every trace.
pub(crate) const ALWAYS: u64 = 0;
/// Keeps none.
pub(crate) const NEVER: u64 = 1 << 56;

/// The threshold of a share from 0 to 1, in full precision as the Collector writes it (not rounded to fewer digits).
#[must_use]
pub(crate) fn threshold_of(share: f64) -> u64 {
    if share >= 1.0 {
        return ALWAYS;
    }
    #[allow(clippy::cast_precision_loss, reason = "a power of two")]
    let scaled = share * NEVER as f64;
    if scaled.is_nan() || scaled < 1.0 {
        return NEVER;
    }
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and 2^56"
    )]
    let kept = scaled.round() as u64;
    NEVER - kept
}

/// The threshold of a share in so many hexadecimal digits, and one more for each that is 0 or f in front: so the Collector
/// keeps the error small in proportion. `None` when the share is not from 2^-56 to 1.
#[must_use]
pub(crate) fn threshold_with_precision(share: f64, digits: u32) -> Option<u64> {
    if !(share_of(NEVER - 1)..=1.0).contains(&share) {
        return None;
    }
    let exact = threshold_of(share);
    if exact == ALWAYS {
        return Some(ALWAYS);
    }
    let digits = digits + leading_digits(share).max(leading_digits(1.0 - share));
    let shift = 4 * 14_u32.saturating_sub(digits);
    if shift == 0 {
        return Some(exact);
    }
    Some(((exact + (1 << (shift - 1))) >> shift) << shift)
}

/// Whole hexadecimal zeros in front of a number up to 1.
fn leading_digits(value: f64) -> u32 {
    // The exponent that makes the mantissa 0.5 to 1.
    let exponent = i64::from((value.to_bits() >> 52) as u32 & 0x7ff) - 1022;
    u32::try_from(-exponent / 4).unwrap_or(0)
}

/// The share that a threshold keeps, 0 to 1.
#[must_use]
pub(crate) fn share_of(threshold: u64) -> f64 {
    #[allow(
        clippy::cast_precision_loss,
        reason = "56 bits; the first 53 are enough"
    )]
    let share = NEVER.saturating_sub(threshold) as f64 / NEVER as f64;
    share
}

/// The randomness that a trace id carries: its lowest 56 bits.
#[must_use]
pub(crate) fn randomness_of(trace: TraceId) -> u64 {
    let bytes = trace.to_bytes();
    bytes
        .iter()
        .skip(9)
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// The sampling fields of one tracestate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SamplingState {
    /// `rv`: explicit randomness.
    pub randomness: Option<u64>,
    /// `th`: the threshold applied so far.
    pub threshold: Option<u64>,
}

/// `rv`: exactly 14 hexadecimal digits. Upper-case ones are out of form, and the Collector reads them all the same.
pub(crate) fn parse_randomness(text: &str) -> Option<u64> {
    (text.len() == 14).then(|| hex(text)).flatten()
}

/// `th`: 1 to 14 hexadecimal digits, the leading ones of 14.
pub(crate) fn parse_threshold(text: &str) -> Option<u64> {
    let missing = 14_usize.checked_sub(text.len())?;
    if text.is_empty() {
        return None;
    }
    Some(hex(text)? << (4 * missing))
}

/// The digits of a threshold, without trailing zeros.
pub(crate) fn threshold_digits(threshold: u64) -> String {
    let digits = format!("{threshold:014x}");
    let short = digits.trim_end_matches('0');
    if short.is_empty() {
        "0".to_owned()
    } else {
        short.to_owned()
    }
}

fn hex(text: &str) -> Option<u64> {
    text.bytes().try_fold(0, |value, byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ => return None,
        };
        Some(value << 4 | u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_the_collectors() {
        let cases = [
            (50.0, "8"),
            (25.0, "c"),
            (33.3, "aac083126e979"),
            (10.0, "e6666666666666"),
            (1.0, "fd70a3d70a3d71"),
            (99.0, "028f5c28f5c29"),
            (99.999, "0000a7c5ac472"),
            (0.1, "ffbe76c8b43958"),
            (0.01, "fff972474538ef"),
            (0.0001, "ffffef39085f4a"),
            (100.0, "0"),
        ];
        for (percent, expected) in cases {
            let share: f64 = percent / 100.0;
            let threshold = threshold_of(share);
            assert_eq!(threshold_digits(threshold), expected, "{share}");
            assert_eq!(parse_threshold(expected), Some(threshold), "{share}");
            assert!(
                (share_of(threshold) - share).abs() < 1e-16 + share * 1e-9,
                "{share}"
            );
        }
        assert_eq!(threshold_of(0.0), NEVER);
        assert_eq!(threshold_of(f64::NAN), NEVER);
        assert_eq!(threshold_of(1e-18), NEVER);
        assert_eq!(threshold_of(2.0), ALWAYS);
    }

    /// As `tests/data/processors` has them from the Collector.
    #[test]
    fn precision_counts_what_is_behind_the_first_digits() {
        let check = |share: f64, digits, expected: &str| {
            let threshold = threshold_with_precision(share, digits).unwrap();
            assert_eq!(threshold_digits(threshold), expected, "{share} in {digits}");
        };
        check(1.0, 4, "0");
        check(0.5, 4, "8");
        check(1.0 / 3.0, 4, "aaab");
        check(1.0 / 3.0, 3, "aab");
        check(1.0 / 3.0, 14, "aaaaaaaaaaaaac");
        check(0.01, 4, "fd70a");
        check(0.99, 4, "028f6");
        for share in [0.0, 1e-20, 1.1, f64::NAN] {
            assert_eq!(threshold_with_precision(share, 4), None, "{share}");
        }
    }

    #[test]
    fn refuses_what_is_out_of_form() {
        for text in ["", "xyz", "g", "123456789abcdef", "-1", "+1"] {
            assert_eq!(parse_threshold(text), None, "{text}");
        }
        for text in ["", "8", "ffffffffffffff0", "0xffffffffffff"] {
            assert_eq!(parse_randomness(text), None, "{text}");
        }
        for text in ["ffffffffffffff", "FFFFFFFFFFFFFF"] {
            assert_eq!(parse_randomness(text), Some(NEVER - 1));
        }
    }

    #[test]
    fn randomness_is_the_low_half() {
        let trace = TraceId::from_slice(&[
            0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e,
            0x47, 0x36,
        ]);
        assert_eq!(trace.map(randomness_of), Some(0x00ce_929d_0e0e_4736));
    }
}
