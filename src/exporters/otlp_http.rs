//! The `otlphttp` exporter: OTLP over HTTP, protobuf or JSON.

use super::compress;
use super::connection;
use super::encode;
use super::error::Problem;
use super::http_client::HttpClient;
use super::http_status;
use super::response;
use super::settings::{Compression, Headers, HttpEncoding, HttpTarget, OtlpHttpSettings};
use super::transport::{Outgoing, SendError, Sending, Sent, Transport};
use super::user_agent::user_agent;
use crate::clock::SharedClock;
use crate::otlp::Telemetry;
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use std::fmt;
use std::time::Duration;
use tokio_util::task::TaskTracker;

/// What is read of an answer, as in the Collector; a partial success is far below it.
const LONGEST_ANSWER: usize = 64 << 10;
/// Time for the rest of an answer whose status is known; a server that stalls in its body has taken the spans all the
/// same, and would get them again and again.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// From this size on a payload is converted and compressed off the I/O threads: it takes a tenth of a millisecond and
/// more.
const OFF_THREAD: usize = 32 << 10;

const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// OTLP/HTTP to one URL.
pub(crate) struct OtlpHttp {
    client: HttpClient,
    url: Uri,
    /// Where log records and metrics go.
    logs_url: Uri,
    metrics_url: Uri,
    headers: HeaderMap,
    encoding: HttpEncoding,
    compression: Compression,
    level: Option<i32>,
    timeout: Duration,
    tracker: TaskTracker,
    clock: SharedClock,
}

impl OtlpHttp {
    /// Checks the settings; connects with the first batch.
    pub(crate) fn new(
        settings: &OtlpHttpSettings,
        timeout: Duration,
        tracker: &TaskTracker,
        clock: SharedClock,
    ) -> Result<Self, Problem> {
        let url = url(&settings.target, Telemetry::Traces)?;
        let of = |own: &Option<String>, telemetry| match own {
            Some(own) => self::url(&HttpTarget::Traces(own.clone()), telemetry),
            None => self::url(&settings.target, telemetry),
        };
        let logs_url = of(&settings.logs_endpoint, Telemetry::Logs)?;
        let metrics_url = of(&settings.metrics_endpoint, Telemetry::Metrics)?;
        Ok(Self {
            client: HttpClient::new(settings, &url)?,
            headers: headers(settings)?,
            url,
            logs_url,
            metrics_url,
            encoding: settings.encoding,
            compression: settings.compression,
            level: settings.compression_level,
            timeout,
            tracker: tracker.clone(),
            clock,
        })
    }

    async fn within_timeout(&self, out: Outgoing) -> Result<Sent, SendError> {
        if self.timeout.is_zero() {
            return self.post(out).await;
        }
        match tokio::time::timeout(self.timeout, self.post(out)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(SendError::retry("HTTP: no answer in time")),
        }
    }

    async fn post(&self, out: Outgoing) -> Result<Sent, SendError> {
        let url = match out.telemetry {
            Telemetry::Traces => &self.url,
            Telemetry::Logs => &self.logs_url,
            Telemetry::Metrics => &self.metrics_url,
        };
        let mut post = Request::new(Full::new(self.body(out).await?));
        *post.method_mut() = Method::POST;
        *post.uri_mut() = url.clone();
        *post.headers_mut() = self.headers.clone();
        let answer = self.client.request(post).await;
        let answer =
            answer.map_err(|e| SendError::retry(format!("HTTP: {}", connection::phrase(&e))))?;
        let (head, body) = answer.into_parts();
        // Also read after a failure, so that the connection can be used again.
        let body = short(body).await;
        match http_status::classify(head.status, &head.headers, self.clock.unix()) {
            Some(error) => Err(error),
            None => Ok(read_success(&head.headers, &body)),
        }
    }

    async fn body(&self, out: Outgoing) -> Result<Bytes, SendError> {
        let Outgoing {
            telemetry, request, ..
        } = out;
        let (encoding, compression, level) = (self.encoding, self.compression, self.level);
        if encoding == HttpEncoding::Proto && compression == Compression::None {
            return Ok(request);
        }
        if request.len() < OFF_THREAD {
            return prepare((telemetry, request), encoding, compression, level);
        }
        let prepared = self
            .tracker
            .spawn_blocking(move || prepare((telemetry, request), encoding, compression, level));
        prepared.await.unwrap_or_else(|_| {
            Err(SendError::retry(
                "HTTP: the payload was not prepared (stopping)",
            ))
        })
    }
}

impl Transport for OtlpHttp {
    fn send(&self, out: Outgoing) -> Sending<'_> {
        Box::pin(self.within_timeout(out))
    }
}

/// Neither the headers nor the URL, which may carry a key in its query.
impl fmt::Debug for OtlpHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtlpHttp")
            .field("encoding", &self.encoding)
            .finish_non_exhaustive()
    }
}

fn prepare(
    (telemetry, request): (Telemetry, Bytes),
    encoding: HttpEncoding,
    compression: Compression,
    level: Option<i32>,
) -> Result<Bytes, SendError> {
    let payload = match encoding {
        HttpEncoding::Proto => request,
        HttpEncoding::Json => encode::to_json(telemetry, &request)
            .map_err(|e| SendError::permanent(format!("HTTP: {e}")))?
            .into(),
    };
    match compress::compress(&payload, compression, level) {
        Ok(None) => Ok(payload),
        Ok(Some(packed)) => Ok(packed.into()),
        Err(_) => Err(SendError::retry(
            "HTTP: the payload could not be compressed",
        )),
    }
}

/// Up to [`LONGEST_ANSWER`] bytes; nothing of a longer, stalled or broken answer: its status counts.
async fn short(body: Incoming) -> Bytes {
    match tokio::time::timeout(ANSWER_TIMEOUT, Limited::new(body, LONGEST_ANSWER).collect()).await {
        Ok(Ok(whole)) => whole.to_bytes(),
        _ => Bytes::new(),
    }
}

fn read_success(headers: &HeaderMap, body: &[u8]) -> Sent {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim() {
        "application/x-protobuf" => response::from_proto(body),
        "application/json" => response::from_json(body),
        _ => Sent::All,
    }
}

fn url(target: &HttpTarget, telemetry: Telemetry) -> Result<Uri, Problem> {
    let path = format!("v1/{}", telemetry.word());
    let (key, text) = match target {
        HttpTarget::Traces(url) => ("traces_endpoint", url.clone()),
        HttpTarget::Base(base) if base.ends_with('/') => ("endpoint", format!("{base}{path}")),
        HttpTarget::Base(base) => ("endpoint", format!("{base}/{path}")),
    };
    let url: Uri = text
        .parse()
        .map_err(|_| Problem::new(key, "is not a URL"))?;
    let Some(authority) = url
        .authority()
        .filter(|_| matches!(url.scheme_str(), Some("http" | "https")))
    else {
        return Err(Problem::new(
            key,
            "is not a URL that begins with http:// or https://",
        ));
    };
    if authority.as_str().contains('@') {
        return Err(Problem::new(
            key,
            "user and password do not belong into the URL; set an Authorization header",
        ));
    }
    Ok(url)
}

/// The user's headers win over ours, as in the Collector.
fn headers(settings: &OtlpHttpSettings) -> Result<HeaderMap, Problem> {
    let mut map = HeaderMap::new();
    map.insert(
        USER_AGENT,
        HeaderValue::from_str(&user_agent()).map_err(|_| Problem::new("headers", "user agent"))?,
    );
    let kind = match settings.encoding {
        HttpEncoding::Proto => PROTOBUF,
        HttpEncoding::Json => JSON,
    };
    map.insert(CONTENT_TYPE, kind);
    if let Some(name) = compress::name(settings.compression) {
        map.insert(CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    map.extend(user_headers(&settings.headers)?);
    Ok(map)
}

fn user_headers(headers: &Headers) -> Result<HeaderMap, Problem> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let key: HeaderName = name
            .parse()
            .map_err(|_| Problem::new("headers", format!("`{name}` is not a header name")))?;
        let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| {
            Problem::new(
                "headers",
                format!("the value of `{name}` has a character that HTTP cannot send"),
            )
        })?;
        value.set_sensitive(true);
        map.append(key, value);
    }
    Ok(map)
}
