//! OTLP/gRPC: the `Export` methods of traces, logs and metrics on raw bytes.
//!
//! They are unary, so its framing is read here instead of in tonic's codec: the message stays the bytes that
//! arrived (one DATA frame is not even copied), inflated bytes are reserved before they exist, and every refusal gets
//! the status that OTLP asks for. tonic still gives the statuses.

use super::body::{BodyLimits, collect};
use super::connections::{ConnectionLimits, Handler, Server, Tracked};
use super::destination::Destination;
use super::error::ReceiverError;
use super::fault::Fault;
use super::grpc_answer::{GrpcBody, accepted, status};
use super::grpc_frame::{Message, PREFIX, expected_body, single_message};
use super::http2::for_large_requests;
use super::inflate::{Coding, inflate, likely_size};
use super::offload::offload;
use super::settings::OtlpGrpcSettings;
use super::stats::{RefusalReason, Transport};
use super::tls;
use super::ways::Ways;
use crate::otlp::{Accepted, Reservation, Telemetry};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper_util::server::conn::auto::Builder;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Status;

const METHODS: [(&str, Telemetry); 3] = [
    (
        "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        Telemetry::Traces,
    ),
    (
        "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
        Telemetry::Logs,
    ),
    (
        "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        Telemetry::Metrics,
    ),
];
const ENCODING: &str = "grpc-encoding";
const ACCEPT_ENCODING: &str = "grpc-accept-encoding";
const ENCODINGS: &str = "identity,gzip,zstd";

/// A receiver that is ready to serve.
pub struct OtlpGrpc {
    settings: OtlpGrpcSettings,
    tls: Option<TlsAcceptor>,
    destination: Destination,
}

impl std::fmt::Debug for OtlpGrpc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OtlpGrpc")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl OtlpGrpc {
    /// Reads certificates and gets ready.
    ///
    /// # Errors
    /// TLS files that cannot be used.
    pub fn new(
        settings: OtlpGrpcSettings,
        destination: Destination,
    ) -> Result<Self, ReceiverError> {
        let tls = settings
            .tls
            .as_ref()
            .map(|tls| tls::acceptor(tls, &[b"h2"]))
            .transpose()?;
        Ok(Self {
            settings,
            tls,
            destination,
        })
    }

    /// Serves on `listener` until `shutdown`; then finishes the calls in flight and returns within the drain time.
    pub async fn serve(self, listener: TcpListener, shutdown: CancellationToken) {
        let Self {
            mut settings,
            tls,
            destination,
        } = self;
        // What never fits into the budget is too large, not to be retried for ever.
        settings.max_recv_msg_size = settings.max_recv_msg_size.min(destination.budget.limit());
        let tasks = TaskTracker::new();
        let keepalive = &settings.keepalive;
        let mut http = Builder::new(Tracked(tasks.clone())).http2_only();
        for_large_requests(
            &mut http,
            Some(settings.max_concurrent_streams).filter(|streams| *streams > 0),
        )
        .keep_alive_interval(Some(keepalive.time).filter(|time| !time.is_zero()))
        .keep_alive_timeout(keepalive.timeout);
        let limits = ConnectionLimits {
            idle: keepalive.max_connection_idle,
            age: keepalive.max_connection_age,
            age_grace: keepalive.max_connection_age_grace,
        };
        let drain = settings.drain_timeout;
        let handler = Arc::new(TraceService {
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

/// The service behind the port.
struct TraceService {
    settings: OtlpGrpcSettings,
    destination: Destination,
    tasks: TaskTracker,
}

impl Handler for TraceService {
    type Answer = GrpcBody;

    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Response<GrpcBody> {
        let stats = self.destination.stats.of(Transport::Grpc);
        stats.count_request();
        let telemetry = match kind_of(&request, &self.destination.ways) {
            Ok(telemetry) => telemetry,
            Err(refused) => {
                stats.count_unread(RefusalReason::Unsupported);
                return *refused;
            }
        };
        match self.export(telemetry, request).await {
            Ok(answer) => accepted(&answer),
            Err(fault) => status(&fault).into_http(),
        }
    }
}

impl TraceService {
    async fn export(
        &self,
        telemetry: Telemetry,
        request: Request<Incoming>,
    ) -> Result<Accepted, Fault> {
        let received = match self.receive(request).await {
            Ok(received) => received,
            Err(fault) => {
                self.destination
                    .stats
                    .of(Transport::Grpc)
                    .count_unread(fault.reason());
                return Err(fault);
            }
        };
        Ok(self
            .destination
            .hand_over(&self.tasks, Transport::Grpc, telemetry, received)
            .await?)
    }

    /// The inflated message, and what it holds of the budget.
    async fn receive(&self, mut request: Request<Incoming>) -> Result<(Bytes, Reservation), Fault> {
        let limit = self.settings.max_recv_msg_size;
        let coding = coding(request.headers());
        let mut held = self.destination.budget.reservation();
        let limits = BodyLimits {
            max_bytes: limit.saturating_add(PREFIX),
            idle: self.settings.body_idle_timeout,
        };
        let body = collect(request.body_mut(), limits, &mut held, |first| {
            expected_body(first, limit)
        })
        .await?;
        let Message {
            compressed,
            payload,
        } = single_message(body)?;
        if !compressed {
            return Ok((payload, held));
        }
        let Some(Some(coding)) = coding else {
            return Err(Fault::malformed(
                "a compressed message without grpc-encoding",
            ));
        };
        let mut inflated = self.destination.budget.reservation();
        offload(likely_size(coding, &payload), move || {
            let bytes = inflate(coding, &payload, limit, &mut inflated)?;
            Ok((bytes, inflated))
        })
        .await
    }
}

/// `None`: an encoding that we do not have; `Some(None)`: none.
fn coding(headers: &HeaderMap) -> Option<Option<Coding>> {
    match headers.get(ENCODING).map(HeaderValue::as_bytes) {
        None | Some(b"identity") => Some(None),
        Some(b"gzip") => Some(Some(Coding::Gzip)),
        Some(b"zstd") => Some(Some(Coding::Zstd)),
        Some(_) => None,
    }
}

/// What the request exports, or the answer to one that is no export at all.
fn kind_of(request: &Request<Incoming>, ways: &Ways) -> Result<Telemetry, Box<Response<GrpcBody>>> {
    let headers = request.headers();
    let is_grpc = headers
        .get(CONTENT_TYPE)
        .is_some_and(|value| is_grpc_proto(value.as_bytes()));
    if request.method() != Method::POST || !is_grpc {
        let mut response = Response::new(GrpcBody::default());
        *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Box::new(response));
    }
    let method = |(path, _): &&(&str, Telemetry)| request.uri().path() == *path;
    let found = METHODS.iter().find(method).map(|(_, telemetry)| *telemetry);
    let Some(telemetry) = found.filter(|telemetry| ways.take(*telemetry)) else {
        let text = match found {
            Some(telemetry) => format!("no pipeline takes {} here", telemetry.word()),
            None => "only the Export methods of OTLP are served here".to_owned(),
        };
        return Err(Box::new(Status::unimplemented(text).into_http()));
    };
    if coding(headers).is_none() {
        let mut response: Response<GrpcBody> =
            Status::unimplemented("grpc-encoding is not supported").into_http();
        response
            .headers_mut()
            .insert(ACCEPT_ENCODING, HeaderValue::from_static(ENCODINGS));
        return Err(Box::new(response));
    }
    Ok(telemetry)
}

/// `application/grpc`, with or without `+proto` and parameters.
fn is_grpc_proto(content_type: &[u8]) -> bool {
    let kind = content_type
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    kind.eq_ignore_ascii_case(b"application/grpc")
        || kind.eq_ignore_ascii_case(b"application/grpc+proto")
}
