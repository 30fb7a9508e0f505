//! Services that are not sampled at the tail: they leave at once, also beside a service of the same traces that waits, and
//! through a kill; what a head coin takes is counted beside the ledger.

use crate::support::daemon::{Daemon, Place};
use crate::support::ledger::{assert_ledger, delivered};
use crate::support::recipe::{ERRORS, Recipe};
use crate::support::sender::{get, send_grpc};
use crate::support::sink::Sink;
use crate::support::spans::{assert_same, flatten, of_traces, traces};
use crate::support::traffic::{fails, request};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::AnyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;

const TRACES: u64 = 200;

/// Part `part` of all traces, as spans of `service`. Their ids differ in more than the last byte.
fn of(service: &str, part: u64) -> ExportTraceServiceRequest {
    let mut request = request(0..TRACES, part);
    let resource_spans = &mut request.resource_spans[0];
    let attributes = &mut resource_spans.resource.as_mut().unwrap().attributes;
    attributes[0].value = Some(AnyValue {
        value: Some(Value::StringValue(service.to_owned())),
    });
    for (span, number) in resource_spans.scope_spans[0].spans.iter_mut().zip(1_u64..) {
        let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        span.trace_id[..8].copy_from_slice(&spread.to_be_bytes());
    }
    request
}

async fn lost(daemon: &Daemon) -> usize {
    let (_, page) = get(daemon.metrics, "/metrics").await.unwrap();
    let name = "tailwater_head_dropped_spans_total{service=\"shipper\"}";
    let line = page.lines().find(|line| line.starts_with(name)).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn head_and_off_leave_at_once_and_the_tail_waits() {
    let sink = Sink::grpc();
    let exporter = sink.exporter(0).0;
    let place = Place::new(&Recipe::new(ERRORS, &[&sink]).decision_wait(600))
        .set("processors.tail_sampling.services.shipper.mode=head")
        .set("processors.tail_sampling.services.shipper.sampling_percentage=50")
        .set("processors.tail_sampling.services.batch.mode=off");
    let mut daemon = place.start().await;
    let all = TRACES as usize;
    send_grpc(daemon.grpc, of("shipper", 0)).await;
    let lost_first = lost(&daemon).await;
    let winners = all - lost_first;
    assert!((60..140).contains(&winners), "{winners} of {all}");
    delivered(&daemon, &exporter, winners as u64).await;
    let won = traces(&sink.spans());
    assert_eq!(won.len(), winners);
    send_grpc(daemon.grpc, of("batch", 2)).await;
    assert_ledger(&daemon, &exporter, winners + all, winners + all).await;
    daemon.kill();

    let place = place.set("processors.tail_sampling.decision_wait=1s");
    let mut daemon = place.start().await;
    send_grpc(daemon.grpc, of("web", 1)).await;
    send_grpc(daemon.grpc, of("shipper", 3)).await;
    let failed = (0..TRACES).filter(|trace| fails(*trace)).count();
    let sent = 2 * winners + 2 * all;
    assert_ledger(&daemon, &exporter, sent, sent - (all - failed)).await;
    assert_eq!(lost(&daemon).await, all - winners, "the same coin");
    assert!(daemon.terminate().await.0.success());
    let shipped = flatten(&[of("shipper", 0), of("shipper", 3)]);
    let mut expected = of_traces(&shipped, &won);
    expected.extend(flatten(&[of("batch", 2)]));
    let mut web = of("web", 1);
    let spans = &mut web.resource_spans[0].scope_spans[0].spans;
    spans.retain(|span| span.status.is_some());
    expected.extend(flatten(&[web]));
    expected.sort();
    assert_same(&expected, &sink.spans(), "spans by mode");
    place.assert_log_is_sound();
}
