//! Logs beside traces: they leave with the traces that are kept, a late score brings a dropped trace back, and the ledger
//! in log records adds up.

use crate::support::daemon::{Daemon, Place};
use crate::support::ledger::assert_ledger;
use crate::support::recipe::{ALL, Recipe};
use crate::support::sender::{get, post_to, send_grpc};
use crate::support::sink::Sink;
use crate::support::spans::{assert_same, flatten};
use crate::support::traffic::{failing_first, request};
use crate::support::wait::{until, until_async};
use http::StatusCode;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_client::LogsServiceClient;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use prost::Message;
use std::collections::BTreeMap;
use std::time::Duration;
use tonic::transport::Endpoint;

const POLICIES: &str = "[{name: errors, type: status_code, status_code: {status_codes: [ERROR]}}, \
     {name: bad, type: string_attribute, string_attribute: {key: gen_ai.evaluation.score.label, values: [fail]}}]";
const TRACES: u64 = 20;

fn text(value: &str) -> Option<AnyValue> {
    Some(AnyValue {
        value: Some(Value::StringValue(value.to_owned())),
    })
}

/// Record number `number`, of a trace as in `traffic` or of none.
pub(crate) fn record(number: u64, trace: Option<u64>) -> LogRecord {
    LogRecord {
        time_unix_nano: number,
        severity_number: 9,
        body: text("a completion"),
        trace_id: trace.map_or(Vec::new(), |trace| {
            [&[7; 8][..], &trace.to_be_bytes()].concat()
        }),
        ..LogRecord::default()
    }
}

fn score(number: u64, trace: u64) -> LogRecord {
    LogRecord {
        event_name: "gen_ai.evaluation.result".to_owned(),
        attributes: vec![KeyValue {
            key: "gen_ai.evaluation.score.label".to_owned(),
            value: text("fail"),
            ..KeyValue::default()
        }],
        ..record(number, Some(trace))
    }
}

pub(crate) fn logs(log_records: Vec<LogRecord>) -> ExportLogsServiceRequest {
    let scope_logs = vec![ScopeLogs {
        log_records,
        ..ScopeLogs::default()
    }];
    ExportLogsServiceRequest {
        resource_logs: vec![ResourceLogs {
            scope_logs,
            ..ResourceLogs::default()
        }],
    }
}

/// In each of the three ways in.
pub(crate) async fn send_logs(daemon: &Daemon, way: usize, request: ExportLogsServiceRequest) {
    match way % 3 {
        0 => {
            let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{}", daemon.grpc));
            let mut client = LogsServiceClient::new(endpoint.unwrap().connect_lazy());
            let answer = client.export(request).await.unwrap().into_inner();
            assert_eq!(answer.partial_success, None);
        }
        1 => {
            let (kind, body) = ("application/x-protobuf", request.encode_to_vec());
            let (status, _) = post_to(daemon.http, "/v1/logs", kind, body).await;
            assert_eq!(status, StatusCode::OK);
        }
        _ => {
            let body = serde_json::to_vec(&request).unwrap();
            let (status, answer) = post_to(daemon.http, "/v1/logs", "application/json", body).await;
            assert_eq!(status, StatusCode::OK);
            assert_eq!(&answer[..], br#"{"partialSuccess":{}}"#);
        }
    }
}

/// The ledger in log records, without states that have none; nothing when it does not add up.
async fn ledger(daemon: &Daemon) -> Option<BTreeMap<String, u64>> {
    let (_, page) = get(daemon.metrics, "/metrics").await?;
    let value = |line: &str| line.rsplit(' ').next().and_then(|n| n.parse::<f64>().ok());
    let difference = page
        .lines()
        .find(|line| line.starts_with("tailwater_ledger_log_difference{"))?;
    let rows = page
        .lines()
        .filter(|line| line.starts_with("tailwater_ledger_log_records{"));
    let row = |line: &str| {
        let (_, state) = line.split_once("state=\"")?;
        let records = value(line)?;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count"
        )]
        let records = records as u64;
        (records > 0).then(|| {
            (
                state.split('"').next().unwrap_or_default().to_owned(),
                records,
            )
        })
    };
    (value(difference)? == 0.0).then(|| rows.filter_map(row).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_leave_with_their_traces_and_a_late_score_brings_one_back() {
    for sink in [Sink::grpc(), Sink::http()] {
        let exporter = sink.exporter(0).0;
        let pipeline = format!(
            "service.pipelines.logs={{receivers: [otlp], processors: [tail_sampling], exporters: [{exporter}]}}"
        );
        let place = Place::new(&Recipe::new(POLICIES, &[&sink]).decision_wait(2))
            .set(&pipeline)
            .set("processors.tail_sampling.late_evidence.policies=[errors, bad]");
        let mut daemon = place.start().await;
        // Traces 0 and 10 fail.
        for part in failing_first(2) {
            send_grpc(daemon.grpc, request(0..TRACES, part)).await;
        }
        for trace in 0..TRACES {
            let records = vec![record(trace, Some(trace)), record(100 + trace, None)];
            send_logs(&daemon, usize::try_from(trace).unwrap(), logs(records)).await;
        }
        until_async("everything is decided", async || {
            let decided = [("accepted", 40), ("delivered", 22), ("dropped", 18)];
            let decided = decided.map(|(state, records)| (state.to_owned(), records));
            ledger(&daemon).await == Some(decided.into())
        })
        .await;
        daemon.kill();
        let mut daemon = place.start().await;
        send_logs(&daemon, 2, logs(vec![score(200, 5)])).await;
        until("the score has brought its trace back", || sink.count() >= 6).await;
        until_async("the ledger in log records adds up", async || {
            let moved = [("accepted", 41), ("delivered", 24), ("dropped", 17)];
            let moved = moved.map(|(state, records)| (state.to_owned(), records));
            ledger(&daemon).await == Some(moved.into())
        })
        .await;
        assert_ledger(&daemon, &exporter, 40, 6).await;
        assert!(daemon.terminate().await.0.success());
        let kept = [0, 5, 10].map(|trace| [0, 1].map(|part| request(trace..trace + 1, part)));
        let expected = flatten(kept.iter().flatten());
        assert_same(&expected, &sink.spans(), "kept traces");
        let mut expected = vec![record(0, Some(0)), record(5, Some(5)), record(10, Some(10))];
        expected.extend((100..100 + TRACES).map(|number| record(number, None)));
        expected.push(score(200, 5));
        assert_eq!(sink.records(), expected);
        place.assert_log_is_sound();
    }
}

/// An evaluation as a judge reports it in a log, in the words of OpenTelemetry's conventions.
pub(crate) fn evaluation(number: u64, trace: u64, value: f64) -> LogRecord {
    let mut record = score(number, trace);
    record.attributes = vec![
        KeyValue {
            key: "gen_ai.evaluation.name".to_owned(),
            value: text("hallucination"),
            ..KeyValue::default()
        },
        KeyValue {
            key: "gen_ai.evaluation.score.value".to_owned(),
            value: Some(AnyValue {
                value: Some(Value::DoubleValue(value)),
            }),
            ..KeyValue::default()
        },
    ];
    record
}

#[tokio::test(flavor = "multi_thread")]
async fn a_score_half_a_minute_after_the_drop_brings_the_trace_back_whole() {
    const POLICIES: &str = "[{name: bad, type: evaluation_score, evaluation_score: {name: hallucination, above: 0.7}}]";
    let sink = Sink::grpc();
    let exporter = sink.exporter(0).0;
    let place = Place::new(&Recipe::new(POLICIES, &[&sink]))
        .set(&format!("service.pipelines.logs={{receivers: [otlp], processors: [tail_sampling], exporters: [{exporter}]}}"))
        .set("processors.tail_sampling.late_evidence.policies=[bad]");
    let mut daemon = place.start().await;
    for part in 0..2 {
        send_grpc(daemon.grpc, request(0..3, part)).await;
    }
    for trace in 0..3 {
        send_logs(&daemon, 0, logs(vec![record(trace, Some(trace))])).await;
    }
    until_async("everything is dropped", async || {
        let dropped = [("accepted", 3), ("dropped", 3)];
        let dropped = dropped.map(|(state, records)| (state.to_owned(), records));
        ledger(&daemon).await == Some(dropped.into())
    })
    .await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(sink.count(), 0);
    let scores = vec![evaluation(9, 0, 0.2), evaluation(10, 1, 0.9)];
    send_logs(&daemon, 0, logs(scores)).await;
    until_async("the ledger in log records adds up", async || {
        let moved = [("accepted", 5), ("delivered", 2), ("dropped", 3)];
        let moved = moved.map(|(state, records)| (state.to_owned(), records));
        ledger(&daemon).await == Some(moved.into())
    })
    .await;
    assert_ledger(&daemon, &exporter, 6, 2).await;
    assert!(daemon.terminate().await.0.success());
    let whole = [0, 1].map(|part| request(1..2, part));
    assert_same(&flatten(&whole), &sink.spans(), "the trace that is back");
    let expected = vec![record(1, Some(1)), evaluation(10, 1, 0.9)];
    assert_eq!(sink.records(), expected);
    place.assert_log_is_sound();
}

#[tokio::test(flavor = "multi_thread")]
async fn log_records_are_redacted_on_their_way_out() {
    let sink = Sink::grpc();
    let exporter = sink.exporter(0).0;
    let place = Place::new(&Recipe::new(ALL, &[&sink]))
        .set(&format!("service.pipelines.logs={{receivers: [otlp], processors: [tail_sampling], exporters: [{exporter}]}}"))
        .set(&format!("exporters.{exporter}.redact={{all: drop}}"));
    let mut daemon = place.start().await;
    send_grpc(daemon.grpc, request(0..1, 0)).await;
    let records = vec![record(1, Some(0)), record(2, None)];
    send_logs(&daemon, 0, logs(records.clone())).await;
    until("both are there", || sink.records().len() == 2).await;
    assert!(daemon.terminate().await.0.success());
    let bare = records.into_iter().map(|record| LogRecord {
        body: None,
        ..record
    });
    assert_eq!(sink.records(), bare.collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_taken_only_where_a_pipeline_asks_for_them() {
    let sink = Sink::grpc();
    let place = Place::new(&Recipe::new(POLICIES, &[&sink]));
    let mut daemon = place.start().await;
    let body = logs(vec![record(1, None)]).encode_to_vec();
    let kind = "application/x-protobuf";
    let (status, _) = post_to(daemon.http, "/v1/logs", kind, body).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(daemon.terminate().await.0.success());
}
