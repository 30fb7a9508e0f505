//! Requests that are sent but for their last byte: the receiver holds their bodies, charged to the intake budget.

use bytes::Bytes;
use http::Request;
use http_body::Frame;
use http_body_util::StreamBody;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_stream::StreamExt;

type Frames =
    std::pin::Pin<Box<dyn tokio_stream::Stream<Item = Result<Frame<Bytes>, Infallible>> + Send>>;

const EXPORT: &str = "http://localhost/opentelemetry.proto.collector.trace.v1.TraceService/Export";
/// A refusal comes at once; a stalled request is never answered.
const PATIENCE: Duration = Duration::from_millis(150);

/// Holds them as long as it lives.
#[derive(Debug)]
pub struct Stalled {
    requests: JoinSet<()>,
    /// How many the receiver holds.
    pub held: usize,
}

impl Stalled {
    /// Sends `message` (with its gRPC prefix) again and again until the receiver takes no more.
    pub async fn fill(address: SocketAddr, message: &Bytes) -> Self {
        let connection = connect(address).await;
        let mut out = Self {
            requests: JoinSet::new(),
            held: 0,
        };
        while send(&mut out.requests, connection.clone(), message).await {
            out.held += 1;
        }
        out
    }
}

async fn connect(address: SocketAddr) -> SendRequest<StreamBody<Frames>> {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let (sender, driver) = Builder::new(TokioExecutor::new())
        .max_send_buf_size(1 << 20)
        .handshake(TokioIo::new(stream))
        .await
        .expect("HTTP/2");
    #[allow(
        clippy::disallowed_methods,
        reason = "it ends with the connection, which `Stalled` owns"
    )]
    tokio::spawn(driver);
    sender
}

/// Whether the request was left waiting.
async fn send(
    requests: &mut JoinSet<()>,
    mut connection: SendRequest<StreamBody<Frames>>,
    message: &Bytes,
) -> bool {
    let most = Frame::data(message.slice(..message.len() - 1));
    let frames = tokio_stream::once(Ok(most)).chain(tokio_stream::pending());
    let request = Request::post(EXPORT)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(StreamBody::new(Box::pin(frames) as Frames))
        .expect("a request");
    let (answered, answer) = tokio::sync::oneshot::channel();
    requests.spawn(async move {
        let response = connection.send_request(request).await;
        let _ = answered.send(());
        drop(response);
    });
    timeout(PATIENCE, answer).await.is_err()
}
