//! Late evidence: an error that comes after its trace was dropped brings it back whole, also from before a restart, and the
//! ledger moves its spans.

use crate::support::daemon::{Daemon, Place};
use crate::support::ledger::{Ledger, assert_ledger, at_rest};
use crate::support::recipe::{ERRORS, Recipe};
use crate::support::sender::{get, send_grpc};
use crate::support::sink::Sink;
use crate::support::spans::{assert_same, flatten};
use crate::support::traffic::{fails, request};
use crate::support::wait::until;

const TRACES: u64 = 100;

async fn metric(daemon: &Daemon, name: &str) -> u64 {
    let (_, page) = get(daemon.metrics, "/metrics").await.unwrap();
    let line = page.lines().find(|line| line.starts_with(name)).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_after_the_drop_brings_the_trace_back() {
    for restart in [false, true] {
        let sink = Sink::grpc();
        let place = Place::new(&Recipe::new(ERRORS, &[&sink]))
            .set("processors.tail_sampling.late_evidence.policies=[errors]");
        let mut daemon = place.start().await;
        // Part 1 of the failed traces has the error: it is late.
        for part in [0, 2] {
            send_grpc(daemon.grpc, request(0..TRACES, part)).await;
        }
        let dropped: Ledger = [("accepted", 200), ("dropped", 200)]
            .map(|(state, spans)| (state.to_owned(), spans))
            .into();
        let exporter = sink.exporter(0).0;
        assert_eq!(at_rest(&daemon, &exporter).await, dropped);
        if restart {
            daemon.kill();
            daemon = place.start().await;
        }
        send_grpc(daemon.grpc, request(0..TRACES, 1)).await;
        send_grpc(daemon.grpc, request(0..TRACES, 3)).await;
        let failed = (0..TRACES).filter(|trace| fails(*trace));
        let expected: Vec<_> = failed
            .flat_map(|trace| (0..4).map(move |part| request(trace..trace + 1, part)))
            .collect();
        let expected = flatten(&expected);
        until("the failed traces are at the sink", || {
            sink.count() >= expected.len()
        })
        .await;
        assert_ledger(&daemon, &exporter, 400, expected.len()).await;
        let restored = metric(&daemon, "tailwater_restored_spans_total").await;
        assert_eq!(restored, expected.len() as u64 / 2);
        assert_eq!(
            metric(&daemon, "tailwater_not_restored_spans_total").await,
            0
        );
        assert!(daemon.terminate().await.0.success());
        assert_same(&expected, &sink.spans(), "traces that came back");
        place.assert_log_is_sound();
    }
}
