//! OTLP/HTTP: protobuf and JSON posted over HTTP/1.1 or HTTP/2 on one port.

use super::body::{BodyLimits, collect, discard};
use super::connections::{ConnectionLimits, Handler, Server, Tracked};
use super::cors;
use super::destination::Destination;
use super::error::ReceiverError;
use super::fault::Fault;
use super::http_answer::{Answer, Encoding, accepted, not_traces, refused};
use super::http_request::{Form, form_of};
use super::http2::for_large_requests;
use super::inflate::{inflate, likely_size};
use super::offload::offload;
use super::settings::OtlpHttpSettings;
use super::stats::{RefusalReason, Transport};
use super::tls;
use crate::otlp::json::from_json_as;
use crate::otlp::{Accepted, Refusal, Reservation, Telemetry};
use bytes::Bytes;
use http::header::EXPECT;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::TokioTimer;
use hyper_util::server::conn::auto::Builder;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long the rest of a refused HTTP/1.1 body is waited for.
const DISCARD: Duration = Duration::from_secs(2);
/// HTTP/2 streams of one connection: as for gRPC. The Collector leaves it to Go, which has 250.
const MAX_CONCURRENT_STREAMS: u32 = 256;

/// A receiver that is ready to serve.
pub struct OtlpHttp {
    settings: OtlpHttpSettings,
    tls: Option<TlsAcceptor>,
    destination: Destination,
}

impl std::fmt::Debug for OtlpHttp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OtlpHttp")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl OtlpHttp {
    /// Reads certificates and gets ready.
    ///
    /// # Errors
    /// TLS files that cannot be used.
    pub fn new(
        settings: OtlpHttpSettings,
        destination: Destination,
    ) -> Result<Self, ReceiverError> {
        let tls = settings
            .tls
            .as_ref()
            .map(|tls| tls::acceptor(tls, &[b"h2", b"http/1.1"]))
            .transpose()?;
        Ok(Self {
            settings,
            tls,
            destination,
        })
    }

    /// Serves on `listener` until `shutdown`; then finishes the requests in flight and returns within the drain time.
    pub async fn serve(self, listener: TcpListener, shutdown: CancellationToken) {
        let Self {
            mut settings,
            tls,
            destination,
        } = self;
        // What never fits into the budget is too large, not to be retried for ever.
        settings.max_request_body_size = settings
            .max_request_body_size
            .min(destination.budget.limit());
        let tasks = TaskTracker::new();
        let mut http = Builder::new(Tracked(tasks.clone()));
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(unless_zero(settings.read_header_timeout))
            .keep_alive(settings.keep_alives_enabled);
        for_large_requests(&mut http, Some(MAX_CONCURRENT_STREAMS));
        let limits = ConnectionLimits {
            idle: unless_zero(settings.idle_timeout),
            ..ConnectionLimits::default()
        };
        let drain = settings.drain_timeout;
        let handler = Arc::new(TracesPath {
            settings,
            destination,
            tasks: tasks.clone(),
        });
        Server {
            tls,
            http,
            handler,
            limits,
            tasks,
            drain,
        }
        .run(listener, shutdown)
        .await;
    }
}

/// Zero is no timeout, as in Go.
fn unless_zero(timeout: Duration) -> Option<Duration> {
    Some(timeout).filter(|timeout| !timeout.is_zero())
}

/// What answers on the port.
struct TracesPath {
    settings: OtlpHttpSettings,
    destination: Destination,
    tasks: TaskTracker,
}

impl Handler for TracesPath {
    type Answer = Full<Bytes>;

    async fn handle(self: Arc<Self>, mut request: Request<Incoming>) -> Answer {
        let mut answer = match &self.settings.cors {
            None => self.answer(&mut request).await,
            Some(settings) if cors::is_preflight(&request) => {
                let mut answer = Response::new(Full::default());
                *answer.status_mut() = StatusCode::NO_CONTENT;
                *answer.headers_mut() = cors::preflight_headers(settings, request.headers());
                answer
            }
            Some(settings) => {
                let headers = cors::answer_headers(settings, request.headers());
                let mut answer = self.answer(&mut request).await;
                answer.headers_mut().extend(headers);
                answer
            }
        };
        answer
            .headers_mut()
            .extend(self.settings.response_headers.clone());
        answer
    }
}

impl TracesPath {
    async fn answer(&self, request: &mut Request<Incoming>) -> Answer {
        let stats = self.destination.stats.of(Transport::Http);
        stats.count_request();
        let form = match form_of(request, &self.settings, &self.destination.ways) {
            Ok(form) => form,
            Err(what) => {
                stats.count_unread(RefusalReason::Unsupported);
                self.forget_rest(request).await;
                return not_traces(what);
            }
        };
        match self.export(request, form).await {
            Ok(answer) => accepted(form.telemetry, form.encoding, &answer),
            Err(fault) => {
                if matches!(fault, Fault::Refused(_)) {
                    self.forget_rest(request).await;
                }
                refused(form.encoding, &fault)
            }
        }
    }

    async fn export(&self, request: &mut Request<Incoming>, form: Form) -> Result<Accepted, Fault> {
        match self.receive(request, form).await {
            Ok(received) => Ok(self
                .destination
                .hand_over(&self.tasks, Transport::Http, form.telemetry, received)
                .await?),
            Err(fault) => {
                self.destination
                    .stats
                    .of(Transport::Http)
                    .count_unread(fault.reason());
                Err(fault)
            }
        }
    }

    /// The request as protobuf, and what it holds of the budget.
    async fn receive(
        &self,
        request: &mut Request<Incoming>,
        form: Form,
    ) -> Result<(Bytes, Reservation), Fault> {
        let limit = self.settings.max_request_body_size;
        let declared = request.body().size_hint().exact();
        if let Some(bytes) = declared.filter(|bytes| *bytes > limit) {
            return Err(Refusal::TooLarge { bytes, limit }.into());
        }
        let mut held = self.destination.budget.reservation();
        let limits = BodyLimits {
            max_bytes: limit,
            idle: self.settings.body_idle_timeout,
        };
        let reading = collect(request.body_mut(), limits, &mut held, |_| Ok(declared));
        let body = match self.settings.read_timeout {
            None => reading.await?,
            Some(longest) => timeout(longest, reading)
                .await
                .unwrap_or(Err(Fault::Stalled))?,
        };
        let budget = self.destination.budget.clone();
        if form.encoding == Encoding::Protobuf && form.coding.is_none() {
            return Ok((body, held));
        }
        let work = form
            .coding
            .map_or(body.len() as u64, |coding| likely_size(coding, &body));
        offload(work, move || {
            let (mut body, mut held) = (body, held);
            if let Some(coding) = form.coding {
                let mut inflated = budget.reservation();
                body = inflate(coding, &body, limit, &mut inflated)?;
                held = inflated;
            }
            if form.encoding == Encoding::Json {
                let mut transcoded = budget.reservation();
                body = transcode(form.telemetry, &body, &mut transcoded)?;
                held = transcoded;
            }
            Ok((body, held))
        })
        .await
    }

    /// A sender on HTTP/1.1 that still writes must be read, or it may never see the answer. One that waits for
    /// `100 Continue` has not begun.
    async fn forget_rest(&self, request: &mut Request<Incoming>) {
        if !request.headers().contains_key(EXPECT) {
            discard(
                request.body_mut(),
                self.settings.max_request_body_size,
                DISCARD,
            )
            .await;
        }
    }
}

/// JSON to protobuf. A field's name in JSON is longer than tag and length in protobuf, so the text's length is enough
/// to reserve; only bytes that are not UTF-8 become longer.
fn transcode(telemetry: Telemetry, json: &[u8], held: &mut Reservation) -> Result<Bytes, Fault> {
    if !held.grow(json.len() as u64) {
        return Err(Fault::budget_full());
    }
    // JSON of metrics is refused by its head.
    let signal = telemetry
        .signal()
        .ok_or_else(|| Fault::malformed("not in JSON"))?;
    let protobuf =
        from_json_as(signal, json).map_err(|error| Fault::malformed(&error.to_string()))?;
    let length = protobuf.len() as u64;
    held.shrink(length);
    if !held.grow(length.saturating_sub(held.bytes())) {
        return Err(Fault::budget_full());
    }
    Ok(protobuf.into())
}
