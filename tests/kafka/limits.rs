//! Records over the limit of the topic.

use crate::broker::Broker;
use crate::place::to_kafka;
use crate::support::ledger::at_rest;
use crate::support::recipe::ALL;
use crate::support::sender::send_grpc;
use crate::support::spans::flatten;
use crate::support::traffic::request;
use crate::topic;
use opentelemetry_proto::tonic::common::v1::any_value::Value;

/// A trace over the topic's limit leaves in several records; a span over it is rejected and counted; others do not suffer.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_trace_is_cut_and_a_large_span_rejected() {
    let broker = Broker::start().await;
    broker
        .topic("small", 1, &[("max.message.bytes", "20000")])
        .await;
    let settings = format!(
        "brokers: ['{}'], traces: {{topic: small}}, partition_traces_by_id: true",
        broker.address()
    );
    let writer = to_kafka(ALL, &settings);
    let mut daemon = writer.place.start().await;
    // One trace of 200 spans, some 60 KB; one of two spans, of which one has 40 KB; one as usual.
    let mut large: Vec<_> = (0..200).map(|part| request(1..2, part)).collect();
    large.extend([request(2..3, 0), request(2..3, 1), request(3..4, 0)]);
    let attributes = &mut large[201].resource_spans[0].scope_spans[0].spans[0].attributes;
    let value = attributes[0].value.as_mut().unwrap();
    value.value = Some(Value::StringValue("x".repeat(40_000)));
    for request in &large {
        send_grpc(daemon.grpc, request.clone()).await;
    }
    let ledger = at_rest(&daemon, "kafka").await;
    let states: Vec<_> = ledger
        .iter()
        .map(|(state, spans)| (state.as_str(), *spans))
        .collect();
    assert_eq!(
        states,
        [("accepted", 203), ("delivered", 202), ("rejected", 1)]
    );
    let stored = topic::all(&broker, "small");
    assert!(stored.len() >= 5, "{} records", stored.len());
    large.remove(201);
    let requests: Vec<_> = stored.iter().map(topic::Stored::request).collect();
    assert!(
        flatten(&large) == flatten(&requests),
        "each span that fits is there once"
    );
    assert!(daemon.terminate().await.0.success());
}
