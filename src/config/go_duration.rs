//! Durations as Go writes them: `1h2m3.5s`, `300ms`, `1us`, `0`.

use std::time::Duration;

/// Why a text is no duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadDuration {
    Syntax,
    NoUnit,
    Negative,
    TooLong,
}

/// Longest that Go's signed nanoseconds hold.
const MAX_NANOS: u128 = i64::MAX as u128;

/// Reads a duration; `-0s` is zero.
pub(crate) fn parse(text: &str) -> Result<Duration, BadDuration> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    let mut total: u128 = 0;
    while !rest.is_empty() || total == 0 {
        let (nanos, after) = component(rest)?;
        total = total
            .checked_add(nanos)
            .filter(|sum| *sum <= MAX_NANOS)
            .ok_or(BadDuration::TooLong)?;
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    if negative && total > 0 {
        return Err(BadDuration::Negative);
    }
    Ok(Duration::from_nanos(
        u64::try_from(total).map_err(|_| BadDuration::TooLong)?,
    ))
}

/// One number and its unit, in nanoseconds, and what follows.
fn component(text: &str) -> Result<(u128, &str), BadDuration> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    if whole.is_empty() && fraction.is_empty() {
        return Err(BadDuration::Syntax);
    }
    let unit_len = rest
        .find(|c: char| c.is_ascii_digit() || c == '.')
        .unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(unit_len);
    let nanos = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "" => return Err(BadDuration::NoUnit),
        _ => return Err(BadDuration::Syntax),
    };
    let number = |text: &str| {
        if text.is_empty() {
            Some(0)
        } else {
            text.parse::<u128>().ok()
        }
    };
    let whole = number(whole)
        .and_then(|n| n.checked_mul(nanos))
        .ok_or(BadDuration::TooLong)?;
    // 18 digits of a fraction are beyond a nanosecond of an hour.
    let fraction = fraction.get(..fraction.len().min(18)).unwrap_or_default();
    let scale = 10_u128.pow(u32::try_from(fraction.len()).unwrap_or(0));
    let part = number(fraction)
        .and_then(|n| n.checked_mul(nanos))
        .ok_or(BadDuration::TooLong)?
        / scale;
    Ok((whole.saturating_add(part), rest))
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_go_reads() {
        let check = |text: &str, expected: Result<u64, BadDuration>| {
            assert_eq!(parse(text), expected.map(Duration::from_nanos), "{text}");
        };
        check("30s", Ok(30_000_000_000));
        check("1h2m3.5s", Ok(3_723_500_000_000));
        check("300ms", Ok(300_000_000));
        check("1us", Ok(1_000));
        check("1µs", Ok(1_000));
        check(".5s", Ok(500_000_000));
        check("1.s", Ok(1_000_000_000));
        check("1.0000000001s", Ok(1_000_000_000));
        check("0", Ok(0));
        check("0s", Ok(0));
        check("-0s", Ok(0));
        check("+5s", Ok(5_000_000_000));
        check("-5s", Err(BadDuration::Negative));
        check("5", Err(BadDuration::NoUnit));
        check("1h5", Err(BadDuration::NoUnit));
        check("", Err(BadDuration::Syntax));
        check("soon", Err(BadDuration::Syntax));
        check("s", Err(BadDuration::Syntax));
        check(".s", Err(BadDuration::Syntax));
        check("5 s", Err(BadDuration::Syntax));
        check("1d", Err(BadDuration::Syntax));
        check("3000000h", Err(BadDuration::TooLong));
        check(
            "99999999999999999999999999999999999999999999s",
            Err(BadDuration::TooLong),
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in "[-+0-9.hmsnuµ ]{0,40}") {
            let _ = parse(&text);
        }

        #[test]
        fn sums_its_parts(h in 0u64..1000, m in 0u64..10_000, s in 0u64..10_000, ms in 0u64..10_000) {
            let expected = Duration::from_millis(((h * 60 + m) * 60 + s) * 1000 + ms);
            prop_assert_eq!(parse(&format!("{h}h{m}m{s}s{ms}ms")), Ok(expected));
        }
    }
}
