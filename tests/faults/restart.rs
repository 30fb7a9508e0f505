//! Stops and starts: in bounded time, with nothing lost, one process at a time.

use crate::daemon::{Daemon, Place, Setup, free, until};
use crate::load::{Load, Pace, Shape, Sink};
use crate::metrics::settled_ledger;
use crate::verdict::verdict;
use std::time::Duration;
use tokio::time::sleep;

/// What Kubernetes gives a process that is to end; the daemon gives its exporters half of it.
const BOUND: Duration = Duration::from_secs(30);

/// Everything is finished, decided and at the sink, and nothing else. Spans that were accepted and not acknowledged.
async fn ends_exact(load: Load, sink: &Sink, place: &Place, mut daemon: Daemon) -> u64 {
    let (shape, outcome, traces) = load.finish().await;
    until(|| verdict(sink, &shape, None, traces).wrong == 0).await;
    let ledger = settled_ledger(place.metrics, "otlp/0").await;
    let counts = outcome.counts();
    let surplus = ledger["accepted"] - counts.acknowledged;
    assert!(surplus <= counts.maybe_twice, "{ledger:?} {counts:?}");
    let verdict = verdict(sink, &shape, Some(&outcome), traces);
    let (status, _) = daemon.terminate().await;
    assert!(status.success());
    verdict.assert_exact();
    eprintln!("{verdict:?}\n{}", place.check());
    surplus
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_under_load_ends_soon_and_loses_nothing() {
    let sink = Sink::start().await;
    let place = Place::new(
        &Setup {
            decision_wait: 3,
            ..Setup::default()
        },
        &[sink.address()],
    );
    let mut daemon = place.start().await;
    let load = Load::start(
        place.grpc,
        Shape {
            run: 79,
            ..Shape::default()
        },
        Pace::default(),
    );
    for _ in 0..3 {
        sleep(Duration::from_secs(4)).await;
        let (status, took) = daemon.terminate().await;
        eprintln!("ended in {took:?}");
        assert!(status.success(), "{status}");
        assert!(took < BOUND, "{took:?}");
        daemon = place.start().await;
    }
    for (code, message, _) in load.outcome.refusals().keys() {
        assert_eq!(*code, 14, "UNAVAILABLE while it stops: {message}");
    }
    // What was taken was answered; what was not answered was not taken.
    assert_eq!(ends_exact(load, &sink, &place, daemon).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_with_a_dead_backend_ends_in_bounded_time() {
    let mut sink = Sink::start().await;
    let place = Place::new(
        &Setup {
            decision_wait: 1,
            ..Setup::default()
        },
        &[sink.address()],
    );
    let mut daemon = place.start().await;
    let load = Load::start(
        place.grpc,
        Shape {
            run: 80,
            ..Shape::default()
        },
        Pace::default(),
    );
    sleep(Duration::from_secs(3)).await;
    sink.die().await;
    sleep(Duration::from_secs(3)).await;
    let (status, took) = daemon.terminate().await;
    eprintln!("ended in {took:?}");
    assert!(status.success() && took < BOUND, "{status} after {took:?}");
    sink.rise();
    let daemon = place.start().await;
    ends_exact(load, &sink, &place, daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_backlog_at_the_skeleton_cap_goes_on_after_a_restart() {
    let sink = Sink::start().await;
    // 4 spans a trace: 5,000 traces a second, of which the cap holds those of one second.
    let memory = "total: 256MiB, skeletons: 1MiB".to_owned();
    let place = Place::new(
        &Setup {
            decision_wait: 8,
            memory,
            ..Setup::default()
        },
        &[sink.address()],
    );
    let mut daemon = place.start().await;
    let shape = Shape {
        run: 81,
        spans: 4,
        parts: 2,
        ..Shape::default()
    };
    let load = Load::start(place.grpc, shape, Pace::default());
    for _ in 0..3 {
        sleep(Duration::from_secs(4)).await;
        daemon.kill();
        let before = load.outcome.counts().acknowledged;
        daemon = place.spawn();
        let outcome = load.outcome.clone();
        let goes_on = until(|| outcome.counts().acknowledged > before + 20_000).await;
        assert!(goes_on, "it does not go on:\n{}", daemon.log());
    }
    ends_exact(load, &sink, &place, daemon).await;
}

#[tokio::test]
async fn a_second_process_on_the_directory_is_refused_and_the_first_goes_on() {
    let sink = Sink::start().await;
    let place = Place::new(
        &Setup {
            decision_wait: 1,
            ..Setup::default()
        },
        &[sink.address()],
    );
    let mut daemon = place.start().await;
    // On ports of its own, so that only the directory is in its way.
    let grpc = format!("receivers.otlp.protocols.grpc.endpoint={}", free());
    let metrics = format!("service.telemetry.metrics.address={}", free());
    let out = place
        .command("run")
        .args(["--set", &grpc, "--set", &metrics])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{printed}");
    assert!(
        printed.contains("is in use by another process"),
        "{printed}"
    );
    assert!(!daemon.has_ended());
    let load = Load::start(
        place.grpc,
        Shape {
            run: 82,
            lag: 10,
            ..Shape::default()
        },
        Pace::default(),
    );
    sleep(Duration::from_millis(500)).await;
    ends_exact(load, &sink, &place, daemon).await;
}
