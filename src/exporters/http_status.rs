//! An HTTP answer as success, retry or refusal.
//!
//! Source: OTLP specification, "OTLP/HTTP Response": 429, 502, 503 and 504 are retryable, every other status that is
//! not a success is final. Redirects are not followed: a request would be repeated to whom the config does not name.

use super::retry_after::retry_after;
use super::transport::SendError;
use crate::clock::Nanos;
use http::{HeaderMap, StatusCode};

/// `None` for a success.
pub(crate) fn classify(status: StatusCode, headers: &HeaderMap, now: Nanos) -> Option<SendError> {
    if status.is_success() {
        return None;
    }
    let reason = format!("HTTP {}: {}", status.as_u16(), describe(status));
    Some(match status.as_u16() {
        429 | 502 | 503 | 504 => SendError::Retry {
            reason,
            after: retry_after(headers, now),
        },
        300..=399 | 401 | 403..=405 | 407 | 415 => SendError::Unusable { reason },
        _ => SendError::Permanent { reason },
    })
}

fn describe(status: StatusCode) -> &'static str {
    match status.as_u16() {
        300..=399 => "redirects are not followed; set the endpoint to the new address",
        400 => "the server cannot read the request",
        401 => "the server wants credentials (headers)",
        403 => "no permission (headers, proxy)",
        404 => "no OTLP trace service at the endpoint",
        405 => "the server takes no POST at the endpoint",
        413 => "the request is too large for the server",
        415 => "the server does not take this encoding or compression",
        429 => "the server has no room",
        500 => "the server failed",
        502 => "the server behind a proxy failed",
        503 => "the server is busy or stopping",
        504 => "the server behind a proxy did not answer in time",
        _ => "the server refused the request",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_a_success_a_retry_or_an_end() {
        for code in 200..600 {
            let outcome = classify(StatusCode::from_u16(code).unwrap(), &HeaderMap::new(), 0);
            match code {
                200..=299 => assert_eq!(outcome, None),
                429 | 502 | 503 | 504 => {
                    assert!(
                        matches!(outcome, Some(SendError::Retry { after: None, .. })),
                        "{code}"
                    )
                }
                300..=399 | 401 | 403..=405 | 407 | 415 => {
                    assert!(
                        matches!(outcome, Some(SendError::Unusable { .. })),
                        "{code}"
                    )
                }
                _ => assert!(
                    matches!(outcome, Some(SendError::Permanent { .. })),
                    "{code}"
                ),
            }
        }
    }
}
