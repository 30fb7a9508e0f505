//! Row 11: retention takes what is still needed.

use crate::field::Field;
use crate::plan::Plan;
use crate::probe::taken;
use crate::shared::broker;
use crate::support::recipe::ALL;
use crate::support::wait::until;
use crate::topic;
use prost::Message as _;
use rdkafka::admin::AdminOptions;
use rdkafka::{Offset, TopicPartitionList};

use crate::support::traffic::request;

/// Records are deleted while no daemon runs: the next one tells the loss, and goes on with what there is.
#[tokio::test(flavor = "multi_thread")]
async fn row_11_deleted_before_it_was_read() {
    let broker = broker().await;
    let plan = Plan {
        policies: Some(ALL),
        partitions: 1,
        ..Plan::new("row11", &broker.address())
    };
    let name = plan.topic();
    let mut field = Field::running(plan, 1).await;
    taken(field.daemon(0), 0..10, 0).await;
    until("the first are at the sink", || {
        field.sink.traces().len() == 10
    })
    .await;
    until("they are committed", || {
        topic::is_read(broker, &name, "row11")
    })
    .await;
    field.terminate(0).await;
    let values: Vec<_> = (10..30)
        .map(|n| request(n..n + 1, 0).encode_to_vec())
        .collect();
    topic::put(broker, &name, 0, &values);
    let end = topic::end(broker, &name, 0);
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(&name, 0, Offset::Offset(end - 5))
        .unwrap();
    let deleted = broker
        .admin()
        .delete_records(&list, &AdminOptions::new())
        .await;
    deleted.unwrap();
    field.spawn(0);
    field.ready(0).await;
    until("what is left is at the sink", || {
        field.sink.traces().len() == 15
    })
    .await;
    let log = field.daemon(0).log();
    let told = |line: &str| line.contains("ERROR") && line.contains("retention");
    assert!(log.lines().any(told), "{log}");
    taken(field.daemon(0), 30..40, 0).await;
    until("what follows is at the sink", || {
        field.sink.traces().len() == 25
    })
    .await;
}
