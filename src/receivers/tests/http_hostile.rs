//! Senders that are slow, silent, greedy or gone, on plain sockets.

use super::http_client::{Running, start};
use super::recorder::{BUDGET, Recorder, eventually};
use crate::receivers::{OtlpHttpSettings, RefusalReason, Transport};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

/// A hundred senders have connected by then, on any machine.
const ENOUGH_FOR_ALL: Duration = Duration::from_secs(4);

const HEAD: &str =
    "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\n";

async fn connect(run: &Running, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(run.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// Everything until the receiver closes.
async fn read_to_close(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = timeout(Duration::from_secs(60), stream.read_to_end(&mut answer))
        .await
        .expect("it closes");
    String::from_utf8(answer).unwrap()
}

async fn read_answer(stream: &mut TcpStream) -> String {
    let mut answer = vec![0; 4096];
    let got = timeout(Duration::from_secs(60), stream.read(&mut answer))
        .await
        .expect("it answers")
        .unwrap();
    String::from_utf8(answer[..got].to_vec()).unwrap()
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let run = start(Recorder::accepting(), BUDGET, OtlpHttpSettings::default()).await;
    let mut stream = connect(&run, "").await;
    for _ in 0..3 {
        stream
            .write_all(format!("{HEAD}content-length: 3\r\n\r\nabc").as_bytes())
            .await
            .unwrap();
        assert!(
            read_answer(&mut stream)
                .await
                .starts_with("HTTP/1.1 200 OK\r\n")
        );
    }
    stream
        .write_all(format!("{HEAD}transfer-encoding: chunked\r\n\r\n2\r\nab\r\n").as_bytes())
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    stream
        .write_all(b"1\r\nc\r\n2\r\nde\r\n0\r\n\r\n")
        .await
        .unwrap();
    assert!(
        read_answer(&mut stream)
            .await
            .starts_with("HTTP/1.1 200 OK\r\n")
    );
    assert_eq!(run.recorder.taken(), ["abc", "abc", "abc", "abcde"]);
}

#[tokio::test]
async fn slow_headers_and_idle_connections_are_closed() {
    let settings = OtlpHttpSettings {
        read_header_timeout: Duration::from_millis(100),
        idle_timeout: Duration::from_millis(100),
        ..OtlpHttpSettings::default()
    };
    let run = start(Recorder::accepting(), BUDGET, settings).await;
    // Nothing at all, half a protocol preface, half a head, and a silence after an answer.
    for begun in [
        "",
        "PRI * HT",
        "POST /v1/traces HTTP/1.1\r\nhost:",
        &format!("{HEAD}content-length: 0\r\n\r\n"),
    ] {
        let mut stream = connect(&run, begun).await;
        read_to_close(&mut stream).await;
    }
}

#[tokio::test]
async fn many_stalled_bodies_are_given_up_and_their_bytes_freed() {
    let settings = OtlpHttpSettings {
        body_idle_timeout: ENOUGH_FOR_ALL,
        ..OtlpHttpSettings::default()
    };
    let run = start(Recorder::accepting(), 1_000_000, settings).await;
    let mut stalled = Vec::new();
    for _ in 0..100 {
        let body = "x".repeat(9_000);
        stalled.push(
            connect(
                &run,
                &format!("{HEAD}content-length: 1000000\r\n\r\n{body}"),
            )
            .await,
        );
    }
    let (budget, stats) = (run.budget.clone(), run.stats.clone());
    eventually("they hold the budget", || budget.used() == 900_000).await;
    assert_eq!(
        run.post(&[("content-type", "application/x-protobuf")], &[0; 200_000])
            .await
            .status
            .as_u16(),
        429
    );
    eventually("they are given up", || {
        stats.of(Transport::Http).refused(RefusalReason::Abandoned) == 100
    })
    .await;
    assert_eq!(run.budget.used(), 0);
    let answer = read_to_close(&mut stalled[0]).await;
    assert!(
        answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n")
            && answer.contains("retry-after: 1\r\n")
    );
    assert_eq!(
        run.post(&[("content-type", "application/x-protobuf")], &[0; 200_000])
            .await
            .status
            .as_u16(),
        200
    );
}

const READ_TIMEOUT: Duration = Duration::from_millis(200);

#[tokio::test]
async fn a_body_that_drips_is_ended_by_the_read_timeout() {
    let settings = OtlpHttpSettings {
        read_timeout: Some(READ_TIMEOUT),
        ..OtlpHttpSettings::default()
    };
    let run = start(Recorder::accepting(), BUDGET, settings).await;
    let mut stream = connect(&run, &format!("{HEAD}content-length: 1000000\r\n\r\n")).await;
    let (begun, mut drops) = (Instant::now(), 0);
    while stream.write_all(b"x").await.is_ok() && drops < 500 {
        drops += 1;
        tokio::time::sleep(Duration::from_millis(10)).await;
        let mut answer = [0; 12];
        if stream.try_read(&mut answer).is_ok() {
            assert_eq!(&answer, b"HTTP/1.1 503");
            break;
        }
    }
    assert!(drops < 500, "it drips for ever");
    assert!(begun.elapsed() >= READ_TIMEOUT, "{:?}", begun.elapsed());
    assert_eq!(run.budget.used(), 0);
}

#[tokio::test]
async fn a_sender_that_leaves_frees_what_it_held() {
    let run = start(Recorder::accepting(), BUDGET, OtlpHttpSettings::default()).await;
    let stream = connect(
        &run,
        &format!(
            "{HEAD}content-length: 1000000\r\n\r\n{}",
            "x".repeat(50_000)
        ),
    )
    .await;
    let (budget, stats) = (run.budget.clone(), run.stats.clone());
    eventually("it holds bytes", || budget.used() == 50_000).await;
    drop(stream);
    eventually("they are freed", || budget.used() == 0).await;
    assert_eq!(stats.of(Transport::Http).accepted_spans(), 0);
}

#[tokio::test]
async fn a_request_is_appended_even_when_its_sender_leaves() {
    let recorder = Recorder::closed();
    let run = start(recorder.clone(), BUDGET, OtlpHttpSettings::default()).await;
    let stream = connect(&run, &format!("{HEAD}content-length: 3\r\n\r\nabc")).await;
    let (budget, stats) = (run.budget.clone(), run.stats.clone());
    eventually("it waits for the log", || budget.used() == 3).await;
    drop(stream);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(budget.used(), 3, "the bytes are still held");
    recorder.open();
    eventually("it is counted", || {
        stats.of(Transport::Http).accepted_spans() == 1
    })
    .await;
    eventually("and freed", || budget.used() == 0).await;
}

#[tokio::test]
async fn an_announced_size_over_the_limit_is_refused_before_it_is_sent() {
    let run = start(Recorder::accepting(), BUDGET, OtlpHttpSettings::default()).await;
    let mut stream = connect(
        &run,
        &format!("{HEAD}content-length: 67108864\r\nexpect: 100-continue\r\n\r\n"),
    )
    .await;
    assert!(
        read_to_close(&mut stream)
            .await
            .starts_with("HTTP/1.1 413 Payload Too Large\r\n")
    );
    assert_eq!(run.budget.used(), 0);
}

#[tokio::test]
async fn a_sender_that_writes_on_after_the_refusal_still_reads_it() {
    let run = start(
        Recorder::accepting(),
        5_000_000,
        OtlpHttpSettings::default(),
    )
    .await;
    let mut held = run.budget.reservation();
    assert!(held.grow(4_900_000));
    let body = vec![0; 4_000_000];
    assert_eq!(
        run.post(&[("content-type", "application/x-protobuf")], &body)
            .await
            .status
            .as_u16(),
        429
    );
    drop(held);
    assert_eq!(
        run.post(&[("content-type", "application/x-protobuf")], &body)
            .await
            .status
            .as_u16(),
        200
    );
    let never_fits = vec![0; 5_000_001];
    assert_eq!(
        run.post(&[("content-type", "application/x-protobuf")], &never_fits)
            .await
            .status
            .as_u16(),
        413
    );
    assert_eq!(run.budget.used(), 0);
}

#[tokio::test]
async fn broken_http_is_no_panic() {
    let run = start(Recorder::accepting(), BUDGET, OtlpHttpSettings::default()).await;
    for text in [
        "\0\0\0\0\r\n\r\n",
        "GET\r\n\r\n",
        &format!("{HEAD}content-length: x\r\n\r\n"),
        &format!("{HEAD}content-length: 1\r\ncontent-length: 2\r\n\r\n"),
        &format!("{HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n"),
        &format!("POST /{} HTTP/1.1\r\n\r\n", "x".repeat(1_000_000)),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnot a frame at all",
    ] {
        let Ok(mut stream) = TcpStream::connect(run.address).await else {
            panic!("it listens")
        };
        let _ = stream.write_all(text.as_bytes()).await;
        read_to_close(&mut stream).await;
    }
    assert_eq!(
        run.post(&[("content-type", "application/json")], b"{}")
            .await
            .status
            .as_u16(),
        200
    );
    assert_eq!((run.recorder.taken().len(), run.budget.used()), (1, 0));
}
