//! A service that sends twenty times as much as another, with every cap driven full by it.
//!
//! The quiet service's traces show why they are kept in their last part only, so that any decision that the neighbour
//! forces on them comes out wrong.

use crate::daemon::{Place, Setup, within};
use crate::load::{Evidence, Load, Pace, Shape, Sink};
use crate::metrics::Scrape;
use crate::verdict::verdict;
use std::time::Duration;
use tokio::time::sleep;

/// Spans a second.
const QUIET: u64 = 1_000;
const LOUD: u64 = 20 * QUIET;
const WAIT: Duration = Duration::from_secs(3);
const WINDOW: Duration = Duration::from_secs(2);
const WINDOWS: u32 = 3;
/// Two processes and a test share two cores: a turn of the scheduler each way.
const NOISE: Duration = Duration::from_millis(15);

/// Which cap the neighbour fills.
#[derive(Debug, Clone, Copy)]
enum Full {
    Cache,
    Skeletons,
    Log,
}

impl Full {
    fn setup(self, on_full: &str) -> Setup {
        let (memory, disk) = match self {
            Self::Cache => (
                "total: 256MiB, per_service: {default: 8MiB}",
                "max_size: 2GiB",
            ),
            Self::Skeletons => ("total: 256MiB, skeletons: 1MiB", "max_size: 2GiB"),
            Self::Log => ("total: 256MiB", "max_size: 24MiB, segment_size: 1MiB"),
        };
        let memory = format!("{memory}, on_full: {on_full}");
        Setup {
            decision_wait: WAIT.as_secs(),
            memory,
            disk: disk.to_owned(),
            ..Setup::default()
        }
    }

    fn neighbour(self) -> Shape {
        let services = vec!["loud".to_owned()];
        match self {
            // 5,000 traces a second.
            Self::Skeletons => Shape {
                run: 84,
                spans: 4,
                parts: 2,
                services,
                ..Shape::default()
            },
            Self::Cache | Self::Log => Shape {
                run: 84,
                services,
                ..Shape::default()
            },
        }
    }
}

/// The median of the windows' p99.
fn p99(load: &Load, from: Duration) -> Duration {
    let mut windows: Vec<Duration> = (0..WINDOWS)
        .map(|n| {
            let all = load
                .outcome
                .latencies(from + WINDOW * n, from + WINDOW * (n + 1));
            assert!(all.len() > 100, "{} answers in a window", all.len());
            all[all.len() * 99 / 100]
        })
        .collect();
    windows.sort_unstable();
    windows[windows.len() / 2]
}

async fn check(full: Full, on_full: &str) {
    let sink = Sink::start().await;
    let place = Place::new(&full.setup(on_full), &[sink.address()]);
    let mut daemon = place.start().await;
    let quiet = Shape {
        run: 83,
        spans: 20,
        per_request: 5,
        lag: 20,
        services: vec!["quiet".to_owned()],
        evidence: Evidence::Last,
        kept_permille: 300,
        ..Shape::default()
    };
    let load = Load::start(
        place.grpc,
        quiet,
        Pace {
            rate: QUIET,
            ..Pace::default()
        },
    );
    let (warm, stretch) = (Duration::from_secs(1), WINDOW * WINDOWS);
    sleep(warm + stretch).await;
    // The caps take a wait to fill.
    let filled = warm + stretch + WAIT + Duration::from_secs(1);
    let neighbour = Load::start(
        place.grpc,
        full.neighbour(),
        Pace {
            rate: LOUD,
            in_flight: 8,
            connections: 1,
        },
    );
    sleep(WAIT + Duration::from_secs(1) + stretch).await;
    let (alone, beside) = (p99(&load, warm), p99(&load, filled));
    let (quiet, loud) = (load.outcome.counts(), neighbour.outcome.counts());
    eprintln!("{full:?} {on_full}: p99 {alone:?} alone, {beside:?} beside; {loud:?}");
    eprintln!("  {:?}", neighbour.outcome.refusals());
    assert_eq!(quiet.refused, 0, "{:?}", load.outcome.refusals());
    let scrape = Scrape::of(place.metrics).await.unwrap();
    let pressure = scrape.sum("tailwater_decisions_total", &["evidence=\"pressure\""]);
    let spilled = scrape.sum(
        "tailwater_buffer_spilled_bytes_total",
        &["service=\"loud\""],
    );
    eprintln!("  {pressure} decided under pressure, {spilled} bytes spilled");
    // The cap was full indeed.
    match (full, on_full) {
        (Full::Log, _) | (Full::Cache, "refuse") => assert!(loud.refused > 0),
        (Full::Cache, "spill") => assert!(spilled > 0.0),
        (Full::Cache | Full::Skeletons, _) => assert!(pressure > 0.0),
    }
    drop(neighbour);
    let (shape, outcome, traces) = load.finish().await;
    within(Duration::from_secs(30), || {
        verdict(&sink, &shape, None, traces).missing.is_empty()
    })
    .await;
    sleep(Duration::from_secs(2)).await;
    let verdict = verdict(&sink, &shape, Some(&outcome), traces);
    let (status, _) = daemon.terminate().await;
    assert!(status.success());
    verdict.assert_exact();
    place.check();
    assert!(
        beside < alone * 2 + NOISE,
        "{alone:?} alone, {beside:?} beside"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spill_changes_nothing_for_others() {
    check(Full::Cache, "spill").await;
    check(Full::Skeletons, "spill").await;
    check(Full::Log, "spill").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decide_early_changes_nothing_for_others() {
    check(Full::Cache, "decide_early").await;
    check(Full::Skeletons, "decide_early").await;
    check(Full::Log, "decide_early").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refuse_changes_nothing_for_others() {
    check(Full::Cache, "refuse").await;
    check(Full::Skeletons, "refuse").await;
    check(Full::Log, "refuse").await;
}
