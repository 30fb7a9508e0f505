//! A dead backend beside a healthy one, as the page shows it.

use crate::harness::{Running, ledger, spans};
use crate::pages::get;
use crate::ports;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The head and as many bytes as it says.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, _)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let end = memchr::memmem::find(request, b"\r\n\r\n").unwrap() + 4;
    request.len() >= end + length.map_or(0, |length| length.parse().unwrap())
}

/// Takes every request.
pub(crate) async fn serve(listener: TcpListener) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        while !is_whole(&bytes) && stream.read_buf(&mut bytes).await.unwrap() > 0 {}
        let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_is_told_and_since_when() {
    let directory = tempfile::tempdir().unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, ports::free()));
    let running = Running::start_to(address, directory.path(), 0).await;
    running
        .submit([spans(1, 1, 3, true), spans(2, 1, 1, false)].concat())
        .await;
    let dead = "exporter=otlphttp,pipeline=traces";
    let scrape = running
        .until("behind", |now| {
            let value = |name: &str, labels: &str| now.value(name, labels).unwrap();
            value("tailwater_exporter_lag_seconds", dead) >= 5.0
                && value("tailwater_exporter_retries_total", "exporter=otlphttp") >= 1.0
                && value(
                    "tailwater_exporter_awaiting_spans",
                    "exporter=file,pipeline=traces",
                ) == 0.0
        })
        .await;
    let check = |name: &str, labels: &str, expected: f64| {
        assert_eq!(scrape.value(name, labels), Some(expected), "{name}")
    };
    check("tailwater_exporter_awaiting_spans", dead, 3.0);
    check(
        "tailwater_exporter_last_error",
        "exporter=otlphttp,kind=retryable",
        1.0,
    );
    check(
        "tailwater_exporter_last_error",
        "exporter=otlphttp,kind=none",
        0.0,
    );
    check(
        "tailwater_exporter_last_error",
        "exporter=file,kind=none",
        1.0,
    );
    check(
        "tailwater_exporter_lag_seconds",
        "exporter=file,pipeline=traces",
        0.0,
    );
    check(
        "tailwater_exporter_lag_bytes",
        "exporter=file,pipeline=traces",
        0.0,
    );
    check("tailwater_ledger_difference", dead, 0.0);
    assert!(scrape.value("tailwater_exporter_lag_bytes", dead) > Some(0.0));
    assert!(
        scrape.value(
            "tailwater_exporter_consecutive_failures",
            "exporter=otlphttp"
        ) >= Some(1.0)
    );
    assert!(scrape.value("tailwater_log_held_bytes", "") > Some(0.0));

    let mut server = JoinSet::new();
    let listener = TcpListener::bind(address).await.unwrap();
    server.spawn(serve(listener));
    let back = |now: &crate::scrape::Scrape| {
        now.value("tailwater_exporter_lag_seconds", dead) == Some(0.0)
    };
    let scrape = running.until("back", back).await;
    assert_eq!(
        scrape.value("otelcol_exporter_sent_spans", "exporter=otlphttp"),
        Some(3.0)
    );
    assert_eq!(scrape.value("tailwater_ledger_difference", dead), Some(0.0));
    assert!(ledger(&scrape, "traces").contains(&("delivered".to_owned(), 3)));
    running.stop().await;
}

/// Time for a few pages, on any machine.
const DRAIN: Duration = Duration::from_secs(8);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_stay_while_exporters_drain_and_the_backlog_over_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, ports::free()));
    let dead = "exporter=otlphttp,pipeline=traces";
    let running = Running::start_to(address, directory.path(), 0).await;
    running.submit(spans(1, 1, 3, true)).await;
    let awaits = |now: &crate::scrape::Scrape| {
        now.value("tailwater_exporter_awaiting_spans", dead) == Some(3.0)
    };
    running.until("kept", awaits).await;
    let page = running.pipeline.admin_addresses()[0].1;
    let mut stop = JoinSet::new();
    stop.spawn(async move { running.pipeline.stop(DRAIN).await });
    while get(page, "/readyz").await.1 == "ready\n" {
        tokio::task::yield_now().await;
    }
    assert_eq!(get(page, "/readyz").await.1, "stopping\n");
    assert!(
        get(page, "/metrics")
            .await
            .1
            .contains("tailwater_exporter_awaiting_spans")
    );
    assert_eq!(get(page, "/healthz").await.1, "ok\n");
    stop.join_next().await.unwrap().unwrap();
    assert!(TcpStream::connect(page).await.is_err());

    let running = Running::start_to(address, directory.path(), 1).await;
    let scrape = running.scrape();
    assert!(awaits(&scrape));
    // Log time stands still while nothing runs, so it is seconds, not the hour.
    let lag = scrape
        .value("tailwater_exporter_lag_seconds", dead)
        .unwrap();
    running.clock.advance(7_000_000_000);
    assert_eq!(
        running
            .scrape()
            .value("tailwater_exporter_lag_seconds", dead),
        Some(lag + 7.0)
    );
    assert!(lag < 60.0, "{lag}");
    running.pipeline.stop(Duration::ZERO).await;
}
