//! A tonic server that answers by a script, with a runtime of its own so that it can be killed at once.

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;
use tonic::codec::CompressionEncoding;
use tonic::metadata::MetadataMap;
use tonic::transport::{Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

/// What a server does with its next call; OK when the script is over.
pub(super) enum Answer {
    Refuse(Status),
    Partial(i64, &'static str),
    Hang,
}

/// Shared by a server and the one that comes after it on the same port.
#[derive(Clone, Default)]
pub(super) struct Script {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    received: Arc<Mutex<Vec<(MetadataMap, ExportTraceServiceRequest)>>>,
}

impl Script {
    pub(super) fn then(&self, answer: Answer) {
        self.answers.lock().push_back(answer);
    }

    pub(super) fn received(&self) -> Vec<(MetadataMap, ExportTraceServiceRequest)> {
        self.received.lock().clone()
    }
}

#[tonic::async_trait]
impl TraceService for Script {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let (metadata, _, message) = request.into_parts();
        self.received.lock().push((metadata, message));
        let answer = self.answers.lock().pop_front();
        match answer {
            None => Ok(Response::new(ExportTraceServiceResponse::default())),
            Some(Answer::Refuse(status)) => Err(status),
            Some(Answer::Hang) => std::future::pending().await,
            Some(Answer::Partial(rejected_spans, message)) => {
                let partial = ExportTracePartialSuccess {
                    rejected_spans,
                    error_message: message.to_owned(),
                };
                Ok(Response::new(ExportTraceServiceResponse {
                    partial_success: Some(partial),
                }))
            }
        }
    }
}

/// A running server.
pub(super) struct GrpcServer {
    pub(super) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl GrpcServer {
    pub(super) fn start(script: &Script) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), script, None)
    }

    pub(super) fn start_at(
        address: SocketAddr,
        script: &Script,
        tls: Option<ServerTlsConfig>,
    ) -> Self {
        let listener = std::net::TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut server = Server::builder();
        if let Some(tls) = tls {
            server = server.tls_config(tls).unwrap();
        }
        let service = service(script);
        let (stop, thread) = run(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let incoming = tonic::transport::server::TcpIncoming::from(listener);
            server
                .add_service(service)
                .serve_with_incoming(incoming)
                .await
                .unwrap();
        });
        Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub(super) fn start_unix(path: &Path, script: &Script) -> Self {
        let (service, path) = (service(script), path.to_owned());
        let listener = std::os::unix::net::UnixListener::bind(path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (stop, thread) = run(async move {
            let listener = tokio::net::UnixListener::from_std(listener).unwrap();
            let incoming = tokio_stream::wrappers::UnixListenerStream::new(listener);
            Server::builder()
                .add_service(service)
                .serve_with_incoming(incoming)
                .await
                .unwrap();
        });
        Self {
            address: "127.0.0.1:0".parse().unwrap(),
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for GrpcServer {
    /// Kills it: its runtime goes, and every connection with it.
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

fn service(script: &Script) -> TraceServiceServer<Script> {
    TraceServiceServer::new(script.clone())
        .accept_compressed(CompressionEncoding::Gzip)
        .accept_compressed(CompressionEncoding::Zstd)
        .send_compressed(CompressionEncoding::Gzip)
}

pub(super) fn run(
    server: impl Future<Output = ()> + Send + 'static,
) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = oneshot::channel::<()>();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            tokio::select! {
                () = server => {}
                _ = stopped => {}
            }
        });
    });
    (stop, thread)
}
