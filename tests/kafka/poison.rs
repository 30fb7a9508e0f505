//! Records that cannot be taken, and records that are gone before they are read.

use crate::broker::Broker;
use crate::place::from_kafka;
use crate::support::sender::get;
use crate::support::sink::Sink;
use crate::support::spans::{assert_same, flatten};
use crate::support::traffic::request;
use crate::support::wait::{until, until_async};
use crate::topic;
use prost::Message as _;
use rdkafka::admin::AdminOptions;
use rdkafka::{Offset, TopicPartitionList};

const CANARY: &str = "canary-in-a-record";

/// A counter of the daemon's page.
pub(crate) async fn metric(port: u16, line: &str) -> Option<u64> {
    let (_, page) = get(port, "/metrics").await?;
    let found = page.lines().find_map(|found| found.strip_prefix(line))?;
    found.trim().parse().ok()
}

async fn until_metric(port: u16, line: &str, value: u64) {
    until_async(&format!("{line} is {value}"), async || {
        metric(port, line).await == Some(value)
    })
    .await;
}

const MALFORMED: &str = "tailwater_receiver_refused_requests_total{receiver=\"kafka\",transport=\"kafka\",reason=\"malformed\"}";
const DEAD: &str = "tailwater_kafka_receiver_dead_letters_total{receiver=\"kafka\"}";
const LOST: &str = "tailwater_kafka_receiver_lost_records_total{receiver=\"kafka\"}";

#[tokio::test(flavor = "multi_thread")]
async fn a_poison_record_is_told_copied_and_passed_over() {
    let broker = Broker::start().await;
    broker.topic("spans", 1, &[]).await;
    broker.topic("dead", 1, &[]).await;
    let good = [request(1..2, 0), request(2..3, 0)];
    let values = [
        good[0].encode_to_vec(),
        CANARY.as_bytes().to_vec(),
        good[1].encode_to_vec(),
        // A tombstone holds no span, and is none of our business.
        Vec::new(),
    ];
    topic::put(&broker, "spans", 0, &values);
    let sink = Sink::grpc();
    let settings = |group: &str, more: &str| {
        format!(
            "brokers: ['{}'], traces: {{topics: [spans]}}, group_id: {group}, initial_offset: earliest, autocommit: {{interval: 100ms}}{more}",
            broker.address()
        )
    };
    let reader = from_kafka(&settings("g", ", dead_letter_topic: dead"), &sink);
    let mut daemon = reader.place.start().await;
    until("the good ones are at the sink", || sink.count() >= 2).await;
    assert_same(&flatten(&good), &sink.spans(), "good records");
    until_metric(daemon.metrics, MALFORMED, 1).await;
    until_metric(daemon.metrics, DEAD, 1).await;
    let dead = topic::all(&broker, "dead");
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].value, CANARY.as_bytes());
    let header = |name: &str| dead[0].headers.get(name).cloned().unwrap_or_default();
    let place = ["topic", "partition", "offset"].map(|name| header(&format!("tailwater.{name}")));
    assert_eq!(place, ["spans", "0", "1"]);
    assert!(header("tailwater.reason").contains("malformed"), "{dead:?}");
    until_async("it is committed", async || {
        topic::is_read(&broker, "spans", "g")
    })
    .await;
    until("it is told", || {
        let log = daemon.log();
        log.contains("passed over") && log.contains("offset=1")
    })
    .await;
    assert!(!daemon.log().contains(CANARY));
    assert!(daemon.terminate().await.0.success());

    // The same without a dead-letter topic: counted, told, passed over.
    let other = from_kafka(&settings("h", ""), &sink);
    let daemon = other.place.start().await;
    until_metric(daemon.metrics, MALFORMED, 1).await;
    until_async("it is committed", async || {
        topic::is_read(&broker, "spans", "h")
    })
    .await;
    assert_eq!(topic::all(&broker, "dead").len(), 1);
}

/// Records that retention takes while nobody reads are counted as lost, loudly, and reading goes on behind them.
#[tokio::test(flavor = "multi_thread")]
async fn records_deleted_before_they_are_read_are_counted() {
    let broker = Broker::start().await;
    broker.topic("spans", 1, &[]).await;
    let sink = Sink::grpc();
    let reader = from_kafka(
        &format!(
            "brokers: ['{}'], traces: {{topics: [spans]}}, group_id: g, initial_offset: earliest, autocommit: {{interval: 100ms}}",
            broker.address()
        ),
        &sink,
    );
    let requests: Vec<_> = (0..10).map(|n| request(n..n + 1, 0)).collect();
    let values: Vec<_> = requests.iter().map(prost::Message::encode_to_vec).collect();
    topic::put(&broker, "spans", 0, &values[..2]);
    let mut daemon = reader.place.start().await;
    until("the first are at the sink", || sink.count() == 2).await;
    until_async("they are committed", async || {
        topic::is_read(&broker, "spans", "g")
    })
    .await;
    assert!(daemon.terminate().await.0.success());
    topic::put(&broker, "spans", 0, &values[2..]);
    let mut list = TopicPartitionList::new();
    list.add_partition_offset("spans", 0, Offset::Offset(7))
        .unwrap();
    let deleted = broker
        .admin()
        .delete_records(&list, &AdminOptions::new())
        .await;
    deleted.unwrap();
    let daemon = reader.place.start().await;
    until("the rest is at the sink", || sink.count() == 5).await;
    until_metric(daemon.metrics, LOST, 5).await;
    until("it is told", || {
        daemon.log().contains("retention is too short")
    })
    .await;
    assert_same(
        &flatten(requests[..2].iter().chain(&requests[7..])),
        &sink.spans(),
        "what was there",
    );
}
