//! Three daemons under load, one of which is killed every few seconds: nothing that was acknowledged is lost.

use crate::field::{COPIES, Field, number};
use crate::plan::Plan;
use crate::shared::broker;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// `TAILWATER_SECONDS` and `TAILWATER_RATE` make it as long and heavy as the soak has it: 120 s, 10,000 spans a second.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_three_killed_every_few_seconds() {
    let broker = broker().await;
    let plan = Plan {
        partitions: 12,
        ..Plan::new("fleet", &broker.address())
    };
    let mut field = Field::running(plan, 3).await;
    let load = field.load(13, &[0, 1, 2]);
    let time = Duration::from_secs(number("TAILWATER_SECONDS", 25));
    let begun = Instant::now();
    let mut kills = 0;
    while begun.elapsed() < time {
        // 3 to 6 s, never in step with a tick or a session.
        sleep(Duration::from_millis(3000 + kills * 1237 % 3000)).await;
        let victim = usize::try_from(kills % 3).unwrap();
        field.kill(victim);
        kills += 1;
        sleep(Duration::from_millis(300)).await;
        field.spawn(victim);
    }
    for daemon in 0..3 {
        field.ready(daemon).await;
    }
    let rate = load.outcome.counts().acknowledged / begun.elapsed().as_secs();
    eprintln!("{kills} kills, {rate} spans/s acknowledged");
    field.settle(load, kills * COPIES).await;
}
