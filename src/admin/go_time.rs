//! Times as Go prints them in JSON, for readers of the Collector's health page.

use std::time::Duration;

/// A time of the wall clock in RFC 3339, nanoseconds since the Unix epoch.
pub(super) fn rfc3339(unix: u64) -> String {
    let time = jiff::Timestamp::from_nanosecond(i128::from(unix));
    time.map(|time| time.to_string()).unwrap_or_default()
}

/// `1h2m3.5s`; below a second in milliseconds, `12.5ms`.
pub(super) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds == 0 {
        return format!("{}ms", duration.as_secs_f64() * 1000.0);
    }
    let fraction = f64::from(duration.subsec_millis()) / 1000.0;
    let rest = f64::from(u32::try_from(seconds % 60).unwrap_or_default()) + fraction;
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => format!("{rest}s"),
        (0, minutes) => format!("{minutes}m{rest}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{rest}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let check =
            |millis, expected| assert_eq!(duration(Duration::from_millis(millis)), expected);
        check(0, "0ms");
        check(12, "12ms");
        check(1500, "1.5s");
        check(60_000, "1m0s");
        check(3_723_250, "1h2m3.25s");
        check(90_000_000, "25h0m0s");
    }

    #[test]
    fn times() {
        assert_eq!(rfc3339(1_700_000_000_500_000_000), "2023-11-14T22:13:20.5Z");
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
    }
}
