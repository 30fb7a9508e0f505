//! Brokers and daemons that die or hang: nothing that was acknowledged is lost, copies are bounded.

use crate::broker::Broker;
use crate::place::{from_kafka, to_kafka};
use crate::poison::metric;
use crate::support::ledger::assert_ledger;
use crate::support::recipe::ALL;
use crate::support::sender::send_grpc;
use crate::support::sink::Sink;
use crate::support::spans::{Flat, flatten};
use crate::support::traffic::request;
use crate::support::wait::{PATIENCE, until, until_async};
use crate::topic;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const RETRIES: &str = "tailwater_exporter_retries_total{exporter=\"kafka\"}";
/// Spans of a round.
const ROUND: u64 = 200;

/// Every one of `expected` is there; how many are there more than once.
fn copies(expected: &[Flat], found: &[Flat]) -> usize {
    let seen: BTreeSet<&Flat> = found.iter().collect();
    let missing = expected.iter().filter(|span| !seen.contains(span)).count();
    assert_eq!(missing, 0, "spans that never arrived");
    assert_eq!(seen.len(), expected.len(), "spans that nobody sent");
    found.len() - seen.len()
}

/// Waits until each of them is at the sink, however often. It looks at them rarely: while it does, the sink takes nothing.
async fn until_all(expected: &[Flat], sink: &Sink) {
    let end = Instant::now() + 3 * PATIENCE;
    loop {
        let mut arrived = sink.count();
        if arrived >= expected.len() {
            let seen: BTreeSet<Flat> = sink.spans().into_iter().collect();
            arrived = seen.len();
        }
        if arrived >= expected.len() {
            return;
        }
        let all = expected.len();
        assert!(Instant::now() < end, "{arrived} of {all} spans came");
        sleep(Duration::from_secs(1)).await;
    }
}

/// The broker is killed and comes back, then hangs and goes on, while spans come in: they wait in the log.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_dies_or_hangs_costs_time_and_no_span() {
    let mut broker = Broker::start().await;
    broker.topic("spans", 4, &[]).await;
    let sink = Sink::grpc();
    let brokers = broker.address();
    let writer = to_kafka(
        ALL,
        &format!(
            "brokers: ['{brokers}'], traces: {{topic: spans}}, partition_traces_by_id: true, timeout: 2s"
        ),
    );
    let reader = from_kafka(
        &format!(
            "brokers: ['{brokers}'], traces: {{topics: [spans]}}, group_id: g, initial_offset: earliest"
        ),
        &sink,
    );
    let writing = writer.place.start().await;
    let reading = reader.place.start().await;
    let mut sent = Vec::new();
    for round in 0..6_u64 {
        match round {
            1 => broker.kill(),
            2 => broker.resume().await,
            3 => broker.signal(Signal::STOP),
            4 => {
                sleep(Duration::from_secs(3)).await;
                broker.signal(Signal::CONT);
            }
            _ => {}
        }
        for part in 0..2 {
            let traces = request(round * 100..round * 100 + 100, part);
            send_grpc(writing.grpc, traces.clone()).await;
            sent.push(traces);
        }
        // Long enough that the round is decided and on its way.
        sleep(Duration::from_millis(2500)).await;
    }
    let expected = flatten(&sent);
    assert_ledger(&writing, "kafka", expected.len(), expected.len()).await;
    until_all(&expected, &sink).await;
    let stored = topic::all(&broker, "spans");
    let stored: Vec<_> = stored.iter().map(topic::Stored::request).collect();
    let doubled = copies(&expected, &flatten(&stored));
    // A hung broker may have taken what it could not acknowledge: what was under way, once for each try.
    let tries = metric(writing.metrics, RETRIES).await.unwrap();
    eprintln!("{doubled} copies, {tries} more tries");
    assert!(doubled as u64 <= tries * ROUND, "{doubled} copies");
    copies(&expected, &sink.spans());
    drop((writing, reading));
}

/// `kill -9` of the daemon that reads, several times in the middle: what it had not committed is read again.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_reader_loses_nothing() {
    const RECORDS: u64 = 1200;
    let broker = Broker::start().await;
    broker.topic("spans", 4, &[]).await;
    let requests: Vec<_> = (0..RECORDS).map(|n| request(n * 4..n * 4 + 4, 0)).collect();
    let sink = Sink::grpc();
    let reader = from_kafka(
        &format!(
            "brokers: ['{}'], traces: {{topics: [spans]}}, group_id: g, group_instance_id: one, initial_offset: earliest, \
             session_timeout: 6s, heartbeat_interval: 1s, autocommit: {{interval: 100ms}}",
            broker.address()
        ),
        &sink,
    );
    let values: Vec<_> = requests.iter().map(prost::Message::encode_to_vec).collect();
    for round in 0..4_usize {
        let mut daemon = reader.place.start().await;
        let part = values.len() / 4;
        for (partition, values) in
            (0..4).zip(values[round * part..(round + 1) * part].chunks(part / 4 + 1))
        {
            topic::put(&broker, "spans", partition, values);
        }
        sleep(Duration::from_millis(150 * round as u64)).await;
        daemon.kill();
    }
    let mut daemon = reader.place.start().await;
    let expected = flatten(&requests);
    until_all(&expected, &sink).await;
    copies(&expected, &sink.spans());
    until_async("all is committed", async || {
        topic::is_read(&broker, "spans", "g")
    })
    .await;
    assert!(daemon.terminate().await.0.success());
    reader.place.assert_log_is_sound();
}

/// Two members of one group share the partitions; one leaves in peace, and nothing is lost or comes twice.
#[tokio::test(flavor = "multi_thread")]
async fn members_that_come_and_go_hand_over_without_copies() {
    let broker = Broker::start().await;
    broker.topic("spans", 4, &[]).await;
    let sink = Sink::grpc();
    // Nobody is taken for dead who only stands still for a while.
    let settings = format!(
        "brokers: ['{}'], traces: {{topics: [spans]}}, group_id: g, initial_offset: earliest, session_timeout: 60s, \
         autocommit: {{interval: 100ms}}",
        broker.address()
    );
    let (one, other) = (from_kafka(&settings, &sink), from_kafka(&settings, &sink));
    let mut first = one.place.start().await;
    let mut sent = Vec::new();
    let mut put = |number: u64| {
        let requests: Vec<_> = (0..100)
            .map(|n| number * 100 + n)
            .map(|n| request(n..n + 1, 0))
            .collect();
        for (partition, chunk) in (0..4).zip(requests.chunks(25)) {
            let values: Vec<_> = chunk.iter().map(prost::Message::encode_to_vec).collect();
            topic::put(&broker, "spans", partition, &values);
        }
        sent.extend(requests);
    };
    put(0);
    until("the first member reads", || sink.count() == 100).await;
    let mut second = other.place.start().await;
    for number in 1..6 {
        put(number);
        sleep(Duration::from_millis(700)).await;
    }
    until("the second member has partitions", || {
        second.log().contains("owned=2")
    })
    .await;
    put(6);
    assert!(first.terminate().await.0.success());
    put(7);
    until("the second member has all", || {
        second.log().contains("owned=4")
    })
    .await;
    // What the first had not decided is in its log.
    let mut first = one.place.start().await;
    until_all(&flatten(&sent), &sink).await;
    assert_eq!(copies(&flatten(&sent), &sink.spans()), 0);
    assert!(second.terminate().await.0.success());
    assert!(first.terminate().await.0.success());
}
