//! Rows 17 and 18: a daemon killed at the worst moments.

use crate::field::{COPIES, Field};
use crate::load::Mode;
use crate::plan::Plan;
use crate::probe::{self, taken};
use crate::shared::broker;
use crate::support::ledger::at_rest;
use crate::support::recipe::ALL;
use crate::support::wait::until;
use std::time::Duration;
use tokio::time::sleep;

/// Killed when the sink has the first spans of a backlog and no position is saved: all of it comes, some of it again.
#[tokio::test(flavor = "multi_thread")]
async fn row_17_killed_between_export_and_commit() {
    let broker = broker().await;
    let mut field = Field::running(Plan::new("row17", &broker.address()), 1).await;
    let load = field.load(17, &[0]);
    for _ in 0..2 {
        field.sink.set(Mode::Fail);
        sleep(Duration::from_secs(6)).await;
        let before = field.sink.spans();
        field.sink.set(Mode::Take);
        until("the first of the backlog came", || {
            field.sink.spans() > before
        })
        .await;
        field.kill(0);
        field.spawn(0);
        field.ready(0).await;
    }
    field.settle(load, 2 * COPIES).await;
}

/// Killed in the moment of an answer: what was acknowledged is in the topic, and is found there.
#[tokio::test(flavor = "multi_thread")]
async fn row_18_killed_behind_the_answer() {
    let broker = broker().await;
    let plan = Plan {
        policies: Some(ALL),
        ..Plan::new("row18", &broker.address())
    };
    let mut field = Field::running(plan, 1).await;
    for round in 0..3_u64 {
        taken(field.daemon(0), round * 100..round * 100 + 100, 0).await;
        field.kill(0);
        field.spawn(0);
        field.ready(0).await;
    }
    until("all that was acknowledged is at the sink", || {
        field.sink.traces().len() == 300
    })
    .await;
    let ledger = at_rest(field.daemon(0), "otlp/0").await;
    assert_eq!(
        (ledger["accepted"], ledger["delivered"]),
        (300, 300),
        "{ledger:?}"
    );
    assert!(field.sink.copies() <= 300);
    assert!(probe::is_ready(field.daemon(0)).await);
}
