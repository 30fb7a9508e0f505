//! OTLP/HTTP, end to end.

use super::http_client::{Running, answered, start};
use super::recorder::{BUDGET, Recorder, eventually};
use crate::otlp::{Accepted, Refusal};
use crate::receivers::rpc_status::RpcStatus;
use crate::receivers::{CorsSettings, OtlpHttpSettings, RefusalReason, Transport};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http::{HeaderMap, HeaderName, HeaderValue};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use prost::Message;
use std::io::Write;
use std::time::Duration;
use tokio_util::task::TaskTracker;

const PROTOBUF: (&str, &str) = ("content-type", "application/x-protobuf");
const JSON: (&str, &str) = ("content-type", "application/json");
const JS_EXPORTER: &[u8] = include_bytes!("../../../tests/fixtures/otlp/js-exporter-tool.json");
const LITELLM: &[u8] = include_bytes!("../../../tests/fixtures/otlp/litellm-proxy.pb");

async fn start_default(recorder: std::sync::Arc<Recorder>) -> Running {
    start(recorder, BUDGET, OtlpHttpSettings::default()).await
}

fn compressed(coding: &str, data: &[u8]) -> Vec<u8> {
    match coding {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
        "deflate" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
        _ => zstd::bulk::compress(data, 1).unwrap(),
    }
}

#[tokio::test]
async fn requests_are_taken_in_both_encodings_and_all_compressions() {
    let run = start_default(Recorder::accepting()).await;
    let from_json: ExportTraceServiceRequest = serde_json::from_slice(JS_EXPORTER).unwrap();
    for coding in ["identity", "gzip", "deflate", "zstd"] {
        let coded = |data: &[u8]| {
            if coding == "identity" {
                data.to_vec()
            } else {
                compressed(coding, data)
            }
        };
        let answer = run
            .post(&[PROTOBUF, ("content-encoding", coding)], &coded(LITELLM))
            .await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("content-type")),
            (200, Some(PROTOBUF.1)),
            "{coding}"
        );
        assert_eq!(
            (
                answer.body.as_ref(),
                run.recorder.requests.lock().pop().unwrap().as_ref()
            ),
            (&[][..], LITELLM)
        );
        let answer = run
            .post(&[JSON, ("content-encoding", coding)], &coded(JS_EXPORTER))
            .await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("content-type")),
            (200, Some(JSON.1)),
            "{coding}"
        );
        assert_eq!(answer.text(), r#"{"partialSuccess":{}}"#);
        let taken = run.recorder.requests.lock().pop().unwrap();
        assert_eq!(
            ExportTraceServiceRequest::decode(taken).unwrap(),
            from_json,
            "{coding}"
        );
    }
    let empty = run.post(&[PROTOBUF], b"").await;
    assert_eq!(
        (empty.status.as_u16(), run.recorder.taken().as_slice()),
        (200, &[Bytes::new()][..])
    );
    let large = vec![7; 5_000_000];
    assert_eq!(run.post(&[PROTOBUF], &large).await.status, 200);
    assert_eq!(run.recorder.requests.lock().pop().unwrap(), large);
    let stats = run.stats.of(Transport::Http);
    assert_eq!(
        (stats.requests(), stats.accepted_spans(), run.budget.used()),
        (10, 10, 0)
    );
}

#[tokio::test]
async fn http_2_without_tls_is_served_on_the_same_port() {
    let run = start_default(Recorder::accepting()).await;
    let client = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http();
    for size in [0, 10, 3_000_000] {
        let answer = answered(
            &client,
            run.request("POST", "/v1/traces", &[PROTOBUF], &vec![1; size]),
        )
        .await;
        assert_eq!(
            (
                answer.status.as_u16(),
                run.recorder.requests.lock().pop().unwrap().len()
            ),
            (200, size)
        );
    }
}

#[tokio::test]
async fn bad_spans_are_a_partial_success_in_the_requests_encoding() {
    let accepted = Accepted {
        spans: 3,
        rejected: 2,
        reason: "trace id of 15 bytes".to_owned(),
    };
    let run = start_default(Recorder::answering(Ok(accepted))).await;
    let answer = run.post(&[JSON], b"{}").await;
    let expected = serde_json::json!({"partialSuccess": {"rejectedSpans": "2", "errorMessage": "trace id of 15 bytes"}});
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&answer.body).unwrap(),
        expected
    );
    let answer = run.post(&[PROTOBUF], b"").await;
    let partial = ExportTraceServiceResponse::decode(answer.body)
        .unwrap()
        .partial_success
        .unwrap();
    assert_eq!(
        (partial.rejected_spans, partial.error_message.as_str()),
        (2, "trace id of 15 bytes")
    );
}

#[tokio::test]
async fn every_refusal_has_its_status_in_the_requests_encoding() {
    let full = |millis| Refusal::Full {
        reason: "log",
        retry_after: Duration::from_millis(millis),
    };
    let table = [
        (Refusal::Malformed("no".to_owned()), 400, 3, None),
        (Refusal::TooLarge { bytes: 9, limit: 8 }, 413, 8, None),
        (full(10), 429, 8, Some("1")),
        (full(1500), 429, 8, Some("2")),
        (Refusal::Stopping, 503, 14, Some("1")),
        (Refusal::Log("EIO".to_owned()), 503, 14, Some("5")),
    ];
    for (refusal, status, code, retry) in table {
        let run = start_default(Recorder::answering(Err(refusal.clone()))).await;
        let message = refusal.to_string();
        let answer = run.post(&[PROTOBUF], LITELLM).await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("retry-after")),
            (status, retry),
            "{refusal}"
        );
        let body = RpcStatus::decode(answer.body).unwrap();
        assert_eq!(
            (body.code, &body.message, body.details.is_empty()),
            (code, &message, retry.is_none()),
            "{refusal}"
        );
        let answer = run.post(&[JSON], JS_EXPORTER).await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("retry-after")),
            (status, retry),
            "{refusal}"
        );
        let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(body, serde_json::json!({"code": code, "message": message}));
        assert_eq!(
            run.stats
                .of(Transport::Http)
                .refused(RefusalReason::from(&refusal)),
            2
        );
        assert_eq!(run.budget.used(), 0);
    }
}

#[tokio::test]
async fn what_is_not_otlp_traces_is_said_so() {
    let run = start_default(Recorder::accepting()).await;
    type Header = (&'static str, &'static str);
    type Case = (
        &'static str,
        &'static str,
        &'static [Header],
        u16,
        Option<Header>,
    );
    let table: [Case; 7] = [
        ("POST", "/", &[PROTOBUF], 404, None),
        ("POST", "/v1/logs", &[PROTOBUF], 404, None),
        ("GET", "/v1/traces", &[], 405, Some(("allow", "POST"))),
        (
            "OPTIONS",
            "/v1/traces",
            &[
                ("origin", "https://a"),
                ("access-control-request-method", "POST"),
            ],
            405,
            None,
        ),
        ("POST", "/v1/traces", &[], 415, None),
        (
            "POST",
            "/v1/traces",
            &[("content-type", "text/plain")],
            415,
            None,
        ),
        (
            "POST",
            "/v1/traces",
            &[PROTOBUF, ("content-encoding", "br")],
            415,
            Some(("accept-encoding", "gzip, zstd, deflate")),
        ),
    ];
    for (method, path, headers, status, header) in table {
        let answer = run
            .send(run.request(method, path, headers, b"some body"))
            .await;
        assert_eq!(
            answer.status.as_u16(),
            status,
            "{method} {path} {headers:?}"
        );
        if let Some((name, value)) = header {
            assert_eq!(answer.header(name), Some(value));
        }
    }
    assert_eq!(
        (
            run.recorder.taken().len(),
            run.stats
                .of(Transport::Http)
                .refused(RefusalReason::Unsupported)
        ),
        (0, 7)
    );
}

#[tokio::test]
async fn bad_bodies_have_exact_answers_that_quote_nothing() {
    let settings = OtlpHttpSettings {
        max_request_body_size: 100_000,
        ..OtlpHttpSettings::default()
    };
    let run = start(Recorder::accepting(), BUDGET, settings).await;
    let over = r#"{"code":8,"message":"request of 100001 bytes is over the limit of 100000"}"#;
    let broken = r#"{"code":3,"message":"malformed OTLP request: the compressed body is broken or cut short"}"#;
    let cut_json =
        r#"{"code":3,"message":"malformed OTLP request: JSON cut short at line 1 column 18"}"#;
    let ids = concat!(
        r#"{"code":3,"message":"malformed OTLP request: the value of traceId is not one it can have: ids are hex in "#,
        r#"OTLP/JSON, never base64 at line 1 column 80"}"#
    );
    let base64_id = br#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"AQIDBAUGBwgJCgsMDQ4PEA==" }]}]}]}"#;
    let gzip = |data: &[u8]| compressed("gzip", data);
    let cut_gzip = gzip(&[b' '; 1000])[..20].to_vec();
    let table: [(&str, Vec<u8>, u16, &str); 9] = [
        ("identity", br#"{"resourceSpans":["#.to_vec(), 400, cut_json),
        ("identity", base64_id.to_vec(), 400, ids),
        ("identity", vec![b' '; 100_001], 413, over),
        ("gzip", gzip(&[b' '; 100_001]), 413, over),
        ("zstd", compressed("zstd", &[b' '; 100_001]), 413, over),
        (
            "deflate",
            compressed("deflate", &[b' '; 100_001]),
            413,
            over,
        ),
        ("gzip", cut_gzip, 400, broken),
        ("zstd", b"{}".to_vec(), 400, broken),
        ("gzip", Vec::new(), 400, broken),
    ];
    for (coding, body, status, message) in table {
        let answer = run.post(&[JSON, ("content-encoding", coding)], &body).await;
        assert_eq!(
            (answer.status.as_u16(), answer.text()),
            (status, message),
            "{coding}"
        );
    }
    for coding in ["gzip", "zstd", "deflate"] {
        let mut exact = b"{}".to_vec();
        exact.resize(100_000, b' ');
        let answer = run
            .post(
                &[JSON, ("content-encoding", coding)],
                &compressed(coding, &exact),
            )
            .await;
        assert_eq!(answer.status.as_u16(), 200, "{coding}");
        let bomb = compressed(coding, &vec![0; 4 << 20]);
        assert_eq!(
            run.post(&[PROTOBUF, ("content-encoding", coding)], &bomb)
                .await
                .status
                .as_u16(),
            413,
            "{coding}"
        );
    }
    assert_eq!((run.recorder.taken().len(), run.budget.used()), (3, 0));
}

#[tokio::test]
async fn a_full_budget_is_429_and_recovers() {
    let recorder = Recorder::closed();
    let run = start(recorder.clone(), 1_000_000, OtlpHttpSettings::default()).await;
    let (client, request) = (
        run.client.clone(),
        run.request("POST", "/v1/traces", &[PROTOBUF], &vec![0; 900_000]),
    );
    let holding = TaskTracker::new().spawn(async move { answered(&client, request).await });
    let budget = run.budget.clone();
    eventually("the first request is held", || budget.used() == 900_000).await;
    for (headers, body) in [
        (vec![PROTOBUF], vec![0; 100_001]),
        (
            vec![PROTOBUF, ("content-encoding", "gzip")],
            compressed("gzip", &vec![0; 200_000]),
        ),
        (
            vec![JSON],
            format!("{{{}}}", " ".repeat(60_000)).into_bytes(),
        ),
    ] {
        let answer = run.post(&headers, &body).await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("retry-after")),
            (429, Some("1")),
            "{headers:?}"
        );
        assert_eq!(run.budget.used(), 900_000);
    }
    recorder.open();
    assert_eq!(holding.await.unwrap().status.as_u16(), 200);
    assert_eq!(
        run.post(&[PROTOBUF], &vec![0; 1_000_000])
            .await
            .status
            .as_u16(),
        200
    );
    assert_eq!(run.budget.used(), 0);
}

#[tokio::test]
async fn shutdown_finishes_what_is_in_flight() {
    let recorder = Recorder::closed();
    let run = start(recorder.clone(), BUDGET, OtlpHttpSettings::default()).await;
    let calls = TaskTracker::new();
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            let (client, request) = (
                run.client.clone(),
                run.request("POST", "/v1/traces", &[PROTOBUF], &[0; 1000]),
            );
            calls.spawn(async move { answered(&client, request).await })
        })
        .collect();
    let budget = run.budget.clone();
    eventually("all are in flight", || budget.used() == 20_000).await;
    run.shutdown.cancel();
    eventually("the port is closed", || {
        std::net::TcpStream::connect(run.address).is_err()
    })
    .await;
    recorder.open();
    for call in waiting {
        assert_eq!(call.await.unwrap().status.as_u16(), 200);
    }
    run.server.await.unwrap();
    assert_eq!((recorder.taken().len(), run.budget.used()), (20, 0));
}

#[tokio::test]
async fn browsers_are_answered_as_the_cors_settings_say() {
    let cors = CorsSettings {
        allowed_origins: vec!["https://*.example".to_owned()],
        allowed_headers: vec!["X-Tenant".to_owned()],
        exposed_headers: vec!["Retry-After".to_owned(), "X-Served-By".to_owned()],
        max_age: Some(7200),
    };
    let run = start(
        Recorder::accepting(),
        BUDGET,
        OtlpHttpSettings {
            cors: Some(cors),
            ..Default::default()
        },
    )
    .await;
    let ask = async |origin: &str, method: &str, headers: &str| {
        let asked = [
            ("origin", origin),
            ("access-control-request-method", method),
            ("access-control-request-headers", headers),
        ];
        let answer = run
            .send(run.request("OPTIONS", "/v1/traces", &asked, b""))
            .await;
        assert_eq!(answer.status.as_u16(), 204);
        let header = |name| answer.header(name).map(str::to_owned);
        (
            header("access-control-allow-origin"),
            header("access-control-allow-headers"),
            header("access-control-max-age"),
        )
    };
    let some = |text: &str| Some(text.to_owned());
    let allowed = (
        some("https://a.example"),
        some("content-type,x-tenant"),
        some("7200"),
    );
    assert_eq!(
        ask("https://a.example", "POST", "content-type,x-tenant").await,
        allowed
    );
    for (origin, method, headers) in [
        ("https://a.evil", "POST", "content-type"),
        ("https://a.example", "DELETE", "content-type"),
        ("https://a.example", "POST", "authorization"),
    ] {
        assert_eq!(
            ask(origin, method, headers).await,
            (None, None, None),
            "{origin} {method} {headers}"
        );
    }
    let answer = run
        .post(&[JSON, ("origin", "https://a.example")], b"{}")
        .await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("vary")),
        (200, Some("Origin"))
    );
    assert_eq!(
        answer.header("access-control-allow-origin"),
        Some("https://a.example")
    );
    assert_eq!(
        answer.header("access-control-allow-credentials"),
        Some("true")
    );
    assert_eq!(
        answer.header("access-control-expose-headers"),
        Some("Retry-After, X-Served-By")
    );
    let answer = run.post(&[JSON, ("origin", "https://a.evil")], b"{}").await;
    assert_eq!(
        (
            answer.status.as_u16(),
            answer.header("access-control-allow-origin")
        ),
        (200, None)
    );
}

#[tokio::test]
async fn configured_headers_stand_in_every_answer() {
    let response_headers = HeaderMap::from_iter([(
        HeaderName::from_static("x-served-by"),
        HeaderValue::from_static("t"),
    )]);
    let run = start(
        Recorder::accepting(),
        BUDGET,
        OtlpHttpSettings {
            response_headers,
            ..Default::default()
        },
    )
    .await;
    for (path, status) in [("/v1/traces", 200), ("/nowhere", 404)] {
        let answer = run.send(run.request("POST", path, &[JSON], b"{}")).await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("x-served-by")),
            (status, Some("t"))
        );
    }
}
