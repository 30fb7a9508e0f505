//! `otlphttp` against a hyper server.

use super::http_server::{HttpServer, Reply, Script};
use super::spans::{CANARY, assert_discreet, outgoing, request};
use crate::clock::{ManualClock, SECOND, SharedClock};
use crate::exporters::{
    Compression, ExporterKind, ExporterSettings, HttpEncoding, HttpTarget, OtlpHttpSettings,
    Outgoing, Secret, SendError, Sent, Transport, build,
};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::TaskTracker;

pub(super) fn to(endpoint: impl Into<String>) -> OtlpHttpSettings {
    OtlpHttpSettings::new(HttpTarget::Base(endpoint.into()))
}

pub(super) fn transport(http: OtlpHttpSettings) -> Arc<dyn Transport> {
    with_timeout(http, Duration::from_secs(60))
}

fn with_timeout(http: OtlpHttpSettings, timeout: Duration) -> Arc<dyn Transport> {
    // Sun, 06 Nov 1994 08:49:37 GMT, for dates in Retry-After.
    let clock: SharedClock = Arc::new(ManualClock::at(784_111_777 * SECOND));
    let settings = ExporterSettings {
        timeout,
        ..ExporterSettings::new("otlphttp", ExporterKind::OtlpHttp(http))
    };
    build(&settings, &TaskTracker::new(), clock).unwrap()
}

#[allow(clippy::disallowed_methods, reason = "the bytes are our own")]
fn unpack(body: &[u8], encoding: Option<&http::HeaderValue>) -> Vec<u8> {
    match encoding.map(http::HeaderValue::as_bytes) {
        None => body.to_vec(),
        Some(b"zstd") => zstd::decode_all(body).unwrap(),
        Some(b"gzip") => {
            let mut unpacked = Vec::new();
            flate2::read::GzDecoder::new(body)
                .read_to_end(&mut unpacked)
                .unwrap();
            unpacked
        }
        Some(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn spans_and_headers_arrive_in_every_form() {
    let script = Script::default();
    let server = HttpServer::start(&script);
    for encoding in [HttpEncoding::Proto, HttpEncoding::Json] {
        for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
            let headers = vec![("X-Tenant".to_owned(), Secret::new("blue"))];
            let http = OtlpHttpSettings {
                encoding,
                compression,
                headers,
                ..to(format!("http://{}", server.address))
            };
            assert_eq!(transport(http).send(outgoing(3)).await, Ok(Sent::All));
            let received = script.received().pop().unwrap();
            assert_eq!(received.path, "/v1/traces");
            assert_eq!(received.headers["x-tenant"], "blue");
            let body = unpack(&received.body, received.headers.get("content-encoding"));
            let (kind, message) = match encoding {
                HttpEncoding::Proto => (
                    "application/x-protobuf",
                    ExportTraceServiceRequest::decode(&*body).unwrap(),
                ),
                HttpEncoding::Json => ("application/json", serde_json::from_slice(&body).unwrap()),
            };
            assert_eq!(message, request(3));
            assert_eq!(received.headers["content-type"], kind);
        }
    }
}

#[tokio::test]
async fn a_large_payload_is_compressed_as_well() {
    let script = Script::default();
    let server = HttpServer::start(&script);
    let large = request(255).encode_to_vec().repeat(4);
    let out = Outgoing {
        telemetry: crate::otlp::Telemetry::Traces,
        request: large.clone().into(),
        spans: 1020,
        traces: 255,
    };
    assert_eq!(
        transport(to(format!("http://{}", server.address)))
            .send(out)
            .await,
        Ok(Sent::All)
    );
    let received = script.received().pop().unwrap();
    assert_eq!(
        unpack(&received.body, received.headers.get("content-encoding")),
        large
    );
}

#[tokio::test]
async fn the_target_is_a_base_or_the_whole_url() {
    let script = Script::default();
    let server = HttpServer::start(&script);
    let check = async |target: HttpTarget, path: &str| {
        assert_eq!(
            transport(OtlpHttpSettings::new(target))
                .send(outgoing(1))
                .await,
            Ok(Sent::All)
        );
        assert_eq!(script.received().pop().unwrap().path, path);
    };
    let url = |path: &str| format!("http://{}{path}", server.address);
    check(HttpTarget::Base(url("")), "/v1/traces").await;
    check(HttpTarget::Base(url("/")), "/v1/traces").await;
    check(HttpTarget::Base(url("/otlp/")), "/otlp/v1/traces").await;
    check(HttpTarget::Traces(url("/ingest")), "/ingest").await;
}

#[tokio::test]
async fn statuses_and_retry_after() {
    let script = Script::default();
    let server = HttpServer::start(&script);
    let transport = transport(to(format!("http://{}", server.address)));
    let check = async |status: u16, retry_after: Option<&str>, expected: Option<u64>| {
        let headers = retry_after
            .map(|value| ("retry-after", value.to_owned()))
            .into_iter();
        let location = ("location", format!("http://{}/moved", server.address));
        script.then(Reply::With {
            status,
            headers: headers.chain([location]).collect(),
            body: CANARY.into(),
        });
        let outcome = transport.send(outgoing(1)).await;
        assert_discreet(&outcome);
        let asked = expected.map(Duration::from_secs);
        match outcome.unwrap_err() {
            SendError::Retry { after, .. } => {
                assert!(matches!(status, 429 | 502 | 503 | 504), "{status}");
                assert_eq!(after, asked);
            }
            SendError::Unusable { reason } => {
                assert!(
                    matches!(status, 301 | 307 | 308 | 401 | 403..=405 | 415),
                    "{reason}"
                );
            }
            SendError::Permanent { reason } => {
                assert!(
                    matches!(status, 400 | 408 | 413 | 500 | 501 | 507),
                    "{reason}"
                );
            }
        }
    };
    for status in [
        301, 307, 308, 400, 401, 403, 404, 405, 408, 413, 415, 429, 500, 501, 502, 503, 504, 507,
    ] {
        check(status, None, None).await;
    }
    check(429, Some("17"), Some(17)).await;
    check(503, Some("Sun, 06 Nov 1994 08:50:37 GMT"), Some(60)).await;
    check(503, Some("canary"), None).await;
    check(400, Some("17"), None).await;
    assert!(
        script
            .received()
            .iter()
            .all(|received| received.path == "/v1/traces"),
        "no redirect was followed"
    );
    assert!(
        script
            .received()
            .iter()
            .all(|received| received.connection == 1),
        "one connection did for all"
    );
}

#[tokio::test]
async fn partial_success_in_both_encodings() {
    let script = Script::default();
    let server = HttpServer::start(&script);
    let transport = transport(to(format!("http://{}", server.address)));
    let check = async |kind: &str, body: &[u8], expected: u64| {
        let headers = vec![("content-type", kind.to_owned())];
        script.then(Reply::With {
            status: 200,
            headers,
            body: body.to_vec(),
        });
        let sent = transport.send(outgoing(3)).await.unwrap();
        assert_discreet(&sent);
        let rejected = match sent {
            Sent::All => 0,
            Sent::Partial { rejected, .. } => rejected,
        };
        assert_eq!(rejected, expected, "{kind}");
    };
    let partial = ExportTracePartialSuccess {
        rejected_spans: 2,
        error_message: CANARY.to_owned(),
    };
    let proto = ExportTraceServiceResponse {
        partial_success: Some(partial),
    }
    .encode_to_vec();
    let json = format!(r#"{{"partialSuccess":{{"rejectedSpans":"2","errorMessage":"{CANARY}"}}}}"#);
    check("application/x-protobuf", &proto, 2).await;
    check("application/json", json.as_bytes(), 2).await;
    check("application/json; charset=utf-8", json.as_bytes(), 2).await;
    check("application/json", b"{\"partialSuccess\":{}}", 0).await;
    check("text/html", json.as_bytes(), 0).await;
    check("application/x-protobuf", b"\xff\xff", 0).await;
    check("application/json", &vec![b' '; 1 << 20], 0).await;
}

#[tokio::test]
async fn a_server_that_was_killed_and_comes_back_is_found_again() {
    let script = Script::default();
    // An address of its own: on 127.0.0.1 another test may take the port in between.
    let server = HttpServer::start_at("127.77.0.3:0".parse().unwrap(), &script, None);
    let address = server.address;
    let transport = transport(to(format!("http://{address}")));
    assert_eq!(transport.send(outgoing(1)).await, Ok(Sent::All));
    script.then(Reply::Hang);
    let kill = async {
        while script.received().len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::task::spawn_blocking(move || drop(server))
            .await
            .unwrap();
    };
    let (cut, ()) = tokio::join!(transport.send(outgoing(1)), kill);
    assert_eq!(
        cut,
        Err(SendError::retry(
            "HTTP: the connection was closed by the server"
        ))
    );
    assert_eq!(
        transport.send(outgoing(1)).await,
        Err(SendError::retry("HTTP: connection refused"))
    );
    let _server = HttpServer::start_at(address, &script, None);
    assert_eq!(transport.send(outgoing(1)).await, Ok(Sent::All));
}

#[tokio::test]
async fn a_request_without_an_answer_ends_in_time() {
    let script = Script::default();
    let server = HttpServer::start(&script);
    let transport = with_timeout(
        to(format!("http://{}", server.address)),
        Duration::from_secs(2),
    );
    script.then(Reply::Hang);
    assert_eq!(
        transport.send(outgoing(1)).await,
        Err(SendError::retry("HTTP: no answer in time"))
    );
    assert_eq!(transport.send(outgoing(1)).await, Ok(Sent::All));
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_at_start() {
    let check = |http: OtlpHttpSettings, expected: &str| {
        let settings = ExporterSettings::new("otlphttp", ExporterKind::OtlpHttp(http));
        let error =
            build(&settings, &TaskTracker::new(), Arc::new(ManualClock::at(0))).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_discreet(&error);
    };
    let header = |name: &str, value: &str| OtlpHttpSettings {
        headers: vec![(name.to_owned(), Secret::new(value))],
        ..to("http://collector:4318")
    };
    check(to("collector:4318"), "endpoint: is not a URL");
    check(to("ftp://collector"), "endpoint: is not a URL that begins");
    check(to(""), "endpoint: is not a URL");
    check(
        OtlpHttpSettings::new(HttpTarget::Traces("http://".to_owned())),
        "traces_endpoint: is not a URL",
    );
    check(to("http://user:canary@collector"), "Authorization header");
    check(
        OtlpHttpSettings::new(HttpTarget::Traces("x".to_owned())),
        "traces_endpoint: is not a URL",
    );
    check(header("bad name", "canary"), "headers: `bad name`");
    check(header("x", "canary\n"), "headers: the value of `x`");
    let keyed = HttpTarget::Traces("http://collector/v1/traces?key=canary".to_owned());
    assert_discreet(&transport(OtlpHttpSettings {
        target: keyed,
        ..header("x", "canary")
    }));
}

/// What speaks another protocol is no server, and no reason to give spans up.
#[tokio::test]
async fn a_server_that_speaks_nonsense_is_worth_another_try() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, thread) = super::grpc_server::run(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, CANARY.repeat(100).as_bytes())
                .await;
        }
    });
    let grpc = super::grpc::transport(super::grpc::insecure(&address.to_string()));
    for transport in [transport(to(format!("http://{address}"))), grpc] {
        let outcome = transport.send(outgoing(1)).await;
        assert!(
            matches!(outcome, Err(SendError::Retry { .. })),
            "{outcome:?}"
        );
        assert_discreet(&outcome);
    }
    drop(stop);
    thread.join().unwrap();
}

/// tonic panics on a status whose details are not base64; we must not.
#[tokio::test]
async fn a_grpc_status_with_malformed_details_still_counts() {
    let script = Script::default();
    let server = HttpServer::start(&script);
    let transport = super::grpc::transport(super::grpc::insecure(&server.address.to_string()));
    let bad = ("grpc-status-details-bin", "not base64!");
    script.then(Reply::Trailers(vec![("grpc-status", "14"), bad]));
    let in_trailers = transport.send(outgoing(1)).await;
    assert!(
        matches!(in_trailers, Err(SendError::Retry { .. })),
        "{in_trailers:?}"
    );
    let headers = [
        ("content-type", "application/grpc"),
        ("grpc-status", "3"),
        bad,
    ];
    let headers = headers
        .into_iter()
        .map(|(name, value)| (name, value.to_owned()))
        .collect();
    script.then(Reply::With {
        status: 200,
        headers,
        body: Vec::new(),
    });
    let in_headers = transport.send(outgoing(1)).await;
    assert!(
        matches!(in_headers, Err(SendError::Permanent { .. })),
        "{in_headers:?}"
    );
    assert_discreet(&(in_trailers, in_headers));
}

#[tokio::test]
async fn a_proxy_that_knows_no_grpc_is_understood() {
    let script = Script::default();
    let server = HttpServer::start(&script);
    let transport = super::grpc::transport(super::grpc::insecure(&server.address.to_string()));
    for status in [301, 400, 401, 403, 404, 429, 500, 502, 503, 504] {
        script.then(Reply::status(status));
        let outcome = transport.send(outgoing(1)).await;
        assert_discreet(&outcome);
        let is_retry = matches!(outcome, Err(SendError::Retry { .. }));
        assert_eq!(
            is_retry,
            matches!(status, 429 | 502 | 503 | 504),
            "{status}: {outcome:?}"
        );
    }
}
