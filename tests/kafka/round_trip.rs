//! A daemon's topic feeds a daemon: every span arrives as it was, keys lie where the Collector puts them, ledgers add up.

use crate::broker::Broker;
use crate::place::{from_kafka, to_kafka};
use crate::support::ledger::assert_ledger;
use crate::support::recipe::ERRORS;
use crate::support::sender::{grpc, send_grpc};
use crate::support::sink::Sink;
use crate::support::spans::{Flat, assert_same, flatten};
use crate::support::traffic::{fails, request};
use crate::support::wait::until_async;
use crate::topic;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use tailwater::otlp::{TraceId, partition_of};

const TRACES: u64 = 500;

/// Two spans of each trace, and what of them belongs to traces that fail.
fn traffic() -> (
    Vec<ExportTraceServiceRequest>,
    Vec<ExportTraceServiceRequest>,
) {
    // What has failed comes first: see `failing_first`.
    let parts = |traces: std::ops::Range<u64>| [request(traces.clone(), 1), request(traces, 0)];
    let all = (0..TRACES / 50).flat_map(|n| parts(n * 50..n * 50 + 50));
    let failed = (0..TRACES).filter(|trace| fails(*trace));
    (
        all.collect(),
        failed.flat_map(|n| parts(n..n + 1)).collect(),
    )
}

/// The same spans, each with a status.
fn with_status(spans: Vec<Flat>) -> Vec<ExportTraceServiceRequest> {
    let one = |span: Flat| {
        let mut resource = span.message();
        let status = &mut resource.scope_spans[0].spans[0].status;
        status.get_or_insert_default();
        ExportTraceServiceRequest {
            resource_spans: vec![resource],
        }
    };
    spans.into_iter().map(one).collect()
}

async fn check(broker: &Broker, topic: &str, encoding: &str, by_id: bool) {
    broker.topic(topic, 12, &[]).await;
    let (brokers, sink) = (broker.address(), Sink::grpc());
    let traces = format!("traces: {{topic: {topic}, encoding: {encoding}}}");
    let writer = to_kafka(
        ERRORS,
        &format!(
            "brokers: ['{brokers}'], {traces}, partition_traces_by_id: {by_id}, producer: {{compression: zstd}}"
        ),
    );
    let traces = format!("traces: {{topics: [{topic}], encoding: {encoding}}}");
    let reader = from_kafka(
        &format!(
            "brokers: ['{brokers}'], {traces}, group_id: {topic}, initial_offset: earliest, autocommit: {{interval: 200ms}}"
        ),
        &sink,
    );
    let mut writing = writer.place.start().await;
    let mut reading = reader.place.start().await;
    let (all, failed) = traffic();
    for request in &all {
        send_grpc(writing.grpc, request.clone()).await;
    }
    let (all, mut failed) = (flatten(&all), flatten(&failed));
    if encoding == "otlp_json" {
        // JSON writes an empty status, as the Collector's does.
        failed = flatten(&with_status(failed));
    }
    assert_ledger(&writing, "kafka", all.len(), failed.len()).await;
    until_async("all kept spans are at the sink", async || {
        sink.count() >= failed.len()
    })
    .await;
    assert_ledger(&reading, "otlp/0", failed.len(), failed.len()).await;
    assert_same(&failed, &sink.spans(), topic);
    until_async("everything that was read is committed", async || {
        topic::is_read(broker, topic, topic)
    })
    .await;
    let stored = topic::all(broker, topic);
    for record in &stored {
        let key = record
            .key
            .as_ref()
            .map(|key| String::from_utf8(key.clone()).unwrap());
        assert_eq!(key.is_some(), by_id);
        if let Some(key) = key {
            let id = TraceId::from_hex(&key).unwrap();
            assert_eq!(record.partition, i32::from(partition_of(id, 12)), "{key}");
        }
        if let (true, "otlp_proto") = (by_id, encoding) {
            let flat = flatten([&record.request()]);
            let id = record
                .key
                .as_ref()
                .map(|key| String::from_utf8_lossy(key).into_owned());
            assert!(flat.iter().all(|span| Some(&span.trace) == id.as_ref()));
        }
    }
    assert!(writing.terminate().await.0.success());
    assert!(reading.terminate().await.0.success());
    writer.place.assert_log_is_sound();
    reader.place.assert_log_is_sound();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_of_one_daemon_feeds_another() {
    let broker = Broker::start().await;
    check(&broker, "by-trace", "otlp_proto", true).await;
    check(&broker, "by-batch", "otlp_proto", false).await;
    check(&broker, "json", "otlp_json", true).await;
}

/// Partitions of the published vectors, as the broker has them.
#[tokio::test(flavor = "multi_thread")]
async fn keys_lie_where_the_collector_puts_them() {
    let broker = Broker::start().await;
    broker.topic("eight", 8, &[]).await;
    let vectors = [
        ("0102030405060708090a0b0c0d0e0f10", 6),
        ("4bf92f3577b34da6a3ce929d0e0e4736", 6),
        ("00000000000000000000000000000001", 6),
        ("ffffffffffffffffffffffffffffffff", 3),
        ("5b8efff798038103d269b633813fc60c", 1),
    ];
    let settings = format!(
        "brokers: ['{}'], traces: {{topic: eight}}, partition_traces_by_id: true",
        broker.address()
    );
    let writer = to_kafka(crate::support::recipe::ALL, &settings);
    let daemon = writer.place.start().await;
    for (id, _) in vectors {
        let mut traced = request(1..2, 0);
        let span = &mut traced.resource_spans[0].scope_spans[0].spans[0];
        span.trace_id = TraceId::from_hex(id).unwrap().to_bytes().to_vec();
        grpc(daemon.grpc).export(traced).await.unwrap();
    }
    assert_ledger(&daemon, "kafka", vectors.len(), vectors.len()).await;
    let mut stored: Vec<_> = topic::all(&broker, "eight")
        .into_iter()
        .map(|record| {
            (
                String::from_utf8(record.key.unwrap()).unwrap(),
                record.partition,
            )
        })
        .collect();
    let mut expected: Vec<_> = vectors
        .map(|(id, partition)| (id.to_owned(), partition))
        .to_vec();
    stored.sort();
    expected.sort();
    assert_eq!(stored, expected);
}
