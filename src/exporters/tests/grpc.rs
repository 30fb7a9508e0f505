//! `otlp` against a tonic server.

use super::grpc_server::{Answer, GrpcServer, Script, run};
use super::spans::{CANARY, assert_discreet, outgoing, request};
use crate::clock::SystemClock;
use crate::exporters::{
    Compression, ExporterKind, ExporterSettings, OtlpGrpcSettings, Secret, SendError, Sent,
    TlsClientSettings, Transport, build,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio_util::task::TaskTracker;
use tonic::{Code, Status};

pub(super) fn insecure(endpoint: &str) -> OtlpGrpcSettings {
    let tls = TlsClientSettings {
        insecure: true,
        ..TlsClientSettings::default()
    };
    OtlpGrpcSettings {
        tls,
        ..OtlpGrpcSettings::new(endpoint)
    }
}

pub(super) fn transport(grpc: OtlpGrpcSettings) -> Arc<dyn Transport> {
    with_timeout(grpc, Duration::from_secs(60))
}

fn with_timeout(grpc: OtlpGrpcSettings, timeout: Duration) -> Arc<dyn Transport> {
    let settings = ExporterSettings {
        timeout,
        ..ExporterSettings::new("otlp", ExporterKind::OtlpGrpc(grpc))
    };
    build(&settings, &TaskTracker::new(), Arc::new(SystemClock::new())).unwrap()
}

#[tokio::test]
async fn spans_and_headers_arrive_in_every_compression() {
    let script = Script::default();
    let server = GrpcServer::start(&script);
    for (compression, encoding) in [
        (Compression::None, None),
        (Compression::Gzip, Some("gzip")),
        (Compression::Zstd, Some("zstd")),
    ] {
        let headers = vec![
            ("X-Tenant".to_owned(), Secret::new("blue")),
            ("trace-bin".to_owned(), Secret::new("\u{1}raw")),
        ];
        let grpc = OtlpGrpcSettings {
            compression,
            headers,
            ..insecure(&server.address.to_string())
        };
        assert_eq!(transport(grpc).send(outgoing(3)).await, Ok(Sent::All));
        let (metadata, message) = script.received().pop().unwrap();
        assert_eq!(message, request(3));
        assert_eq!(metadata.get("x-tenant").unwrap(), "blue");
        assert_eq!(
            metadata
                .get_bin("trace-bin")
                .unwrap()
                .to_bytes()
                .unwrap()
                .as_ref(),
            b"\x01raw"
        );
        assert!(
            metadata
                .get("user-agent")
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("tailwater/")
        );
        assert!(metadata.contains_key("grpc-timeout"));
        assert_eq!(
            metadata
                .get("grpc-encoding")
                .map(|value| value.to_str().unwrap()),
            encoding
        );
    }
}

#[tokio::test]
async fn every_status_code_is_a_retry_or_an_end() {
    let script = Script::default();
    let server = GrpcServer::start(&script);
    let transport = transport(insecure(&server.address.to_string()));
    for code in (1..=16).map(Code::from_i32) {
        script.then(Answer::Refuse(Status::new(code, CANARY)));
        let error = transport.send(outgoing(1)).await.unwrap_err();
        let retry = [
            Code::Cancelled,
            Code::DeadlineExceeded,
            Code::Aborted,
            Code::OutOfRange,
            Code::Unavailable,
            Code::DataLoss,
        ];
        assert_eq!(
            matches!(error, SendError::Retry { after: None, .. }),
            retry.contains(&code),
            "{code:?}: {error}"
        );
        assert_discreet(&error);
    }
    assert_eq!(
        transport.send(outgoing(1)).await,
        Ok(Sent::All),
        "and the connection goes on"
    );
}

#[tokio::test]
async fn retry_info_and_partial_success_are_read() {
    let script = Script::default();
    let server = GrpcServer::start(&script);
    let transport = transport(insecure(&server.address.to_string()));
    // google.rpc.Status { details: [Any { RetryInfo { 2.5 s } }] }, by hand.
    let mut any =
        b"\x0a\x28type.googleapis.com/google.rpc.RetryInfo\x12\x0a\x0a\x08\x08\x02\x10".to_vec();
    any.extend(b"\x80\xca\xb5\xee\x01");
    let mut details = vec![0x1a, u8::try_from(any.len()).unwrap()];
    details.extend(any);
    script.then(Answer::Refuse(Status::with_details(
        Code::ResourceExhausted,
        CANARY,
        details.into(),
    )));
    let asked = match transport.send(outgoing(1)).await {
        Err(SendError::Retry { after, .. }) => after,
        other => panic!("{other:?}"),
    };
    assert_eq!(asked, Some(Duration::from_millis(2_500)));

    script.then(Answer::Partial(2, CANARY));
    let sent = transport.send(outgoing(3)).await.unwrap();
    assert!(
        matches!(sent, Sent::Partial { rejected: 2, .. }),
        "{sent:?}"
    );
    assert_discreet(&sent);
    script.then(Answer::Partial(0, CANARY));
    assert_eq!(transport.send(outgoing(3)).await, Ok(Sent::All));
}

#[tokio::test]
async fn a_server_that_was_killed_and_comes_back_is_found_again() {
    let script = Script::default();
    // An address of its own: on 127.0.0.1 another test may take the port in between.
    let server = GrpcServer::start_at("127.77.0.1:0".parse().unwrap(), &script, None);
    let address = server.address;
    let transport = transport(insecure(&address.to_string()));
    assert_eq!(transport.send(outgoing(1)).await, Ok(Sent::All));

    script.then(Answer::Hang);
    let kill = async {
        while script.received().len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::task::spawn_blocking(move || drop(server))
            .await
            .unwrap();
    };
    let (cut, ()) = tokio::join!(transport.send(outgoing(1)), kill);
    assert!(
        matches!(cut, Err(SendError::Retry { .. })),
        "in the middle of a call: {cut:?}"
    );
    let refused = transport.send(outgoing(1)).await;
    assert_eq!(refused, Err(SendError::retry("gRPC: connection refused")));

    let _server = GrpcServer::start_at(address, &script, None);
    assert_eq!(transport.send(outgoing(1)).await, Ok(Sent::All));
}

#[tokio::test]
async fn a_call_without_an_answer_ends_in_time() {
    let script = Script::default();
    let server = GrpcServer::start(&script);
    let transport = with_timeout(
        insecure(&server.address.to_string()),
        Duration::from_secs(2),
    );
    script.then(Answer::Hang);
    assert_eq!(
        transport.send(outgoing(1)).await,
        Err(SendError::retry("gRPC: no answer in time"))
    );
    assert_eq!(transport.send(outgoing(1)).await, Ok(Sent::All));
}

#[tokio::test]
async fn a_connection_that_swallows_calls_is_left() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    let (stop, thread) = run(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let mut held = Vec::new();
        loop {
            held.push(listener.accept().await.unwrap());
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let transport = with_timeout(insecure(&address.to_string()), Duration::from_millis(500));
    for (tries, expected) in [(3, 1), (1, 2)] {
        for _ in 0..tries {
            assert_eq!(
                transport.send(outgoing(1)).await,
                Err(SendError::retry("gRPC: no answer in time"))
            );
        }
        // The last one may still be on its way into the other thread.
        while connections.load(Ordering::SeqCst) < expected {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(connections.load(Ordering::SeqCst), expected);
    }
    drop(stop);
    thread.join().unwrap();
}

#[tokio::test]
async fn wait_for_ready_waits_for_the_server() {
    let script = Script::default();
    let address = GrpcServer::start_at("127.77.0.2:0".parse().unwrap(), &script, None).address;
    let patient = transport(OtlpGrpcSettings {
        wait_for_ready: true,
        ..insecure(&address.to_string())
    });
    let later = async {
        tokio::time::sleep(Duration::from_millis(250)).await;
        GrpcServer::start_at(address, &script, None)
    };
    let (sent, _server) = tokio::join!(patient.send(outgoing(1)), later);
    assert_eq!(sent, Ok(Sent::All));
}

#[tokio::test]
async fn a_unix_socket_is_an_endpoint() {
    let script = Script::default();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("otlp.sock");
    let _server = GrpcServer::start_unix(&path, &script);
    let transport = transport(insecure(&format!("unix://{}", path.display())));
    assert_eq!(transport.send(outgoing(2)).await, Ok(Sent::All));
    assert_eq!(script.received().pop().unwrap().1, request(2));
}

#[tokio::test]
async fn no_time_limit_is_zero() {
    let script = Script::default();
    let server = GrpcServer::start(&script);
    let transport = with_timeout(
        insecure(&format!("http://{}", server.address)),
        Duration::ZERO,
    );
    assert_eq!(transport.send(outgoing(1)).await, Ok(Sent::All));
    assert!(
        !script
            .received()
            .pop()
            .unwrap()
            .0
            .contains_key("grpc-timeout")
    );
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_at_start() {
    let check = |grpc: OtlpGrpcSettings, expected: &str| {
        let settings = ExporterSettings::new("otlp/x", ExporterKind::OtlpGrpc(grpc));
        assert_discreet(&settings);
        let error =
            build(&settings, &TaskTracker::new(), Arc::new(SystemClock::new())).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("exporter otlp/x: ") && text.contains(expected),
            "{text}"
        );
        assert_discreet(&error);
    };
    let header = |name: &str, value: &str| OtlpGrpcSettings {
        headers: vec![(name.to_owned(), Secret::new(value))],
        ..insecure("collector:4317")
    };
    check(insecure("collector"), "endpoint: the port is missing");
    check(header("bad name", "canary"), "headers: `bad name`");
    check(header("x", "canary\n"), "headers: the value of `x`");
    check(header("grpc-timeout", "canary"), "belong to gRPC");
    assert_discreet(&transport(header("x", "canary")));
    check(
        OtlpGrpcSettings {
            authority: Some("a b".to_owned()),
            ..insecure("c:1")
        },
        "authority",
    );
}
