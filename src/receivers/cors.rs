//! Cross-origin requests: what browsers ask before they send, and what they want to see in answers.
//!
//! Source: Fetch standard, "CORS protocol"; behaves as the Collector's receiver does: methods GET, POST and HEAD,
//! credentials allowed, the requested headers echoed. An origin that is not allowed gets its answer without the
//! headers, and the browser refuses it.

use super::settings::CorsSettings;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS as ALLOW_CREDENTIALS,
    ACCESS_CONTROL_ALLOW_HEADERS as ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS as ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN as ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS as EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE as MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS as REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD as REQUEST_METHOD, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use http::{Method, Request};

/// Allowed without being named.
const SAFE_HEADERS: [&str; 3] = ["accept", "content-type", "x-requested-with"];
const METHODS: [&[u8]; 3] = [b"GET", b"POST", b"HEAD"];
const TRUE: HeaderValue = HeaderValue::from_static("true");

/// Is this the question before the request?
pub(super) fn is_preflight<B>(request: &Request<B>) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(REQUEST_METHOD)
}

/// Headers of the answer to a preflight, which has status 204 and no body.
pub(super) fn preflight_headers(settings: &CorsSettings, request: &HeaderMap) -> HeaderMap {
    let mut answer = HeaderMap::new();
    for name in [
        "Origin",
        "Access-Control-Request-Method",
        "Access-Control-Request-Headers",
    ] {
        answer.append(VARY, HeaderValue::from_static(name));
    }
    let Some(origin) = allowed_origin(settings, request) else {
        return answer;
    };
    let Some(method) = request
        .get(REQUEST_METHOD)
        .filter(|method| METHODS.contains(&method.as_bytes()))
    else {
        return answer;
    };
    let headers = request.get(REQUEST_HEADERS);
    if !headers.is_none_or(|headers| headers_allowed(settings, headers.as_bytes())) {
        return answer;
    }
    answer.insert(ALLOW_ORIGIN, origin);
    answer.insert(ALLOW_METHODS, method.clone());
    answer.insert(ALLOW_CREDENTIALS, TRUE);
    if let Some(headers) = headers {
        answer.insert(ALLOW_HEADERS, headers.clone());
    }
    if let Some(seconds) = settings.max_age.filter(|seconds| *seconds > 0) {
        answer.insert(MAX_AGE, seconds.into());
    }
    answer
}

/// Headers for the answer to the request itself.
pub(super) fn answer_headers(settings: &CorsSettings, request: &HeaderMap) -> HeaderMap {
    let mut answer = HeaderMap::new();
    answer.insert(VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = allowed_origin(settings, request) {
        answer.insert(ALLOW_ORIGIN, origin);
        answer.insert(ALLOW_CREDENTIALS, TRUE);
        let exposed = HeaderValue::try_from(settings.exposed_headers.join(", "));
        if let Some(exposed) = exposed.ok().filter(|names| !names.is_empty()) {
            answer.insert(EXPOSE_HEADERS, exposed);
        }
    }
    answer
}

fn allowed_origin(settings: &CorsSettings, request: &HeaderMap) -> Option<HeaderValue> {
    let origin = request.get(ORIGIN)?;
    if settings
        .allowed_origins
        .iter()
        .any(|pattern| pattern == "*")
    {
        return Some(HeaderValue::from_static("*"));
    }
    let text = origin.to_str().ok()?.to_ascii_lowercase();
    let allowed = settings
        .allowed_origins
        .iter()
        .any(|pattern| matches(&pattern.to_ascii_lowercase(), &text));
    allowed.then(|| origin.clone())
}

/// `*` stands for any run of characters.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|head| text.strip_prefix(head)) else {
        return false;
    };
    let Some(tail) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(tail)
}

fn headers_allowed(settings: &CorsSettings, requested: &[u8]) -> bool {
    let allowed = settings
        .allowed_headers
        .iter()
        .map(String::as_str)
        .chain(SAFE_HEADERS);
    requested
        .split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|name| !name.is_empty())
        .all(|name| {
            allowed
                .clone()
                .any(|pattern| pattern == "*" || pattern.as_bytes().eq_ignore_ascii_case(name))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_patterns() {
        let check = |pattern, text, expected| {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}")
        };
        check("https://a.example", "https://a.example", true);
        check("https://a.example", "https://a.example.evil", false);
        check("https://*.example", "https://a.example", true);
        check("https://*.example", "https://.example", true);
        check("https://*.example", "https://a.example.evil", false);
        check("https://*.example", "http://a.example", false);
        check("https://*.a.*.example", "https://x.a.y.example", true);
        check("https://*.a.*.example", "https://x.b.y.example", false);
        check("ab*ba", "aba", false);
        check("", "", true);
        check("", "x", false);
    }

    #[test]
    fn requested_headers() {
        let settings = CorsSettings {
            allowed_headers: vec!["X-Tenant".to_owned()],
            ..CorsSettings::default()
        };
        let check = |requested: &[u8], expected| {
            assert_eq!(
                headers_allowed(&settings, requested),
                expected,
                "{requested:?}"
            );
        };
        check(b"", true);
        check(b"content-type", true);
        check(b"Content-Type, x-tenant", true);
        check(b"x-tenant,authorization", false);
        let any = CorsSettings {
            allowed_headers: vec!["*".to_owned()],
            ..CorsSettings::default()
        };
        assert!(headers_allowed(&any, b"authorization"));
    }
}
