//! Durations as Rust's `Debug` writes them (TGI): a decimal number and `ns`, `µs`, `ms` or `s`.

/// Nanoseconds, rounded; `None` when the text is no such duration.
pub(super) fn rust_duration(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?.trim();
    // Longer suffixes first: each of them ends in `s`.
    let units = [
        ("ns", 1.0),
        ("\u{b5}s", 1e3),
        ("\u{3bc}s", 1e3),
        ("us", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
    ];
    let (number, unit) = units
        .iter()
        .find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)))?;
    let plain = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = number.parse().ok().filter(|_| plain)?;
    Some(number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    #[test]
    fn reads_each_unit() {
        for (text, expected) in [
            ("1.23s", Some(1.23e9)),
            ("12.3ms", Some(12.3e6)),
            ("850.1µs", Some(850_100.0)),
            ("999ns", Some(999.0)),
            ("0ns", Some(0.0)),
            ("5", None),
            ("", None),
            ("s", None),
            ("-1s", None),
            ("1e3s", None),
            ("infs", None),
            ("1.2.3s", None),
            ("1 s", None),
        ] {
            assert_eq!(rust_duration(text.as_bytes()), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn reads_what_debug_writes(nanos in 0_u64..4_000_000_000_000) {
            let text = format!("{:?}", Duration::from_nanos(nanos));
            let read = rust_duration(text.as_bytes()).unwrap();
            #[allow(clippy::cast_precision_loss, reason = "below 2^52")]
            let expected = nanos as f64;
            prop_assert!((read - expected).abs() < 0.5, "{text}: {read}");
        }
    }
}
