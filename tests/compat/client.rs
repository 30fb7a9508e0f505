//! Sends one request of OTLP JSON over HTTP, as a case's sender does.

use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// The answer's status; 0 when there is none.
pub(crate) async fn send(port: u16, body: Vec<u8>) -> u16 {
    try_send(port, body).await.unwrap_or_default()
}

async fn try_send(port: u16, body: Vec<u8>) -> Option<u16> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.ok()?;
    let request = Request::post("/v1/traces")
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body)))
        .ok()?;
    let exchange = async {
        let answer = sender.send_request(request).await.ok()?;
        let status = answer.status().as_u16();
        answer.into_body().collect().await.ok()?;
        drop(sender);
        Some(status)
    };
    let (status, _) = tokio::join!(exchange, connection);
    status
}
