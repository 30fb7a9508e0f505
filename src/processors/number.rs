//! Numbers in texts, as Go's `strconv` reads and writes them.

/// `strconv.ParseFloat`, but for hexadecimal digits; `None` where it gives an error, numbers out of range among them.
pub(super) fn double(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let value: f64 = text.parse().ok()?;
    let overflow = value.is_infinite() && text.bytes().any(|byte| byte.is_ascii_digit());
    (!overflow).then_some(value)
}

/// `strconv.ParseInt` with base 10.
pub(super) fn int(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Go's conversion on the usual processors: what is out of range is the smallest int.
pub(super) fn truncated(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) {
        #[allow(clippy::cast_possible_truncation, reason = "in range by the check")]
        return value as i64;
    }
    i64::MIN
}

/// The nearest double.
pub(super) fn widened(value: i64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "as Go converts")]
    let value = value as f64;
    value
}

/// `strconv.FormatFloat` with the format `f` and as many digits as it needs.
pub(super) fn plain(value: f64) -> String {
    match value {
        value if value == f64::INFINITY => "+Inf".to_owned(),
        value if value == f64::NEG_INFINITY => "-Inf".to_owned(),
        value => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_go() {
        let check = |text: &str, expected: Option<f64>| {
            assert_eq!(double(text.as_bytes()), expected, "{text}");
        };
        check("1", Some(1.0));
        check("-.5e1", Some(-5.0));
        check("+1.", Some(1.0));
        check("inf", Some(f64::INFINITY));
        check("-Infinity", Some(f64::NEG_INFINITY));
        check("1e400", None);
        check(" 1", None);
        check("", None);
        check("1_000", None);
        assert!(double(b"NaN").is_some_and(f64::is_nan));
        let check = |text: &str, expected| assert_eq!(int(text.as_bytes()), expected, "{text}");
        check("+5", Some(5));
        check("-9223372036854775808", Some(i64::MIN));
        check("9223372036854775808", None);
        check("5.0", None);
    }

    #[test]
    fn cuts_off_as_go() {
        let check = |value, expected| assert_eq!(truncated(value), expected, "{value}");
        check(1.9, 1);
        check(-1.9, -1);
        check(1e19, i64::MIN);
        check(f64::NAN, i64::MIN);
        check(-9_223_372_036_854_775_808.0, i64::MIN);
    }

    #[test]
    fn writes_without_an_exponent() {
        let check = |value, expected: &str| assert_eq!(plain(value), expected);
        check(1.0, "1");
        check(1e21, "1000000000000000000000");
        check(0.000_000_1, "0.0000001");
        check(f64::INFINITY, "+Inf");
        check(f64::NAN, "NaN");
    }
}
