//! A frame of the decision log that cannot be read: its spans are lost, and told as lost at once; the rest goes on.

use crate::harness::{Running, spans};
use crate::lag::serve;
use crate::ports;
use crate::scrape::Scrape;
use std::fs::{self, OpenOptions};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const DEAD: &str = "exporter=otlphttp,pipeline=traces";

/// Turns the bits of each keep entry of this trace.
fn damage(place: &Path, trace: u8) {
    let log = place.join("buffer/decisions/traces");
    let mut damaged = 0;
    for file in fs::read_dir(log).unwrap() {
        let path = file.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        for at in bytes
            .windows(16)
            .enumerate()
            .filter(|(_, id)| *id == [trace; 16])
        {
            file.write_all_at(&[!trace], at.0 as u64).unwrap();
            damaged += 1;
        }
    }
    assert_eq!(damaged, 1);
}

fn dead() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, ports::free()))
}

/// Three traces that the dead backend waits for; the entry of the second is damaged. The first is on its way already.
async fn damaged(place: &Path, address: SocketAddr) -> Running {
    let running = Running::start_to(address, place, 0).await;
    for (trace, awaiting) in [(1, 3.0), (2, 7.0), (3, 12.0)] {
        running.submit(spans(trace, 1, trace + 2, true)).await;
        let awaits = |now: &Scrape| {
            let tried = now.value("tailwater_exporter_retries_total", "exporter=otlphttp");
            now.value("tailwater_exporter_awaiting_spans", DEAD) == Some(awaiting)
                && tried >= Some(1.0)
                && now.value(
                    "tailwater_exporter_awaiting_spans",
                    "exporter=file,pipeline=traces",
                ) == Some(0.0)
        };
        running.until("kept", awaits).await;
    }
    damage(place, 2);
    running
}

fn ends_well(now: &Scrape) -> bool {
    let state = |state: &str| now.value("tailwater_ledger_spans", &format!("{DEAD},state={state}"));
    state("awaiting") == Some(0.0)
        && state("delivered") == Some(8.0)
        && state("lost") == Some(4.0)
        && now.value("tailwater_ledger_difference", DEAD) == Some(0.0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_of_an_unreadable_entry_are_lost_at_once() {
    let (directory, address) = (tempfile::tempdir().unwrap(), dead());
    let running = damaged(directory.path(), address).await;
    let mut server = JoinSet::new();
    server.spawn(serve(TcpListener::bind(address).await.unwrap()));
    running.until("the rest is delivered", ends_well).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_of_an_unreadable_entry_are_lost_at_a_start() {
    let (directory, address) = (tempfile::tempdir().unwrap(), dead());
    let running = damaged(directory.path(), address).await;
    running.stop_within(Duration::from_secs(1)).await;
    let running = Running::start_to(address, directory.path(), 1).await;
    let mut server = JoinSet::new();
    server.spawn(serve(TcpListener::bind(address).await.unwrap()));
    running.until("the rest is delivered", ends_well).await;
    running.stop().await;
}
