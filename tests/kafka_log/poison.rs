//! Row 20: records that nobody can read.

use crate::field::Field;
use crate::plan::Plan;
use crate::probe::taken;
use crate::shared::broker;
use crate::support::recipe::ALL;
use crate::support::wait::until;
use crate::topic;

const CANARY: &[u8] = b"\xff\xffcanary in a record";

/// They are told, copied to the dead letters' topic with the place where they were, and passed over; a restart does not
/// meet them again.
#[tokio::test(flavor = "multi_thread")]
async fn row_20_poison_records() {
    let broker = broker().await;
    let mut plan = Plan {
        policies: Some(ALL),
        ..Plan::new("row20", &broker.address())
    };
    plan.kafka.push_str(", dead_letter_topic: row20.dead");
    let name = plan.topic();
    let mut field = Field::running(plan, 1).await;
    taken(field.daemon(0), 0..50, 0).await;
    for partition in 0..6 {
        topic::put(broker, &name, partition, &[CANARY.to_vec(), Vec::new()]);
    }
    taken(field.daemon(0), 50..100, 0).await;
    until("good records are at the sink", || {
        field.sink.traces().len() == 100
    })
    .await;
    until("poison is with the dead letters", || {
        let dead = topic::all(broker, "row20.dead");
        dead.iter().filter(|record| record.value == CANARY).count() == 6
    })
    .await;
    let dead = topic::all(broker, "row20.dead");
    for record in &dead {
        for name in ["reason", "topic", "partition", "offset"] {
            let header = record.headers.get(&format!("tailwater.{name}"));
            assert!(header.is_some_and(|value| !value.is_empty()), "{record:?}");
        }
    }
    let log = field.daemon(0).log();
    assert!(log.contains("row20.spans") && !log.contains("canary"));
    until("they are committed", || {
        topic::is_read(broker, &name, "row20")
    })
    .await;
    field.terminate(0).await;
    field.spawn(0);
    field.ready(0).await;
    taken(field.daemon(0), 100..110, 0).await;
    until("what follows is at the sink", || {
        field.sink.traces().len() == 110
    })
    .await;
    assert_eq!(topic::all(broker, "row20.dead").len(), dead.len());
}
