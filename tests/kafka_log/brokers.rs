//! Rows 1, 2, 25: brokers that are not there, die, hang, or are gone when a daemon stops.

use crate::broker::Broker;
use crate::field::{COPIES, Field, number};
use crate::plan::Plan;
use crate::probe::{assert_refused, is_ready, not_ready, send, taken};
use crate::shared::SETTINGS;
use crate::support::ports;
use crate::support::wait::until;
use rustix::process::Signal;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Words that name the fault.
const DOWN: [&str; 3] = ["kafka", "broker", "transport"];

/// It starts without brokers, says that it is not ready and why, refuses, and takes spans once a broker is there.
#[tokio::test(flavor = "multi_thread")]
async fn row_01_brokers_down_at_start() {
    let mut broker = Broker::stopped(ports::free(), SETTINGS);
    let mut field = Field::new(Plan::new("row01", &broker.address()), 1).await;
    field.spawn(0);
    let reason = not_ready(field.daemon(0), &DOWN).await;
    eprintln!("not ready: {reason}");
    assert_refused(&send(field.daemon(0), 0..10, 0).await);
    broker.resume().await;
    field.ready(0).await;
    let settled = {
        let load = field.load(1, &[0]);
        sleep(Duration::from_secs(2)).await;
        field.settle(load, 0).await
    };
    assert!(settled.verdict.kept > 0);
}

/// The broker is killed and comes back after a while, then hangs: what was acknowledged stays, what cannot be taken is
/// refused before memory grows, and `/readyz` says why.
#[tokio::test(flavor = "multi_thread")]
async fn row_02_broker_down_in_mid_stream() {
    let down = Duration::from_secs(number("TAILWATER_DOWN_SECONDS", 12));
    let mut broker = Broker::start_with(SETTINGS).await;
    let mut field = Field::new(Plan::new("row02", &broker.address()), 1).await;
    field.spawn(0);
    field.ready(0).await;
    let load = field.load(2, &[0]);
    sleep(Duration::from_secs(5)).await;
    let before = field.daemon(0).rss();
    for fault in ["dead", "hung"] {
        match fault {
            "dead" => broker.kill(),
            _ => broker.signal(Signal::STOP),
        }
        let begun = Instant::now();
        let reason = not_ready(field.daemon(0), &DOWN).await;
        eprintln!("{fault}, not ready after {:.1?}: {reason}", begun.elapsed());
        assert_refused(&send(field.daemon(0), 0..10, 0).await);
        let mut most = before;
        while begun.elapsed() < down {
            most = most.max(field.daemon(0).rss());
            sleep(Duration::from_millis(200)).await;
        }
        // Requests under way and the producer's queue, no more.
        let grown = (most - before) >> 20;
        assert!(grown < 100, "{fault}: {grown} MiB more");
        match fault {
            "dead" => broker.resume().await,
            _ => broker.signal(Signal::CONT),
        }
        field.ready(0).await;
        sleep(Duration::from_secs(3)).await;
    }
    assert!(load.outcome.counts().refused > 0);
    field.settle(load, 2 * COPIES).await;
}

/// No coordinator answers when the daemon stops: it ends nevertheless, and the next one goes on.
#[tokio::test(flavor = "multi_thread")]
async fn row_25_a_stop_without_brokers_ends() {
    let mut broker = Broker::start_with(SETTINGS).await;
    let mut field = Field::new(Plan::new("row25", &broker.address()), 1).await;
    field.spawn(0);
    field.ready(0).await;
    for trace in 0..20 {
        taken(field.daemon(0), trace..trace + 1, 0).await;
    }
    broker.kill();
    let took = field.terminate(0).await;
    assert!(took < Duration::from_secs(30), "{took:?}");
    broker.resume().await;
    field.spawn(0);
    // Trace 0, 10: none fails in part 0, so nothing is kept; the load shows that it works.
    field.ready(0).await;
    assert!(is_ready(field.daemon(0)).await);
    let load = field.load(25, &[0]);
    let sent = load.outcome.clone();
    until("it takes spans again", || sent.counts().acknowledged > 0).await;
    let (_, outcome, _) = load.finish().await;
    let ledger = field.ledger().await;
    assert_eq!(
        ledger["accepted"],
        20 + outcome.counts().acknowledged,
        "{ledger:?}"
    );
}
