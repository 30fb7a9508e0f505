//! hyper's own client, and a running HTTP receiver.

use super::recorder::{Recorder, destination};
use crate::otlp::IntakeBudget;
use crate::receivers::{OtlpHttp, OtlpHttpSettings, ReceiverStats, bind};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(super) struct Running {
    pub(super) address: SocketAddr,
    pub(super) client: Client<HttpConnector, Full<Bytes>>,
    pub(super) recorder: Arc<Recorder>,
    pub(super) budget: IntakeBudget,
    pub(super) stats: Arc<ReceiverStats>,
    pub(super) shutdown: CancellationToken,
    pub(super) server: JoinHandle<()>,
}

#[derive(Debug)]
pub(super) struct Answered {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Answered {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

pub(super) async fn start(
    recorder: Arc<Recorder>,
    budget: u64,
    settings: OtlpHttpSettings,
) -> Running {
    let listener = bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let destination = destination(&recorder, budget);
    let (budget, stats) = (destination.budget.clone(), destination.stats.clone());
    let shutdown = CancellationToken::new();
    let receiver = OtlpHttp::new(settings, destination).unwrap();
    let server = TaskTracker::new().spawn(receiver.serve(listener, shutdown.clone()));
    let client = Client::builder(TokioExecutor::new()).build_http();
    Running {
        address,
        client,
        recorder,
        budget,
        stats,
        shutdown,
        server,
    }
}

impl Running {
    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> Answered {
        answered(&self.client, request).await
    }

    /// A request to this receiver.
    pub(super) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Request<Full<Bytes>> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request
            .body(Full::new(Bytes::copy_from_slice(body)))
            .unwrap()
    }

    pub(super) async fn post(&self, headers: &[(&str, &str)], body: &[u8]) -> Answered {
        self.send(self.request("POST", "/v1/traces", headers, body))
            .await
    }
}

pub(super) async fn answered(
    client: &Client<HttpConnector, Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> Answered {
    let (head, body) = client.request(request).await.unwrap().into_parts();
    Answered {
        status: head.status,
        headers: head.headers,
        body: body.collect().await.unwrap().to_bytes(),
    }
}
