//! Senders: OTLP over gRPC (tonic's own client), HTTP with protobuf, HTTP with JSON.

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use prost::Message;
use tonic::transport::{Channel, Endpoint};

/// A gRPC client that connects with its first call.
pub(crate) fn grpc(port: u16) -> TraceServiceClient<Channel> {
    TraceServiceClient::new(
        Endpoint::from_shared(format!("http://127.0.0.1:{port}"))
            .unwrap()
            .connect_lazy(),
    )
}

/// Sends over gRPC; every span must be taken.
pub(crate) async fn send_grpc(port: u16, request: ExportTraceServiceRequest) {
    let answer = grpc(port).export(request).await.unwrap().into_inner();
    assert_eq!(answer, ExportTraceServiceResponse::default());
}

/// Sends a body of protobuf over HTTP; every span must be taken.
pub(crate) async fn send_protobuf(port: u16, body: Vec<u8>) {
    let (status, answer) = post(port, "application/x-protobuf", body).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        ExportTraceServiceResponse::decode(answer).unwrap(),
        ExportTraceServiceResponse::default()
    );
}

/// Sends a body of JSON over HTTP; every span must be taken.
pub(crate) async fn send_json(port: u16, body: Vec<u8>) {
    let (status, answer) = post(port, "application/json", body).await;
    // As the Collector says that nothing was rejected.
    assert_eq!(
        (status, answer.as_ref()),
        (StatusCode::OK, &br#"{"partialSuccess":{}}"#[..])
    );
}

async fn post(port: u16, kind: &str, body: Vec<u8>) -> (StatusCode, Bytes) {
    post_to(port, "/v1/traces", kind, body).await
}

/// POST of any path.
pub(crate) async fn post_to(
    port: u16,
    path: &str,
    kind: &str,
    body: Vec<u8>,
) -> (StatusCode, Bytes) {
    let uri = format!("http://127.0.0.1:{port}{path}");
    let request = Request::builder()
        .method(Method::POST)
        .uri(uri)
        .header("content-type", kind);
    ask(request.body(Full::from(body)).unwrap()).await.unwrap()
}

/// GET; `None` when nobody answers.
pub(crate) async fn get(port: u16, path: &str) -> Option<(StatusCode, String)> {
    let request = Request::get(format!("http://127.0.0.1:{port}{path}"))
        .body(Full::default())
        .unwrap();
    let (status, body) = ask(request).await?;
    Some((status, String::from_utf8(body.to_vec()).unwrap()))
}

async fn ask(request: Request<Full<Bytes>>) -> Option<(StatusCode, Bytes)> {
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let response = client.request(request).await.ok()?;
    let status = response.status();
    Some((
        status,
        response.into_body().collect().await.ok()?.to_bytes(),
    ))
}
