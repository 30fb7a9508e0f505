//! A backend that records what it takes: OTLP over gRPC (the generated server) or HTTP, on a port that it keeps when it
//! is stopped and started again. It can be slow or refuse.

use super::ports;
use super::spans::{Flat, flatten};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use http::{HeaderMap, StatusCode};
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_server::{
    LogsService, LogsServiceServer,
};
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsServiceRequest, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use parking_lot::Mutex;
use prost::Message;
use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;
use tonic::codec::CompressionEncoding;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

/// What a sink does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Take,
    /// Takes it, after a while.
    Slow(Duration),
    /// Refuses it for now: `UNAVAILABLE`, 503.
    Refuse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Grpc,
    Http,
}

#[derive(Debug, Default)]
struct Recorded {
    requests: Vec<ExportTraceServiceRequest>,
    logs: Vec<ExportLogsServiceRequest>,
    metrics: Vec<ExportMetricsServiceRequest>,
    refused: usize,
}

#[derive(Debug, Clone)]
struct Shared {
    recorded: Arc<Mutex<Recorded>>,
    manner: Arc<Mutex<Manner>>,
}

/// A server with a runtime of its own, so that it can be killed with all its connections.
#[derive(Debug)]
pub(crate) struct Sink {
    protocol: Protocol,
    port: u16,
    shared: Shared,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Sink {
    pub(crate) fn grpc() -> Self {
        let mut sink = Self::stopped(Protocol::Grpc);
        sink.start();
        sink
    }

    pub(crate) fn http() -> Self {
        let mut sink = Self::stopped(Protocol::Http);
        sink.start();
        sink
    }

    /// A gRPC sink that nobody answers for until it is started.
    pub(crate) fn dead() -> Self {
        Self::stopped(Protocol::Grpc)
    }

    fn stopped(protocol: Protocol) -> Self {
        let shared = Shared {
            recorded: Arc::default(),
            manner: Arc::new(Mutex::new(Manner::Take)),
        };
        Self {
            protocol,
            port: ports::free(),
            shared,
            running: None,
        }
    }

    /// An exporter to this sink, id and settings. Tests have no time for the default second thoughts of 5 s; and a machine
    /// that stands still for a while is no reason to send anything twice.
    pub(crate) fn exporter(&self, number: usize) -> (String, String) {
        let (port, retry) = (
            self.port,
            "timeout: 60s, retry_on_failure: {initial_interval: 100ms, max_interval: 500ms}",
        );
        match self.protocol {
            Protocol::Grpc => (
                format!("otlp/{number}"),
                format!("{{endpoint: '127.0.0.1:{port}', tls: {{insecure: true}}, {retry}}}"),
            ),
            Protocol::Http => (
                format!("otlphttp/{number}"),
                format!("{{endpoint: 'http://127.0.0.1:{port}', {retry}}}"),
            ),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn behave(&self, manner: Manner) {
        *self.shared.manner.lock() = manner;
    }

    pub(crate) fn start(&mut self) {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let (shared, protocol) = (self.shared.clone(), self.protocol);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    () = serve(protocol, listener, shared) => {}
                    _ = stopped => {}
                }
            });
        });
        self.running = Some((stop, thread));
    }

    /// Dies at once, with every connection.
    pub(crate) fn stop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            thread.join().unwrap();
        }
    }

    /// Every span that was taken, sorted.
    pub(crate) fn spans(&self) -> Vec<Flat> {
        flatten(&self.shared.recorded.lock().requests)
    }

    pub(crate) fn count(&self) -> usize {
        let recorded = self.shared.recorded.lock();
        let resources = recorded
            .requests
            .iter()
            .flat_map(|request| &request.resource_spans);
        resources
            .flat_map(|resource| &resource.scope_spans)
            .map(|scope| scope.spans.len())
            .sum()
    }

    /// Every log record that was taken, in the order of their times.
    pub(crate) fn records(&self) -> Vec<LogRecord> {
        let recorded = self.shared.recorded.lock();
        let resources = recorded.logs.iter().flat_map(|logs| &logs.resource_logs);
        let scopes = resources.flat_map(|resource| &resource.scope_logs);
        let records = scopes.flat_map(|scope| scope.log_records.iter().cloned());
        let mut records: Vec<_> = records.collect();
        records.sort_by_key(|record| record.time_unix_nano);
        records
    }

    /// Every request of metrics that was taken.
    pub(crate) fn metrics(&self) -> Vec<ExportMetricsServiceRequest> {
        self.shared.recorded.lock().metrics.clone()
    }

    pub(crate) fn refused(&self) -> usize {
        self.shared.recorded.lock().refused
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// Whether it was taken.
    async fn take(&self, request: ExportTraceServiceRequest) -> bool {
        let manner = *self.manner.lock();
        match manner {
            Manner::Take => {}
            Manner::Slow(time) => tokio::time::sleep(time).await,
            Manner::Refuse => {
                self.recorded.lock().refused += 1;
                return false;
            }
        }
        self.recorded.lock().requests.push(request);
        true
    }
}

#[tonic::async_trait]
impl LogsService for Shared {
    async fn export(
        &self,
        request: Request<ExportLogsServiceRequest>,
    ) -> Result<Response<ExportLogsServiceResponse>, Status> {
        self.recorded.lock().logs.push(request.into_inner());
        Ok(Response::new(ExportLogsServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Shared {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        self.recorded.lock().metrics.push(request.into_inner());
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl TraceService for Shared {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        match self.take(request.into_inner()).await {
            true => Ok(Response::new(ExportTraceServiceResponse::default())),
            false => Err(Status::unavailable("not now")),
        }
    }
}

async fn serve(protocol: Protocol, listener: tokio::net::TcpListener, shared: Shared) {
    match protocol {
        Protocol::Grpc => {
            let logs = LogsServiceServer::new(shared.clone())
                .accept_compressed(CompressionEncoding::Gzip)
                .accept_compressed(CompressionEncoding::Zstd);
            let metrics = MetricsServiceServer::new(shared.clone())
                .accept_compressed(CompressionEncoding::Gzip)
                .accept_compressed(CompressionEncoding::Zstd)
                .max_decoding_message_size(64 << 20);
            let service = TraceServiceServer::new(shared)
                .accept_compressed(CompressionEncoding::Gzip)
                .accept_compressed(CompressionEncoding::Zstd)
                .max_decoding_message_size(64 << 20);
            let server = tonic::transport::Server::builder()
                .add_service(service)
                .add_service(logs)
                .add_service(metrics);
            server
                .serve_with_incoming(TcpIncoming::from(listener))
                .await
                .unwrap();
        }
        Protocol::Http => {
            let router = Router::new()
                .route("/v1/traces", post(take_http))
                .route("/v1/logs", post(take_http_logs))
                .route("/v1/metrics", post(take_http_metrics))
                .with_state(shared);
            axum::serve(listener, router).await.unwrap();
        }
    }
}

async fn take_http(
    State(shared): State<Shared>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Vec<u8>) {
    let body = plain(&headers, &body);
    let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
    match shared.take(request).await {
        true => (StatusCode::OK, Vec::new()),
        false => (StatusCode::SERVICE_UNAVAILABLE, Vec::new()),
    }
}

async fn take_http_logs(State(shared): State<Shared>, headers: HeaderMap, body: Bytes) {
    let body = plain(&headers, &body);
    let request = ExportLogsServiceRequest::decode(body.as_slice()).unwrap();
    shared.recorded.lock().logs.push(request);
}

async fn take_http_metrics(State(shared): State<Shared>, headers: HeaderMap, body: Bytes) {
    let body = plain(&headers, &body);
    let request = ExportMetricsServiceRequest::decode(body.as_slice()).unwrap();
    shared.recorded.lock().metrics.push(request);
}

fn plain(headers: &HeaderMap, body: &Bytes) -> Vec<u8> {
    match headers
        .get("content-encoding")
        .map(|value| value.to_str().unwrap())
    {
        None => body.to_vec(),
        Some("gzip") => gunzip(body),
        Some("zstd") => zstd::bulk::decompress(body, 64 << 20).unwrap(),
        Some(other) => panic!("an exporter sent {other}"),
    }
}

fn gunzip(body: &[u8]) -> Vec<u8> {
    let mut inflated = Vec::new();
    flate2::read::MultiGzDecoder::new(body)
        .take(64 << 20)
        .read_to_end(&mut inflated)
        .unwrap();
    inflated
}
