//! A log that is full, and a disk that is: refused clearly, nothing lost, and on again when there is room.

use crate::daemon::{Place, Setup, until};
use crate::load::{Load, Pace, Shape, Sink};
use crate::metrics::settled_ledger;
use crate::tmpfs::Tmpfs;
use crate::verdict::verdict;
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::sleep;

const RESOURCE_EXHAUSTED: u32 = 8;

/// All traces are kept, the backend is dead until the log has refused; then everything must come.
async fn fills_up_and_recovers(place: &Place, mut sink: Sink, reason: &str) {
    sink.die().await;
    let mut daemon = place.start().await;
    let shape = Shape {
        run: 77,
        kept_permille: 1000,
        ..Shape::default()
    };
    let load = Load::start(
        place.grpc,
        shape,
        Pace {
            rate: 25_000,
            ..Pace::default()
        },
    );
    let outcome = load.outcome.clone();
    assert!(
        until(|| outcome.counts().refused > 20).await,
        "{:?}",
        outcome.counts()
    );
    let acknowledged = outcome.counts().acknowledged;
    sleep(Duration::from_secs(3)).await;
    for ((code, message, retry), count) in outcome.refusals() {
        eprintln!("{count} x {code} {message}");
        assert_eq!((code, retry), (RESOURCE_EXHAUSTED, true), "{message}");
        assert!(message.contains(reason), "{message}");
    }
    assert!(
        outcome.counts().acknowledged - acknowledged < 10_000,
        "it is not full"
    );
    assert!(!daemon.has_ended());

    sink.rise();
    let more = acknowledged + 100_000;
    assert!(
        until(|| outcome.counts().acknowledged > more).await,
        "it does not recover"
    );
    let (shape, outcome, traces) = load.finish().await;
    until(|| verdict(&sink, &shape, None, traces).wrong == 0).await;
    let verdict = verdict(&sink, &shape, Some(&outcome), traces);
    verdict.assert_exact();
    assert_eq!(verdict.copies, 0, "{verdict:?}");
    let ledger = settled_ledger(place.metrics, "otlp/0").await;
    assert_eq!(
        ledger["accepted"],
        outcome.counts().acknowledged,
        "{ledger:?}"
    );
    let (status, _) = daemon.terminate().await;
    assert!(status.success());
    place.check();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_log_refuses_and_recovers() {
    let sink = Sink::start().await;
    let disk = "max_size: 64MiB, segment_size: 4MiB".to_owned();
    let place = Place::new(
        &Setup {
            decision_wait: 1,
            disk,
            ..Setup::default()
        },
        &[sink.address()],
    );
    fills_up_and_recovers(&place, sink, "log").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_and_recovers() {
    let sink = Sink::start().await;
    let directory = TempDir::new().unwrap();
    let tmpfs = Tmpfs::mount(&directory, 64);
    let disk = "max_size: 160MiB, segment_size: 4MiB".to_owned();
    let setup = Setup {
        decision_wait: 1,
        disk,
        ..Setup::default()
    };
    let place = Place::with_buffer(
        &setup,
        &[sink.address()],
        directory,
        tmpfs.path().join("buffer"),
    );
    fills_up_and_recovers(&place, sink, "disk full").await;
}

#[tokio::test]
async fn a_disk_without_room_for_decisions_is_a_clear_error_at_start() {
    let sink = Sink::start().await;
    let directory = TempDir::new().unwrap();
    let tmpfs = Tmpfs::mount(&directory, 8);
    let setup = Setup {
        disk: "max_size: 160MiB, segment_size: 4MiB".to_owned(),
        ..Setup::default()
    };
    let place = Place::with_buffer(
        &setup,
        &[sink.address()],
        directory,
        tmpfs.path().join("buffer"),
    );
    let out = place.command("run").output().unwrap();
    let printed = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{printed}");
    assert!(printed.contains("No space left on device"), "{printed}");
}
