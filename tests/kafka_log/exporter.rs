//! Row 19: a backend that takes nothing for a while costs a position, not memory.

use crate::field::{COPIES, Field, number};
use crate::load::Mode;
use crate::plan::Plan;
use crate::shared::broker;
use crate::support::wait::until;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The sink refuses under load; memory stays, intake goes on, and all of it comes when the sink takes it again.
#[tokio::test(flavor = "multi_thread")]
async fn row_19_a_dead_backend() {
    let broker = broker().await;
    let field = Field::running(Plan::new("row19", &broker.address()), 1).await;
    let load = field.load(19, &[0]);
    sleep(Duration::from_secs(8)).await;
    field.sink.set(Mode::Fail);
    let (before, begun) = (field.daemon(0).rss(), Instant::now());
    let acknowledged = load.outcome.counts().acknowledged;
    let mut most = before;
    while begun.elapsed() < Duration::from_secs(number("TAILWATER_SECONDS", 15)) {
        most = most.max(field.daemon(0).rss());
        sleep(Duration::from_millis(200)).await;
    }
    let grown = (most - before) >> 20;
    eprintln!("{grown} MiB more in {:.0?}", begun.elapsed());
    assert!(grown < 64, "{grown} MiB more");
    assert!(
        load.outcome.counts().acknowledged > acknowledged,
        "intake stands still"
    );
    let came = field.sink.spans();
    field.sink.set(Mode::Take);
    until("the backlog comes", || field.sink.spans() > came).await;
    field.settle(load, COPIES).await;
}
