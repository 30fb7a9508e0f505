//! Processors beside `tail_sampling`: the same in front of it and on the way out, before and after a kill; and every span is
//! accounted for.

use crate::support::daemon::Place;
use crate::support::ledger::at_rest;
use crate::support::recipe::{ERRORS, FOR_EVER, Recipe, wait};
use crate::support::sender::send_grpc;
use crate::support::sink::Sink;
use crate::support::spans::{assert_same, flatten};
use crate::support::traffic::{fails, request};
use crate::support::wait::until;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};

const TRACES: u64 = 100;

/// Parts 2 and 4 of all traces in one request: the pieces lose a span.
fn mixed() -> ExportTraceServiceRequest {
    let mut both = request(0..TRACES, 2);
    let other = request(0..TRACES, 4);
    both.resource_spans.extend(other.resource_spans);
    both
}

/// A kept trace as it is to leave: without parts 3 and 4, with what the processors behind have done.
fn processed(traces: impl Iterator<Item = u64>) -> Vec<ExportTraceServiceRequest> {
    let parts = traces.flat_map(|trace| (0..3).map(move |part| request(trace..trace + 1, part)));
    let mut requests: Vec<_> = parts.collect();
    let resources = requests.iter_mut().flat_map(|r| &mut r.resource_spans);
    for resource_spans in resources {
        let resource = resource_spans.resource.as_mut().unwrap();
        resource.attributes.push(text("deployment", "test"));
        for span in &mut resource_spans.scope_spans[0].spans {
            span.attributes = vec![text("tier", "none")];
        }
    }
    requests
}

fn text(key: &str, value: &str) -> KeyValue {
    let value = Some(AnyValue {
        value: Some(Value::StringValue(value.to_owned())),
    });
    KeyValue {
        key: key.to_owned(),
        value,
        ..KeyValue::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_processors_leave_is_decided_delivered_and_accounted_for() {
    let sink = Sink::grpc();
    let filter = r#"{traces: {span: ['name == "chat 3"', 'name == "chat 4" and resource.attributes["deployment"] == "test"']}}"#;
    let resource = "{attributes: [{key: deployment, value: test, action: insert}]}";
    let attributes = "{actions: [{key: gen_ai.input.messages, action: delete}, {key: tier, from_attribute: plan, default_value: none, action: upsert}]}";
    let recipe = Recipe::new(ERRORS, &[&sink])
        .decision_wait(FOR_EVER)
        .front("resource", resource)
        .front("filter/probes", filter)
        .back("attributes", attributes);
    let place = Place::new(&recipe);
    let mut daemon = place.start().await;
    for part in [0, 1, 3] {
        send_grpc(daemon.grpc, request(0..TRACES, part)).await;
    }
    send_grpc(daemon.grpc, mixed()).await;
    daemon.kill();
    assert_eq!(sink.count(), 0, "decided too early");
    let place = place.set(&wait(1));
    let mut daemon = place.start().await;
    let failing = || (0..TRACES).filter(|trace| fails(*trace));
    let expected = flatten(&processed(failing()));
    until("all kept spans are at the sink", || {
        sink.count() >= expected.len()
    })
    .await;
    let ledger = at_rest(&daemon, &sink.exporter(0).0).await;
    let kept = failing().count() as u64;
    let states = [
        ("accepted", 5 * TRACES),
        ("delivered", 3 * kept),
        ("dropped", 4 * (TRACES - kept)),
        // Part 3 of all traces, and part 4 of those that left.
        ("filtered", TRACES + kept),
    ];
    let states = states.map(|(state, spans)| (state.to_owned(), spans));
    assert_eq!(ledger, states.into());
    assert!(daemon.terminate().await.0.success());
    assert_same(&expected, &sink.spans(), "behind the processors");
    // What is counted stays counted, and nothing leaves again.
    let mut daemon = place.start().await;
    assert_eq!(at_rest(&daemon, &sink.exporter(0).0).await, ledger);
    assert!(daemon.terminate().await.0.success());
    assert_eq!(sink.count(), expected.len());
    place.assert_log_is_sound();
}
