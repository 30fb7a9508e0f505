//! Row 16: records that are in the topic twice.

use crate::field::Field;
use crate::plan::{Plan, WAIT};
use crate::shared::broker;
use crate::support::ledger::at_rest;
use crate::support::recipe::ALL;
use crate::support::traffic::request;
use crate::support::wait::until;
use crate::topic;
use prost::Message as _;
use std::time::Duration;
use tailwater::otlp::{TraceId, partition_of};
use tokio::time::sleep;

/// Another producer's record, put in twice: its spans leave once, and the copies are counted as such.
#[tokio::test(flavor = "multi_thread")]
async fn row_16_a_record_that_is_there_twice() {
    let broker = broker().await;
    let plan = Plan {
        policies: Some(ALL),
        ..Plan::new("row16", &broker.address())
    };
    let (name, partitions) = (plan.topic(), plan.partitions);
    let field = Field::running(plan, 1).await;
    let put = |trace: u64, times: usize| {
        let value = request(trace..trace + 1, 0).encode_to_vec();
        let id = [&[7; 8][..], &trace.to_be_bytes()].concat();
        let id = TraceId::from_slice(&id).unwrap();
        let partition = i32::from(partition_of(id, partitions));
        topic::put(broker, &name, partition, &vec![value; times]);
    };
    (0..20).for_each(|trace| put(trace, 2));
    until("all are at the sink", || field.sink.traces().len() == 20).await;
    sleep(Duration::from_secs(WAIT)).await;
    assert_eq!(field.sink.copies(), 0);
    let ledger = at_rest(field.daemon(0), "otlp/0").await;
    let of = |state: &str| ledger.get(state).copied().unwrap_or(0);
    assert_eq!(
        (of("accepted"), of("delivered"), of("duplicate")),
        (40, 20, 20),
        "{ledger:?}"
    );
}
