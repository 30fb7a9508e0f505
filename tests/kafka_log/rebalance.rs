//! Rows 9 and 10, and a fleet that grows and shrinks: partitions come and go under load.

use crate::field::{COPIES, Field, number};
use crate::group::{Stranger, members};
use crate::plan::Plan;
use crate::shared::broker;
use crate::support::wait::{until, until_async};
use std::time::Duration;
use tokio::time::sleep;

/// Members that do nothing join and leave every two seconds: what is decided goes on.
#[tokio::test(flavor = "multi_thread")]
async fn row_09_a_rebalance_storm() {
    let broker = broker().await;
    let field = Field::running(Plan::new("row09", &broker.address()), 2).await;
    let load = field.load(9, &[0, 1]);
    let came = field.sink.spans();
    for _ in 0..number("TAILWATER_SECONDS", 16) / 4 {
        let topic = field.plan.topic();
        let stay = move || Stranger::join(broker, "row09", &topic).stay(Duration::from_secs(2));
        tokio::task::spawn_blocking(stay).await.unwrap();
        sleep(Duration::from_secs(2)).await;
    }
    assert!(
        field.sink.spans() > came,
        "nothing was decided in the storm"
    );
    field.settle(load, 10 * COPIES).await;
}

/// An owner is frozen for longer than its session, and wakes: others have its partitions, and what it decides takes no
/// effect. On real brokers this is also row 10: to the group a poll that takes too long is a member that is gone.
#[tokio::test(flavor = "multi_thread")]
async fn row_10_an_owner_frozen_for_longer_than_its_session() {
    let broker = broker().await;
    let session = number("TAILWATER_SESSION", 6);
    let plan = Plan {
        session,
        ..Plan::new("row10", &broker.address())
    };
    let field = Field::running(plan, 2).await;
    until("both are members", || members(broker, "row10") == Some(2)).await;
    // Sent to the other one: requests to a frozen daemon wait.
    let load = field.load(10, &[1]);
    sleep(Duration::from_secs(4)).await;
    field
        .freeze(0, Duration::from_secs(session * 3 / 2 + 1))
        .await;
    sleep(Duration::from_secs(3)).await;
    until("both are members again", || {
        members(broker, "row10") == Some(2)
    })
    .await;
    sleep(Duration::from_secs(2)).await;
    field.settle(load, 2 * COPIES).await;
}

/// One daemon, three, one: each change hands partitions over while spans come in.
#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_grows_and_shrinks() {
    let broker = broker().await;
    let mut field = Field::new(Plan::new("scale", &broker.address()), 3).await;
    field.spawn(0);
    field.ready(0).await;
    let load = field.load(11, &[0, 1, 2]);
    sleep(Duration::from_secs(4)).await;
    for joins in [1, 2] {
        field.spawn(joins);
        field.ready(joins).await;
        until_async("it is a member", async || {
            members(broker, "scale") == Some(joins + 1)
        })
        .await;
        sleep(Duration::from_secs(3)).await;
    }
    for leaves in [1, 0] {
        let took = field.terminate(leaves).await;
        assert!(took < Duration::from_secs(20), "{took:?}");
        sleep(Duration::from_secs(4)).await;
    }
    until("one is left", || members(broker, "scale") == Some(1)).await;
    // Nobody died: hardly anything may come twice.
    field.settle(load, COPIES / 5).await;
}
