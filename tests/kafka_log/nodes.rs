//! Rows 3, 4, 14: one of three brokers, then two, then acknowledged records are lost.

use crate::broker::Broker;
use crate::cluster::Cluster;
use crate::field::{COPIES, Field};
use crate::plan::Plan;
use crate::probe::{assert_refused, not_ready, send};
use crate::support::wait::{until, until_async};
use crate::topic;
use std::time::Duration;
use tokio::time::sleep;

fn plan(name: &'static str, cluster: &Cluster) -> Plan {
    Plan {
        // What takes an election must not end a transaction: two thirds of it are.
        session: 15,
        kafka: ", create: true, replication_factor: 3".to_owned(),
        ..Plan::new(name, &cluster.addresses())
    }
}

/// A leader dies and comes back, then the next: nothing is refused for good, nothing comes twice.
#[tokio::test(flavor = "multi_thread")]
async fn row_03_a_leader_dies() {
    let mut cluster = Cluster::alone().await;
    let field = Field::running(plan("row03", &cluster), 2).await;
    let topic = field.plan.topic();
    let load = field.load(3, &[0, 1]);
    sleep(Duration::from_secs(4)).await;
    for round in 0..2_usize {
        let (leader, _) = cluster.leader(round, &topic, 0);
        cluster.nodes[leader].kill();
        let other = (leader + 1) % 3;
        until("another one leads", || {
            ![leader, 3].contains(&cluster.leader(other, &topic, 0).0)
        })
        .await;
        sleep(Duration::from_secs(2)).await;
        cluster.resume(leader).await;
        until("all replicas are in sync", || {
            cluster.leader(other, &topic, 0).1.len() == 3
        })
        .await;
    }
    field.settle(load, COPIES).await;
}

/// Two of three are gone: no write has enough replicas, and none is acknowledged.
#[tokio::test(flavor = "multi_thread")]
async fn row_04_too_few_in_sync_replicas() {
    let mut cluster = Cluster::alone().await;
    let field = Field::running(plan("row04", &cluster), 1).await;
    let load = field.load(4, &[0]);
    sleep(Duration::from_secs(4)).await;
    cluster.nodes[1].kill();
    cluster.nodes[2].kill();
    let reason = not_ready(field.daemon(0), &["kafka", "replica", "broker"]).await;
    eprintln!("not ready: {reason}");
    assert_refused(&send(field.daemon(0), 0..10, 0).await);
    let before = load.outcome.counts().acknowledged;
    sleep(Duration::from_secs(3)).await;
    assert_eq!(
        load.outcome.counts().acknowledged,
        before,
        "acknowledged by one replica"
    );
    cluster.nodes[1].spawn();
    cluster.resume(2).await;
    field.ready(0).await;
    sleep(Duration::from_secs(3)).await;
    field.settle(load, 2 * COPIES).await;
}

/// A broker that lacks acknowledged records comes to lead: what is committed lies beyond the end of its log. The loss is
/// told and counted, and spans flow again.
#[tokio::test(flavor = "multi_thread")]
async fn row_14_brokers_lose_acknowledged_records() {
    let mut cluster = Cluster::alone().await;
    let mut plan = plan("row14", &cluster);
    plan.partitions = 1;
    // One replica's word is enough, and one that lags may lead: what `docs/kafka.md` warns of.
    let loose = [
        ("message.timestamp.type", "LogAppendTime"),
        ("retention.ms", "7200000"),
        ("min.insync.replicas", "1"),
        ("unclean.leader.election.enable", "true"),
    ];
    let safe = [
        ("message.timestamp.type", "LogAppendTime"),
        ("retention.ms", "14400000"),
        ("min.insync.replicas", "2"),
    ];
    make(&cluster.nodes[0], &plan.topic(), 2, &loose).await;
    make(&cluster.nodes[0], &plan.decisions(), 3, &safe).await;
    plan.kafka = String::new();
    let spans = plan.topic();
    let mut field = Field::running(plan, 1).await;
    let load = field.load(14, &[0]);
    sleep(Duration::from_secs(3)).await;
    let (leader, in_sync) = cluster.leader(0, &spans, 0);
    let follower = in_sync.into_iter().find(|node| *node != leader).unwrap();
    cluster.nodes[follower].kill();
    // Acknowledged by the leader alone, decided, and committed.
    sleep(Duration::from_secs(8)).await;
    load.finish().await;
    let other = (0..3)
        .find(|node| ![leader, follower].contains(node))
        .unwrap();
    until("all is committed", || {
        topic::is_read(&cluster.nodes[other], &spans, "row14")
    })
    .await;
    field.terminate(0).await;
    cluster.nodes[leader].kill();
    cluster.nodes[follower].spawn();
    until_async("the one that lags leads", async || {
        cluster.leader(follower, &spans, 0).0 == follower
    })
    .await;
    cluster.resume(leader).await;
    field.spawn(0);
    until("the loss is told", || {
        let log = field.daemon(0).log();
        log.contains("ERROR") && log.contains("lost")
    })
    .await;
    field.ready(0).await;
    let load = field.load(15, &[0]);
    sleep(Duration::from_secs(2)).await;
    let (shape, outcome, traces) = load.finish().await;
    until("spans flow again", || {
        field.missing(&shape, &outcome, traces).is_empty()
    })
    .await;
}

async fn make(broker: &Broker, name: &str, replicas: i32, settings: &[(&str, &str)]) {
    use rdkafka::admin::{AdminOptions, NewTopic, TopicReplication};
    let mut topic = NewTopic::new(name, 1, TopicReplication::Fixed(replicas));
    for (key, value) in settings {
        topic = topic.set(key, value);
    }
    let made = broker
        .admin()
        .create_topics([&topic], &AdminOptions::new())
        .await;
    made.unwrap().remove(0).unwrap();
}
