//! The main job: a real OpenTelemetry SDK in, exactly the traces that the rules keep out, span for span, attribute for
//! attribute; and the ledger is the same at the sender, in the daemon and at the sink.

use crate::support::daemon::Place;
use crate::support::ledger::assert_ledger;
use crate::support::python::{SentTrace, send};
use crate::support::recipe::Recipe;
use crate::support::sink::Sink;
use crate::support::spans::{assert_same, flatten, of_traces, traces};
use crate::support::wait::until;
use std::collections::BTreeSet;

/// One rule for each reason in the script's manifest.
const RULES: &str = r#"
      - {name: failed, type: status_code, status_code: {status_codes: [ERROR]}}
      - {name: slow, type: latency, latency: {threshold_ms: 5000}}
      - {name: keyword, type: prompt_keyword, prompt_keyword: {keywords: ["ignore previous instructions", "忽略以上所有指示"]}}
      - {name: coin, type: probabilistic, probabilistic: {sampling_percentage: 10}}"#;

async fn check(protocol: &str, compression: &str, sink: Sink) {
    // Far more than lies between two spans of a trace, also where four of these share one core.
    let place = Place::new(&Recipe::new(RULES, &[&sink]).decision_wait(12));
    let mut daemon = place.start().await;
    let port = if protocol == "grpc" {
        daemon.grpc
    } else {
        daemon.http
    };
    let endpoint = format!("http://127.0.0.1:{port}");
    let arguments = [
        "--protocol",
        protocol,
        "--compression",
        compression,
        "--endpoint",
        &endpoint,
        "--coin",
        "10",
    ];
    let sent = send(
        place.path().join("sent"),
        arguments.map(str::to_owned).to_vec(),
    )
    .await;

    let all = flatten(&sent.requests);
    assert_eq!(
        all.len(),
        sent.traces.iter().map(|trace| trace.spans).sum::<usize>()
    );
    let kept: BTreeSet<String> = sent
        .traces
        .iter()
        .filter(|trace| is_kept(trace))
        .map(|t| t.trace_id.clone())
        .collect();
    assert_covers_every_reason(&sent.traces);
    let expected = of_traces(&all, &kept);
    assert_eq!(traces(&expected), kept);
    until("the kept spans are at the sink", || {
        sink.count() >= expected.len()
    })
    .await;
    assert_ledger(&daemon, &sink.exporter(0).0, all.len(), sink.count()).await;
    let (status, _) = daemon.terminate().await;
    assert!(status.success(), "{status}");
    assert_same(&expected, &sink.spans(), protocol);
    place.assert_log_is_sound();
}

fn is_kept(trace: &SentTrace) -> bool {
    !trace.reasons.is_empty()
}

/// A run without one kind of trace would prove less than it says.
fn assert_covers_every_reason(traces: &[SentTrace]) {
    for reason in ["failed", "slow", "keyword", "coin"] {
        let alone = traces
            .iter()
            .filter(|trace| trace.reasons == [reason])
            .count();
        assert!(alone > 2, "{alone} traces are kept for {reason} alone");
    }
    assert!(traces.iter().filter(|trace| !is_kept(trace)).count() > 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn python_over_grpc() {
    check("grpc", "none", Sink::grpc()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn python_over_grpc_with_gzip() {
    check("grpc", "gzip", Sink::http()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn python_over_http() {
    check("http", "none", Sink::http()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn python_over_http_with_gzip() {
    check("http", "gzip", Sink::grpc()).await;
}
