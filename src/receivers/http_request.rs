//! The head of an OTLP/HTTP request: is it traces, how is it written, how is it compressed.

use super::http_answer::{Encoding, NotTraces};
use super::inflate::Coding;
use super::settings::{ContentEncoding, OtlpHttpSettings};
use super::ways::Ways;
use crate::otlp::Telemetry;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, Method, Request};

/// How the body is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    /// What the path says it is.
    pub(super) telemetry: Telemetry,
    pub(super) encoding: Encoding,
    /// `None`: not compressed.
    pub(super) coding: Option<Coding>,
}

/// Reads the head.
pub(super) fn form_of<B>(
    request: &Request<B>,
    settings: &OtlpHttpSettings,
    ways: &Ways,
) -> Result<Form, NotTraces> {
    let path = request.uri().path();
    let paths = [
        (&settings.traces_url_path, Telemetry::Traces),
        (&settings.logs_url_path, Telemetry::Logs),
        (&settings.metrics_url_path, Telemetry::Metrics),
    ];
    let taken = |(own, telemetry): &(&String, Telemetry)| path == *own && ways.take(*telemetry);
    let (_, telemetry) = paths.into_iter().find(taken).ok_or(NotTraces::Path)?;
    if request.method() != Method::POST {
        return Err(NotTraces::Method);
    }
    let encoding = encoding(request.headers()).ok_or(NotTraces::ContentType)?;
    if telemetry == Telemetry::Metrics && encoding == Encoding::Json {
        return Err(NotTraces::JsonMetrics);
    }
    let (named, coding) = content_encoding(request.headers()).ok_or(NotTraces::ContentEncoding)?;
    if !settings.compression_algorithms.contains(&named) {
        return Err(NotTraces::ContentEncoding);
    }
    Ok(Form {
        telemetry,
        encoding,
        coding,
    })
}

/// Parameters such as `charset` are of no interest: JSON is UTF-8.
fn encoding(headers: &HeaderMap) -> Option<Encoding> {
    let value = headers.get(CONTENT_TYPE)?.as_bytes();
    let kind = value
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    if kind.eq_ignore_ascii_case(b"application/x-protobuf")
        || kind.eq_ignore_ascii_case(b"application/protobuf")
    {
        Some(Encoding::Protobuf)
    } else if kind.eq_ignore_ascii_case(b"application/json") {
        Some(Encoding::Json)
    } else {
        None
    }
}

fn content_encoding(headers: &HeaderMap) -> Option<(ContentEncoding, Option<Coding>)> {
    let named = match only(headers, &CONTENT_ENCODING)?
        .to_ascii_lowercase()
        .as_slice()
    {
        b"" | b"identity" => (ContentEncoding::Identity, None),
        b"gzip" | b"x-gzip" => (ContentEncoding::Gzip, Some(Coding::Gzip)),
        b"zstd" => (ContentEncoding::Zstd, Some(Coding::Zstd)),
        b"zlib" => (ContentEncoding::Zlib, Some(Coding::Zlib)),
        b"deflate" => (ContentEncoding::Deflate, Some(Coding::Zlib)),
        _ => return None,
    };
    Some(named)
}

/// The one value of a header, empty when it is absent; `None` when there are several.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a [u8]> {
    let mut values = headers.get_all(name).into_iter();
    let first = values
        .next()
        .map_or(&b""[..], |value| value.as_bytes().trim_ascii());
    values.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::too_many_lines, reason = "a table")]
    fn heads_of_requests() {
        let check = |method: &str, path: &str, headers: &[(&str, &str)], expected| {
            let mut request = Request::builder().method(method).uri(path);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let request = request.body(()).unwrap();
            assert_eq!(
                form_of(&request, &OtlpHttpSettings::default(), &Ways::traces()),
                expected,
                "{method} {path} {headers:?}"
            );
        };
        let form = |encoding, coding| {
            Ok(Form {
                telemetry: Telemetry::Traces,
                encoding,
                coding,
            })
        };
        let protobuf = ("content-type", "application/x-protobuf");
        let json = ("content-type", "application/json");
        check(
            "POST",
            "/v1/traces",
            &[protobuf],
            form(Encoding::Protobuf, None),
        );
        check(
            "POST",
            "/v1/traces?x=1",
            &[json],
            form(Encoding::Json, None),
        );
        check(
            "POST",
            "/v1/traces",
            &[("content-type", "Application/JSON; charset=utf-8")],
            form(Encoding::Json, None),
        );
        check(
            "POST",
            "/v1/traces",
            &[("content-type", "application/protobuf")],
            form(Encoding::Protobuf, None),
        );
        check("POST", "/v1/logs", &[protobuf], Err(NotTraces::Path));
        check("POST", "/v1/traces/", &[protobuf], Err(NotTraces::Path));
        check("GET", "/v1/traces", &[protobuf], Err(NotTraces::Method));
        check("OPTIONS", "/v1/traces", &[], Err(NotTraces::Method));
        check("POST", "/v1/traces", &[], Err(NotTraces::ContentType));
        check(
            "POST",
            "/v1/traces",
            &[("content-type", "text/plain")],
            Err(NotTraces::ContentType),
        );
        check(
            "POST",
            "/v1/traces",
            &[("content-type", "application/jsonx")],
            Err(NotTraces::ContentType),
        );
        for (named, coding) in [
            ("identity", None),
            ("", None),
            ("gzip", Some(Coding::Gzip)),
            ("GZIP", Some(Coding::Gzip)),
            ("zstd", Some(Coding::Zstd)),
            ("deflate", Some(Coding::Zlib)),
            ("zlib", Some(Coding::Zlib)),
        ] {
            check(
                "POST",
                "/v1/traces",
                &[json, ("content-encoding", named)],
                form(Encoding::Json, coding),
            );
        }
        for refused in ["br", "snappy", "gzip, gzip", "gzip,zstd"] {
            check(
                "POST",
                "/v1/traces",
                &[json, ("content-encoding", refused)],
                Err(NotTraces::ContentEncoding),
            );
        }
        let twice = [
            json,
            ("content-encoding", "gzip"),
            ("content-encoding", "gzip"),
        ];
        check(
            "POST",
            "/v1/traces",
            &twice,
            Err(NotTraces::ContentEncoding),
        );
    }

    #[test]
    fn encodings_that_the_config_leaves_out_are_refused() {
        let settings = OtlpHttpSettings {
            compression_algorithms: vec![ContentEncoding::Gzip],
            ..OtlpHttpSettings::default()
        };
        let request = |coding: &str| {
            let request = Request::post("/v1/traces").header("content-type", "application/json");
            request.header("content-encoding", coding).body(()).unwrap()
        };
        assert!(form_of(&request("gzip"), &settings, &Ways::traces()).is_ok());
        assert_eq!(
            form_of(&request("zstd"), &settings, &Ways::traces()),
            Err(NotTraces::ContentEncoding)
        );
        assert_eq!(
            form_of(&request("identity"), &settings, &Ways::traces()),
            Err(NotTraces::ContentEncoding)
        );
    }
}
