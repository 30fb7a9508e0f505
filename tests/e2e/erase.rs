//! `tailwater erase`: nothing of a trace is left on the disk, everything else is as it was, and the ledger adds up.

use crate::support::daemon::{Place, run_to_end};
use crate::support::files::text_is_in;
use crate::support::ledger::{at_rest, becomes, states};
use crate::support::recipe::{ERRORS, FOR_EVER, Recipe, wait};
use crate::support::sender::send_grpc;
use crate::support::sink::Sink;
use crate::support::spans::{assert_same, flatten};
use crate::support::traffic::{failing_first, request};
use std::path::Path;

/// The id of a trace of [`request`].
fn id(trace: u64) -> String {
    format!("0707070707070707{trace:016x}")
}

/// The prompt of a trace, in any file below.
fn prompt_is_in(path: &Path, trace: u64) -> bool {
    text_is_in(path, &format!("问题 {trace}: word"))
}

fn erase(place: &Place, trace: &str) -> (Option<i32>, String) {
    run_to_end(place.command("erase").arg(trace))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_trace_is_nowhere_and_all_others_are_delivered() {
    let mut sink = Sink::dead();
    // Free space is written over: a small log has less of it.
    let place = Place::new(&Recipe::new(ERRORS, &[&sink]))
        .set("processors.tail_sampling.buffer.disk.max_size=32MiB");
    let mut daemon = place.start().await;
    for part in failing_first(3) {
        send_grpc(daemon.grpc, request(0..30, part)).await;
    }
    // Kept ones wait for the backend.
    let decided = states([("accepted", 90), ("awaiting", 9), ("dropped", 81)]);
    becomes(&daemon, &sink.exporter(0).0, &decided).await;
    let (code, printed) = erase(&place, &id(10));
    assert!(code == Some(1) && printed.contains("in use"), "{printed}");
    daemon.kill();
    // These are undecided when the next one stops.
    let place = place.set(&wait(FOR_EVER));
    let mut daemon = place.start().await;
    send_grpc(daemon.grpc, request(30..50, 1)).await;
    assert!(daemon.terminate().await.0.success());
    let place = place.set(&wait(1));

    let log = place.path().join("log");
    let (kept, dropped, undecided) = (10, 11, 40);
    for trace in [kept, dropped, undecided] {
        assert!(prompt_is_in(&log, trace), "{trace}");
        let (code, printed) = erase(&place, &id(trace));
        let spans = if trace == undecided { 1 } else { 3 };
        assert_eq!(code, Some(0), "{printed}");
        assert!(
            printed.contains(&format!(
                "{spans} spans and log records in {spans} pieces erased"
            )),
            "{printed}"
        );
        assert!(!prompt_is_in(&log, trace), "{trace}");
    }
    assert!(prompt_is_in(&log, 20) && prompt_is_in(&log, 12));
    let (code, printed) = erase(&place, &id(kept));
    assert!(
        code == Some(0) && printed.contains(": 0 spans"),
        "{printed}"
    );
    assert_eq!(erase(&place, "no id").0, Some(1));
    place.assert_log_is_sound();

    let mut daemon = place.start().await;
    sink.start();
    let ledger = at_rest(&daemon, &sink.exporter(0).0).await;
    assert!(daemon.terminate().await.0.success());
    // Of traces 0 and 20 three spans, of 30 the one that has failed; trace 40 says nothing of a failure any more.
    let expected = [
        ("accepted", 110),
        ("delivered", 7),
        ("erased", 3),
        ("dropped", 100),
    ];
    assert_eq!(ledger, states(expected));
    let mut expected: Vec<_> = [0, 20]
        .into_iter()
        .flat_map(|trace| (0..3).map(move |part| request(trace..trace + 1, part)))
        .collect();
    expected.push(request(30..31, 1));
    assert_same(&flatten(&expected), &sink.spans(), "all others");
    place.assert_log_is_sound();
}
