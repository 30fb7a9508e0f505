//! The pages over a socket, and a port that is taken.

use crate::harness::Running;
use crate::scrape::parse;
use std::net::SocketAddr;
use tailwater::config::{Source, load};
use tailwater::pipeline::{Pipeline, StartError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) async fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_pipeline_serves_them() {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::start(directory.path(), 0).await;
    let addresses = running.pipeline.admin_addresses().to_vec();
    let [(metrics, metrics_at), (health, health_at)] = &addresses[..] else {
        panic!("{addresses:?}")
    };
    assert_eq!(
        (metrics.as_str(), health.as_str()),
        ("metrics", "health_check")
    );
    let (head, body) = get(*metrics_at, "/metrics").await;
    assert!(
        head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"),
        "{head}"
    );
    assert!(
        parse(&body)
            .unwrap()
            .0
            .contains_key("tailwater_ledger_difference")
    );
    assert_eq!(get(*metrics_at, "/readyz").await.1, "ready\n");
    assert!(
        get(*health_at, "/")
            .await
            .1
            .starts_with("{\"status\":\"Server available\"")
    );
    running.stop().await;
    assert!(
        TcpStream::connect(metrics_at).await.is_err()
            && TcpStream::connect(health_at).await.is_err()
    );
}

#[tokio::test]
async fn a_taken_port_is_all_that_happens() {
    let directory = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    let text = format!(
        "receivers: {{otlp: {{protocols: {{grpc: {{endpoint: '127.0.0.1:0'}}}}}}}}
processors: {{tail_sampling: {{buffer: {{disk: {{directory: {}/buffer}}}}, policies: [{{name: all, type: always_sample}}]}}}}
exporters: {{debug: {{}}}}
service:
  telemetry: {{metrics: {{address: '{address}'}}}}
  pipelines: {{traces: {{receivers: [otlp], processors: [tail_sampling], exporters: [debug]}}}}
",
        directory.path().display()
    );
    let config = load(&[Source::text("test.yaml", text)], &[], &|_| None)
        .unwrap()
        .config;
    let error = Pipeline::start(&config).await.unwrap_err();
    assert!(matches!(
        error,
        StartError::Admin {
            key: "service.telemetry.metrics",
            ..
        }
    ));
    assert!(
        error
            .to_string()
            .contains(&format!("cannot listen on {address}")),
        "{error}"
    );
    assert!(!directory.path().join("buffer").exists());
}
