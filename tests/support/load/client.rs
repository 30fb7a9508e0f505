//! OTLP/gRPC as a sender sees it: one HTTP/2 connection, made anew when it breaks.

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;

const EXPORT: &str = "http://localhost/opentelemetry.proto.collector.trace.v1.TraceService/Export";
/// A daemon that answers no request within this is dead.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// In the log; the response message (empty, or a partial success).
    Taken(Bytes),
    /// Not in the log.
    Refused {
        code: u32,
        message: String,
        retry: Option<Duration>,
    },
    /// Nobody knows.
    None,
    /// No connection could be made: not sent.
    Unreachable,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Client {
    address: SocketAddr,
    connection: Mutex<Option<SendRequest<Full<Bytes>>>>,
    tasks: TaskTracker,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            connection: Mutex::default(),
            tasks: TaskTracker::new(),
        }
    }

    /// Sends one export request; `message` without the gRPC prefix.
    pub(crate) async fn export(&self, message: &Bytes) -> Answer {
        self.send(frame(message)).await
    }

    /// Sends a body as it is.
    pub(crate) async fn send(&self, body: Bytes) -> Answer {
        let Some(mut connection) = self.connection().await else {
            return Answer::Unreachable;
        };
        let request = Request::post(EXPORT)
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(Full::new(body))
            .unwrap();
        let answer = async {
            let (head, body) = connection.send_request(request).await.ok()?.into_parts();
            if head.headers.contains_key("grpc-status") {
                return answer_of(&head.headers, &Bytes::new());
            }
            let body = body.collect().await.ok()?;
            let trailers = body.trailers().cloned().unwrap_or_default();
            answer_of(&trailers, &body.to_bytes())
        };
        match tokio::time::timeout(TIMEOUT, answer).await {
            Ok(Some(answer)) => answer,
            Ok(None) | Err(_) => {
                *self.connection.lock().await = None;
                Answer::None
            }
        }
    }

    async fn connection(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut connection = self.connection.lock().await;
        if let Some(open) = connection.as_ref().filter(|open| !open.is_closed()) {
            return Some(open.clone());
        }
        let stream = TcpStream::connect(self.address).await.ok()?;
        stream.set_nodelay(true).ok()?;
        let (sender, driver) = Builder::new(TokioExecutor::new())
            .initial_stream_window_size(1 << 20)
            .initial_connection_window_size(4 << 20)
            .max_send_buf_size(1 << 20)
            .handshake(TokioIo::new(stream))
            .await
            .ok()?;
        self.tasks.spawn(async move { drop(driver.await) });
        *connection = Some(sender.clone());
        Some(sender)
    }
}

/// `message` with the gRPC prefix.
pub(crate) fn frame(message: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(message.len() + 5);
    framed.put_u8(0);
    framed.put_u32(u32::try_from(message.len()).unwrap());
    framed.extend_from_slice(message);
    framed.freeze()
}

fn answer_of(headers: &HeaderMap, body: &Bytes) -> Option<Answer> {
    let code: u32 = headers.get("grpc-status")?.to_str().ok()?.parse().ok()?;
    if code == 0 {
        return Some(Answer::Taken(body.slice(5.min(body.len())..)));
    }
    let status = tonic::Status::from_header_map(headers)?;
    Some(Answer::Refused {
        code,
        message: status.message().to_owned(),
        retry: retry_of(status.details()),
    })
}

/// `google.rpc.Status.details[0]`: Any(RetryInfo).
fn retry_of(details: &[u8]) -> Option<Duration> {
    #[derive(prost::Message)]
    struct Any {
        #[prost(string, tag = "1")]
        type_url: String,
        #[prost(bytes = "vec", tag = "2")]
        value: Vec<u8>,
    }
    #[derive(prost::Message)]
    struct RpcStatus {
        #[prost(message, repeated, tag = "3")]
        details: Vec<Any>,
    }
    #[derive(prost::Message)]
    struct Seconds {
        #[prost(int64, tag = "1")]
        seconds: i64,
        #[prost(int32, tag = "2")]
        nanos: i32,
    }
    #[derive(prost::Message)]
    struct RetryInfo {
        #[prost(message, optional, tag = "1")]
        delay: Option<Seconds>,
    }
    use prost::Message;
    let status = RpcStatus::decode(details).ok()?;
    let info = status
        .details
        .iter()
        .find(|any| any.type_url.ends_with("google.rpc.RetryInfo"))?;
    let delay = RetryInfo::decode(&info.value[..])
        .ok()?
        .delay
        .unwrap_or_default();
    Some(Duration::new(delay.seconds as u64, delay.nanos as u32))
}
