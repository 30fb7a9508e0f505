//! `Retry-After`: seconds or a date (RFC 9110, 10.2.3).

use super::transport::LONGEST_ASKED_DELAY;
use crate::clock::Nanos;
use http::HeaderMap;
use std::time::{Duration, UNIX_EPOCH};

/// The delay that an answer asks for, counted from `now` (Unix nanoseconds). `None` where it is missing, past or
/// malformed.
pub(crate) fn retry_after(headers: &HeaderMap, now: Nanos) -> Option<Duration> {
    let text = headers
        .get(http::header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim();
    let delay = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let date = httpdate::parse_http_date(text).ok()?;
            date.duration_since(UNIX_EPOCH)
                .ok()?
                .checked_sub(Duration::from_nanos(now))?
        }
    };
    Some(delay.min(LONGEST_ASKED_DELAY)).filter(|delay| !delay.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;

    #[test]
    fn both_forms() {
        // Sun, 06 Nov 1994 08:49:37 GMT
        let now = 784_111_777 * SECOND;
        let check = |text: &'static str, expected: Option<u64>| {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", http::HeaderValue::from_static(text));
            assert_eq!(
                retry_after(&headers, now),
                expected.map(Duration::from_secs),
                "{text}"
            );
        };
        check("7", Some(7));
        check(" 7 ", Some(7));
        check("0", None);
        check("-1", None);
        check("1.5", None);
        check("soon", None);
        check("", None);
        check("99999999999999999999", None);
        check("18446744073709551615", Some(3600));
        check("Sun, 06 Nov 1994 08:50:37 GMT", Some(60));
        check("Sunday, 06-Nov-94 08:50:37 GMT", Some(60));
        check("Sun Nov  6 08:50:37 1994", Some(60));
        check("Sun, 06 Nov 1994 08:49:37 GMT", None);
        check("Sun, 06 Nov 1994 08:49:00 GMT", None);
        check("Fri, 31 Dec 2100 23:59:59 GMT", Some(3600));
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}
