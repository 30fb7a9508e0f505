//! Row 27: many partitions, a backlog, data that a codec makes small: memory stays under its cap.

use crate::field::{COPIES, Field};
use crate::plan::Plan;
use crate::shared::broker;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const TOTAL: u64 = 192;
/// What the caps do not govern: the binary, threads, librdkafka's own.
const BESIDE: u64 = 128;

/// 64 partitions' backlog is read at once by a daemon that was dead: what is read ahead is bounded.
#[tokio::test(flavor = "multi_thread")]
async fn row_27_memory_under_its_cap() {
    let broker = broker().await;
    let plan = Plan {
        partitions: 64,
        memory: "total: 192MiB",
        ..Plan::new("row27", &broker.address())
    };
    let mut field = Field::running(plan, 2).await;
    let load = field.load(27, &[0]);
    sleep(Duration::from_secs(4)).await;
    // The other one has half of the partitions, which wait for the end of its session.
    field.kill(1);
    sleep(Duration::from_secs(4)).await;
    field.spawn(1);
    let (begun, mut most) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_secs(12) {
        most = most.max(field.daemon(0).rss()).max(field.daemon(1).rss());
        sleep(Duration::from_millis(100)).await;
    }
    eprintln!("{} MiB at most", most >> 20);
    assert!(most >> 20 < TOTAL + BESIDE, "{} MiB", most >> 20);
    field.ready(1).await;
    field.settle(load, 2 * COPIES).await;
}
