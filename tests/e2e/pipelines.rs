//! The files below `pipelines/` and the repository's own `config.yaml` are valid, start, and deliver a failed trace.

use crate::logs::{evaluation, logs, record, send_logs};
use crate::support::daemon::{Place, run_to_end};
use crate::support::ports;
use crate::support::sender::{get, send_grpc};
use crate::support::sink::Sink;
use crate::support::spans::{assert_same, flatten};
use crate::support::texts::of_spans;
use crate::support::traffic::{at_once, request};
use crate::support::wait::{until, until_async};
use http::StatusCode;
use std::fs;
use std::path::{Path, PathBuf};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// What every file needs to run beside others: ports and a decision that does not take a minute.
fn own_ports(place: &Place) -> Vec<String> {
    vec![
        format!(
            "receivers.otlp.protocols.grpc.endpoint=127.0.0.1:{}",
            place.grpc
        ),
        format!(
            "receivers.otlp.protocols.http.endpoint=127.0.0.1:{}",
            place.http
        ),
        format!(
            "service.telemetry.metrics.address=127.0.0.1:{}",
            place.metrics
        ),
        "processors.tail_sampling.decision_wait=1s".to_owned(),
    ]
}

fn own_directory(place: &Place) -> Vec<String> {
    let directory = place.path().join("log");
    vec![
        format!(
            "processors.tail_sampling.buffer.disk.directory={}",
            directory.display()
        ),
        "processors.tail_sampling.buffer.disk.max_size=512MiB".to_owned(),
    ]
}

fn own_health(port: u16) -> String {
    format!("extensions.health_check.endpoint=127.0.0.1:{port}")
}

/// It is valid, starts, and delivers a failed trace to the sink.
async fn check(place: Place, sink: Sink, health: Option<u16>) {
    let (code, printed) = run_to_end(&mut place.command("validate"));
    assert_eq!(code, Some(0), "{printed}");
    let mut daemon = place.start().await;
    if let Some(port) = health {
        let (status, page) = get(port, "/").await.unwrap();
        assert!(
            status == StatusCode::OK && page.contains("Server available"),
            "{status}: {page}"
        );
    }
    let failed = [request(10..11, 1), request(10..11, 0)];
    for request in &failed {
        send_grpc(daemon.grpc, request.clone()).await;
    }
    until("the failed trace is at the sink", || sink.count() >= 2).await;
    assert!(daemon.terminate().await.0.success());
    assert_same(&flatten(&failed), &sink.spans(), "a failed trace");
}

#[tokio::test(flavor = "multi_thread")]
async fn minimal() {
    let sink = Sink::grpc();
    let place = Place::with_file(&file("pipelines/minimal.yaml"), |place| {
        let sink = format!("exporters.otlp.endpoint=127.0.0.1:{}", sink.port());
        [own_ports(place), own_directory(place), vec![sink]].concat()
    });
    check(place, sink, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn llm_gateway() {
    let (sink, health) = (Sink::http(), ports::free());
    let place = Place::with_file(&file("pipelines/llm-gateway.yaml"), |place| {
        [
            own_ports(place),
            own_directory(place),
            vec![own_health(health)],
        ]
        .concat()
    });
    let endpoint = format!("http://127.0.0.1:{}", sink.port());
    let place = place
        .environment("TRACES_ENDPOINT", endpoint)
        .environment("TRACES_TOKEN", "secret");
    check(place, sink, Some(health)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn collector_user() {
    let (sink, health) = (Sink::grpc(), ports::free());
    let place = Place::with_file(&file("pipelines/collector-user.yaml"), |place| {
        [own_ports(place), vec![own_health(health)]].concat()
    });
    let buffer = format!("disk:{}", place.path().join("log").display());
    let place = place.environment("OTLP_BACKEND", format!("127.0.0.1:{}", sink.port()));
    check(
        place.environment("TAILWATER_BUFFER", buffer),
        sink,
        Some(health),
    )
    .await;
}

/// What `make run` starts prints the failed trace.
#[tokio::test(flavor = "multi_thread")]
async fn make_run() {
    let place = Place::with_file(&file("config.yaml"), |place| {
        [own_ports(place), own_directory(place)].concat()
    });
    let mut daemon = place.start().await;
    send_grpc(daemon.grpc, request(10..11, 1)).await;
    until("the failed trace is printed", || {
        daemon.log().contains("chat 1")
    })
    .await;
    assert!(daemon.terminate().await.0.success());
}

#[test]
fn every_file_has_a_test() {
    let mut names: Vec<_> = fs::read_dir(file("pipelines"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "collector-user.yaml",
            "judge.yaml",
            // This and the last are started in tests/kafka, which has a broker.
            "kafka-tier.yaml",
            "late-scores.yaml",
            "llm-gateway.yaml",
            "minimal.yaml",
            "sidecar-to-kafka.yaml"
        ]
    );
}

/// The judge gets the text, the backend a hash of it.
#[tokio::test(flavor = "multi_thread")]
async fn judge() {
    let (backend, judge) = (Sink::http(), Sink::http());
    let place = Place::with_file(&file("pipelines/judge.yaml"), |place| {
        [own_ports(place), own_directory(place)].concat()
    });
    let place = place
        .environment(
            "TRACES_ENDPOINT",
            format!("http://127.0.0.1:{}", backend.port()),
        )
        .environment(
            "JUDGE_ENDPOINT",
            format!("http://127.0.0.1:{}", judge.port()),
        )
        .environment("REDACT_KEY", "0123456789abcdef");
    let (code, printed) = run_to_end(&mut place.command("validate"));
    assert_eq!(code, Some(0), "{printed}");
    let mut daemon = place.start().await;
    send_grpc(daemon.grpc, at_once(10..11, 2)).await;
    until("both have the failed trace", || {
        backend.count() >= 2 && judge.count() >= 2
    })
    .await;
    assert!(daemon.terminate().await.0.success());
    let prompts = |sink: &Sink| {
        let spans = sink.spans();
        let texts = spans
            .iter()
            .flat_map(|span| of_spans(&span.message(), "gen_ai.input.messages"));
        texts.collect::<Vec<_>>()
    };
    let hidden = prompts(&backend);
    assert_eq!(hidden.len(), 2);
    assert!(hidden.iter().all(|text| text.starts_with("hmac-sha256:")));
    let shown = prompts(&judge);
    assert_eq!(shown.len(), 2);
    assert!(shown.iter().all(|text| text.starts_with("问题 10: word")));
}

/// A trace that nothing keeps comes back with the log record of its call and the one that judges it.
#[tokio::test(flavor = "multi_thread")]
async fn late_scores() {
    let sink = Sink::http();
    let place = Place::with_file(&file("pipelines/late-scores.yaml"), |place| {
        [own_ports(place), own_directory(place)].concat()
    });
    let place = place.environment("OTLP_ENDPOINT", format!("http://127.0.0.1:{}", sink.port()));
    let (code, printed) = run_to_end(&mut place.command("validate"));
    assert_eq!(code, Some(0), "{printed}");
    let mut daemon = place.start().await;
    let sound = [request(11..12, 0), request(11..12, 1)];
    for request in &sound {
        send_grpc(daemon.grpc, request.clone()).await;
    }
    let records = vec![record(1, Some(11)), record(2, None)];
    send_logs(&daemon, 0, logs(records)).await;
    until_async("the trace is dropped", async || {
        let page = get(daemon.metrics, "/metrics").await;
        let dropped = "state=\"dropped\"} 2";
        page.is_some_and(|(_, page)| page.lines().any(|line| line.ends_with(dropped)))
    })
    .await;
    send_logs(&daemon, 0, logs(vec![evaluation(3, 11, 0.9)])).await;
    until("the trace is at the sink", || {
        sink.count() >= 2 && sink.records().len() >= 2
    })
    .await;
    assert!(daemon.terminate().await.0.success());
    assert_same(&flatten(&sound), &sink.spans(), "the judged trace");
    let expected = [record(1, Some(11)), evaluation(3, 11, 0.9)];
    assert_eq!(sink.records(), expected);
}
