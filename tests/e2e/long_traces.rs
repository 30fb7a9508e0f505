//! Traces without a fixed wait: kept as soon as that is certain, dropped when they rest, also through a kill.

use crate::support::daemon::Place;
use crate::support::ledger::{assert_ledger, delivered};
use crate::support::recipe::{ERRORS, Recipe};
use crate::support::sender::send_grpc;
use crate::support::sink::Sink;
use crate::support::spans::{assert_same, flatten};
use crate::support::traffic::{fails, request};
use crate::support::wait::until;

const TRACES: u64 = 100;

#[tokio::test(flavor = "multi_thread")]
async fn failed_traces_leave_at_once_and_the_others_go_when_they_rest() {
    let sink = Sink::grpc();
    let place = Place::new(&Recipe::new(ERRORS, &[&sink]).decision_wait(600))
        .set("processors.tail_sampling.idle_wait=4s")
        .set("processors.tail_sampling.early_keep=true");
    let mut daemon = place.start().await;
    let failed = || (0..TRACES).filter(|trace| fails(*trace));
    send_grpc(daemon.grpc, request(0..TRACES, 1)).await;
    // What has failed.
    delivered(&daemon, &sink.exporter(0).0, failed().count() as u64).await;
    daemon.kill();
    let mut daemon = place.start().await;
    for part in [2, 0] {
        send_grpc(daemon.grpc, request(0..TRACES, part)).await;
    }
    let expected: Vec<_> = failed()
        .flat_map(|trace| (0..3).map(move |part| request(trace..trace + 1, part)))
        .collect();
    let expected = flatten(&expected);
    until("late spans follow", || sink.count() >= expected.len()).await;
    assert_ledger(&daemon, &sink.exporter(0).0, 300, expected.len()).await;
    assert!(daemon.terminate().await.0.success());
    assert_same(&expected, &sink.spans(), "traces that were kept early");
    place.assert_log_is_sound();
}
