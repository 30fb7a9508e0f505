//! Stops and kills: what was acknowledged and must be kept is at the sink after the next start, whole; once, but for
//! the batch in flight at a kill.

use crate::support::daemon::{Daemon, Place};
use crate::support::ledger::{assert_ledger, at_rest, becomes, states};
use crate::support::recipe::{ERRORS, FOR_EVER, Recipe, wait};
use crate::support::sender::{grpc, send_grpc};
use crate::support::sink::Sink;
use crate::support::spans::{
    Flat, assert_contains, assert_same, flatten, of_traces, repeated, traces,
};
use crate::support::traffic::{failing_first, fails, request};
use crate::support::wait::until;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use parking_lot::Mutex;
use prost::Message;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// What Kubernetes gives a process that is to end; the daemon gives its exporters half of it.
const BOUND: Duration = Duration::from_secs(30);
const PARTS: u64 = 4;

/// The spans of the traces among `numbers` that fail.
fn kept(numbers: impl IntoIterator<Item = u64>) -> Vec<Flat> {
    let failing = numbers.into_iter().filter(|trace| fails(*trace));
    let requests: Vec<_> = failing
        .flat_map(|trace| (0..PARTS).map(move |part| request(trace..trace + 1, part)))
        .collect();
    flatten(&requests)
}

async fn send_all(daemon: &Daemon, numbers: std::ops::Range<u64>) {
    for part in failing_first(PARTS) {
        send_grpc(daemon.grpc, request(numbers.clone(), part)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_leaves_undecided_traces_for_the_next_start() {
    let sink = Sink::grpc();
    let place = Place::new(&Recipe::new(ERRORS, &[&sink]).decision_wait(FOR_EVER));
    let mut daemon = place.start().await;
    send_all(&daemon, 0..200).await;
    let (status, took) = daemon.terminate().await;
    assert!(status.success() && took < BOUND, "{status} after {took:?}");
    assert_eq!(sink.count(), 0, "decided too early");
    let mut daemon = place.start().await;
    // Spans of the same traces from after the restart belong to them.
    send_grpc(daemon.grpc, request(0..200, PARTS)).await;
    assert!(daemon.terminate().await.0.success());
    assert_eq!(sink.count(), 0, "decided too early");
    let place = place.set(&wait(1));
    let mut daemon = place.start().await;
    let expected = flatten(&all_parts(0..200, PARTS + 1));
    until("all kept spans are at the sink", || {
        sink.count() >= expected.len()
    })
    .await;
    assert_ledger(&daemon, &sink.exporter(0).0, 200 * 5, expected.len()).await;
    assert!(daemon.terminate().await.0.success());
    assert_same(&expected, &sink.spans(), "after a restart");
    place.assert_log_is_sound();
}

/// Parts 0 to `parts` of the traces that fail.
fn all_parts(numbers: std::ops::Range<u64>, parts: u64) -> Vec<ExportTraceServiceRequest> {
    let failing = numbers.filter(|trace| fails(*trace));
    failing
        .flat_map(|trace| (0..parts).map(move |part| request(trace..trace + 1, part)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn sigkill_leaves_undecided_traces_for_the_next_start() {
    let sink = Sink::grpc();
    let place = Place::new(&Recipe::new(ERRORS, &[&sink]).decision_wait(FOR_EVER));
    let mut daemon = place.start().await;
    send_all(&daemon, 0..200).await;
    daemon.kill();
    assert_eq!(sink.count(), 0, "decided too early");
    // A kill during the replay of the first kill changes nothing.
    let mut daemon = place.start_without_waiting();
    tokio::time::sleep(Duration::from_millis(150)).await;
    daemon.kill();
    let place = place.set(&wait(1));
    let mut daemon = place.start().await;
    let expected = kept(0..200);
    until("all kept spans are at the sink", || {
        sink.count() >= expected.len()
    })
    .await;
    assert!(daemon.terminate().await.0.success());
    assert_same(&expected, &sink.spans(), "after two kills");
    // What was decided and delivered is not decided or delivered again.
    let mut daemon = place.start().await;
    assert_ledger(&daemon, &sink.exporter(0).0, 200 * 4, expected.len()).await;
    assert!(daemon.terminate().await.0.success());
    assert_same(&expected, &sink.spans(), "after one more start");
    place.assert_log_is_sound();
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_decides_what_a_memory_buffer_holds() {
    let sink = Sink::grpc();
    let place = Place::new(
        &Recipe::new(ERRORS, &[&sink])
            .decision_wait(FOR_EVER)
            .memory(),
    );
    let mut daemon = place.start().await;
    send_all(&daemon, 0..200).await;
    let (status, took) = daemon.terminate().await;
    assert!(status.success() && took < BOUND, "{status} after {took:?}");
    assert_same(&kept(0..200), &sink.spans(), "a memory buffer");
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_with_a_dead_backend_ends_in_bounded_time() {
    let mut sink = Sink::dead();
    let place = Place::new(&Recipe::new(ERRORS, &[&sink]));
    let mut daemon = place.start().await;
    send_all(&daemon, 0..200).await;
    let kept_spans = kept(0..200).len() as u64;
    let decided = [
        ("accepted", 200 * PARTS),
        ("awaiting", kept_spans),
        ("dropped", 200 * PARTS - kept_spans),
    ];
    becomes(&daemon, &sink.exporter(0).0, &states(decided)).await;
    let (status, took) = daemon.terminate().await;
    assert!(status.success() && took < BOUND, "{status} after {took:?}");
    sink.start();
    let mut daemon = place.start().await;
    let expected = kept(0..200);
    until("all kept spans are at the sink", || {
        sink.count() >= expected.len()
    })
    .await;
    assert_ledger(&daemon, &sink.exporter(0).0, 200 * 4, expected.len()).await;
    assert!(daemon.terminate().await.0.success());
    assert_same(&expected, &sink.spans(), "after the backend came back");
}

/// Senders that go on until told to stop; they note which traces were acknowledged whole, and which may have been.
struct Load {
    senders: JoinSet<()>,
    stop: Arc<Mutex<bool>>,
    sent: Arc<Mutex<Acknowledged>>,
}

#[derive(Default)]
struct Acknowledged {
    whole: BTreeSet<u64>,
    /// A part was refused or its answer was lost.
    doubtful: BTreeSet<u64>,
}

const TRACES_PER_REQUEST: u64 = 50;
/// Fewer traces are no load.
const ENOUGH: usize = 1000;

impl Load {
    /// Four senders; each sends the parts of its own traces one after the other.
    fn start(port: u16, first: u64) -> Self {
        let (stop, sent) = (
            Arc::new(Mutex::new(false)),
            Arc::<Mutex<Acknowledged>>::default(),
        );
        let mut senders = JoinSet::new();
        for sender in 0..4 {
            let (stop, sent) = (stop.clone(), sent.clone());
            let mut next = first + sender * 10_000_000;
            senders.spawn(async move {
                let mut client = grpc(port);
                while !*stop.lock() {
                    let traces = next..next + TRACES_PER_REQUEST;
                    next = traces.end;
                    let mut whole = true;
                    for part in failing_first(PARTS) {
                        whole &= client.export(request(traces.clone(), part)).await.is_ok();
                    }
                    let mut sent = sent.lock();
                    if whole {
                        sent.whole.extend(traces)
                    } else {
                        sent.doubtful.extend(traces)
                    }
                }
            });
        }
        Self {
            senders,
            stop,
            sent,
        }
    }

    /// So many seconds, and so many acknowledged traces.
    async fn goes_on(&self, seconds: u64, traces: usize) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        until("there is a load", || self.sent.lock().whole.len() > traces).await;
    }

    async fn end(mut self) -> Acknowledged {
        *self.stop.lock() = true;
        while let Some(ended) = self.senders.join_next().await {
            ended.unwrap();
        }
        std::mem::take(&mut *self.sent.lock())
    }
}

/// What an exporter has under way at most (`exporters::cursor`).
const IN_FLIGHT_BYTES: usize = 16 << 20;

fn bytes_of_a_span() -> usize {
    request(0..TRACES_PER_REQUEST, 0).encoded_len() / TRACES_PER_REQUEST as usize
}

/// Every acknowledged trace is there whole, nothing came that was not sent, and what repeats is at most `repeats`.
fn assert_kept(sent: &Acknowledged, sink: &Sink, repeats: usize) {
    assert!(
        sent.whole.len() > ENOUGH,
        "{} traces are no load",
        sent.whole.len()
    );
    let spans = sink.spans();
    let expected = kept(sent.whole.iter().copied());
    assert_contains(&expected, &spans, "acknowledged and to be kept");
    let possible = kept(sent.whole.iter().chain(&sent.doubtful).copied());
    let foreign: BTreeSet<_> = traces(&spans)
        .difference(&traces(&possible))
        .cloned()
        .collect();
    assert!(
        foreign.is_empty(),
        "kept though nothing failed: {foreign:?}"
    );
    let (all, acknowledged) = (repeated(&spans), of_traces(&spans, &traces(&expected)));
    assert!(
        all <= repeats,
        "{all} spans came again, {} of acknowledged traces",
        repeated(&acknowledged)
    );
}

/// At rest the ledger adds up, covers every acknowledged span, and has nothing delivered that the sink does not have.
async fn assert_ledger_covers(daemon: &Daemon, sent: &Acknowledged, sink: &Sink) {
    let ledger = at_rest(daemon, &sink.exporter(0).0).await;
    let (accepted, delivered) = (ledger["accepted"], ledger["delivered"]);
    let (whole, doubtful) = (
        sent.whole.len() as u64 * PARTS,
        sent.doubtful.len() as u64 * PARTS,
    );
    assert!(
        (whole..=whole + doubtful).contains(&accepted),
        "{ledger:?}, {whole} acknowledged, {doubtful} in doubt"
    );
    assert!(
        delivered <= sink.count() as u64,
        "{ledger:?}, {} at the sink",
        sink.count()
    );
    let states: Vec<&str> = ledger.keys().map(String::as_str).collect();
    assert_eq!(states, ["accepted", "delivered", "dropped"], "{ledger:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_under_load_loses_nothing_and_repeats_nothing() {
    let sink = Sink::grpc();
    let place = Place::new(&Recipe::new(ERRORS, &[&sink]).decision_wait(2));
    let mut daemon = place.start().await;
    let load = Load::start(daemon.grpc, 0);
    load.goes_on(4, ENOUGH).await;
    let (status, took) = daemon.terminate().await;
    assert!(status.success() && took < BOUND, "{status} after {took:?}");
    let sent = load.end().await;
    let mut daemon = place.start().await;
    let expected = kept(sent.whole.iter().copied()).len();
    until("all kept spans are at the sink", || {
        sink.count() >= expected
    })
    .await;
    assert_ledger_covers(&daemon, &sent, &sink).await;
    assert!(daemon.terminate().await.0.success());
    assert_kept(&sent, &sink, 0);
    place.assert_log_is_sound();
}

#[tokio::test(flavor = "multi_thread")]
async fn sigkill_under_load_loses_nothing() {
    let sink = Sink::grpc();
    let place = Place::new(&Recipe::new(ERRORS, &[&sink]).decision_wait(2));
    let mut all = Acknowledged::default();
    for round in 0..3 {
        let mut daemon = place.start().await;
        let load = Load::start(daemon.grpc, round * 1_000_000);
        load.goes_on(2, ENOUGH / 2).await;
        daemon.kill();
        let mut sent = load.end().await;
        all.whole.append(&mut sent.whole);
        all.doubtful.append(&mut sent.doubtful);
    }
    let mut daemon = place.start().await;
    let expected = kept(all.whole.iter().copied()).len();
    until("all kept spans are at the sink", || {
        sink.count() >= expected
    })
    .await;
    assert_ledger_covers(&daemon, &all, &sink).await;
    assert!(daemon.terminate().await.0.success());
    place.assert_log_is_sound();
    // At each kill as much may have been in flight as an exporter sends at once.
    assert_kept(&all, &sink, 3 * IN_FLIGHT_BYTES / bytes_of_a_span());
}
