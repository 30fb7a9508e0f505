//! A service that sends twenty times as much as another, with every cap driven full by it.
//!
//! The quiet service's traces show why they are kept in their last part only, so that any decision that the neighbour
//! forces on them comes out wrong. Its answers are compared with those that it gets beside the same neighbour in a daemon
//! whose caps are wide: two cores that serve twenty times the load are slower, whatever a cap does, and what is asked here
//! is what a full cap of the neighbour's costs.

use crate::daemon::{Place, Setup, until};
use crate::load::{Evidence, Load, Pace, Shape, Sink};
use crate::metrics::Scrape;
use crate::verdict::verdict;
use parking_lot::Mutex;
use std::time::Duration;
use tokio::time::sleep;

/// Spans a second.
const QUIET: u64 = 1_000;
const LOUD: u64 = 20 * QUIET;
const WAIT: Duration = Duration::from_secs(3);
const WINDOW: Duration = Duration::from_secs(2);
const WINDOWS: u32 = 3;
/// Until a cap is full, with a second on top.
const FILLED: Duration = WAIT.saturating_add(Duration::from_secs(1));
/// Runs until answers in time are taken as out of reach: a stall of the machine ends a run, not the test.
const RUNS: u32 = 6;
/// p99 with wide caps, for traces as usual and for small ones: as good for one test as for the next, until a run fails.
static WITHOUT: Mutex<[Option<Duration>; 2]> = Mutex::new([None; 2]);

/// Which cap the neighbour fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Full {
    Cache,
    Skeletons,
    Log,
}

/// Caps that it does not fill.
fn wide() -> Setup {
    Setup {
        decision_wait: WAIT.as_secs(),
        memory: "total: 512MiB, per_service: {default: 256MiB}".to_owned(),
        disk: "max_size: 4GiB".to_owned(),
        ..Setup::default()
    }
}

fn quiet() -> Shape {
    Shape {
        run: 83,
        spans: 20,
        per_request: 5,
        lag: 20,
        services: vec!["quiet".to_owned()],
        evidence: Evidence::Last,
        kept_permille: 300,
        ..Shape::default()
    }
}

impl Full {
    fn setup(self, on_full: &str) -> Setup {
        let (memory, disk) = match self {
            // Its cap, and with it all that is lent: the cache is 17 MiB, what comes of it within a wait nearly twice that.
            Self::Cache => (
                "total: 40MiB, per_service: {default: 8MiB}",
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

/// The median of the windows' p99; `None` when the machine stood still for most of one.
fn p99(load: &Load, from: Duration) -> Option<Duration> {
    let windows: Option<Vec<Duration>> = (0..WINDOWS)
        .map(|n| {
            let all = load
                .outcome
                .latencies(from + WINDOW * n, from + WINDOW * (n + 1));
            (all.len() > 100).then(|| all[all.len() * 99 / 100])
        })
        .collect();
    let mut windows = windows?;
    windows.sort_unstable();
    Some(windows[windows.len() / 2])
}

/// Both services for as long as it takes to measure: their loads, and the quiet one's p99.
async fn side_by_side(place: &Place, full: Full) -> (Load, Load, Option<Duration>) {
    let pace = |rate, connections| Pace {
        rate,
        in_flight: 8 * connections,
        connections,
    };
    let load = Load::start(place.grpc, quiet(), pace(QUIET, 2));
    let neighbour = Load::start(place.grpc, full.neighbour(), pace(LOUD, 1));
    sleep(FILLED + WINDOW * WINDOWS).await;
    let p99 = p99(&load, FILLED);
    (load, neighbour, p99)
}

/// What the quiet one gets when no cap is full.
async fn unpressed(full: Full) -> Option<Duration> {
    let sink = Sink::start().await;
    let place = Place::new(&wide(), &[sink.address()]);
    let mut daemon = place.start().await;
    let (load, neighbour, p99) = side_by_side(&place, full).await;
    assert_eq!(neighbour.outcome.counts().refused, 0);
    drop((load, neighbour));
    daemon.kill();
    p99
}

/// The cap was full indeed.
async fn assert_full(full: Full, on_full: &str, place: &Place, refused: u64) {
    let scrape = Scrape::of(place.metrics).await.unwrap();
    let pressure = scrape.sum("tailwater_decisions_total", &["evidence=\"pressure\""]);
    let loud = ["service=\"loud\""];
    let spilled = scrape.sum("tailwater_buffer_spilled_bytes_total", &loud);
    eprintln!("  {pressure} decided under pressure, {spilled} bytes spilled, {refused} refused");
    match (full, on_full) {
        (Full::Log, _) | (Full::Cache, "refuse") => assert!(refused > 0),
        (Full::Cache, "spill") => assert!(spilled > 0.0),
        (Full::Cache | Full::Skeletons, _) => assert!(pressure > 0.0),
    }
}

/// The quiet one's p99 beside a neighbour that has a cap full; everything else is asserted.
async fn pressed(full: Full, on_full: &str) -> Option<Duration> {
    let sink = Sink::start().await;
    let place = Place::new(&full.setup(on_full), &[sink.address()]);
    let mut daemon = place.start().await;
    let (load, neighbour, p99) = side_by_side(&place, full).await;
    assert_eq!(
        load.outcome.counts().refused,
        0,
        "{:?}",
        load.outcome.refusals()
    );
    assert_full(full, on_full, &place, neighbour.outcome.counts().refused).await;
    drop(neighbour);
    let (shape, outcome, traces) = load.finish().await;
    until(|| verdict(&sink, &shape, None, traces).wrong == 0).await;
    sleep(Duration::from_secs(2)).await;
    let verdict = verdict(&sink, &shape, Some(&outcome), traces);
    let (status, _) = daemon.terminate().await;
    assert!(status.success());
    verdict.assert_exact();
    place.check();
    p99
}

/// Answers in time with each cap full, in one of a few runs.
async fn check(on_full: &str) {
    for full in [Full::Cache, Full::Skeletons, Full::Log] {
        let shape = usize::from(full == Full::Skeletons);
        for run in 1..=RUNS {
            let known = WITHOUT.lock()[shape];
            let wide = match known {
                Some(known) => Some(known),
                None => unpressed(full).await,
            };
            WITHOUT.lock()[shape] = wide;
            let with = pressed(full, on_full).await;
            eprintln!("{full:?} {on_full}: p99 {wide:?}, {with:?} with the cap full");
            if let (Some(with), Some(wide)) = (with, wide)
                && with <= wide * 2
            {
                break;
            }
            assert!(
                run < RUNS,
                "{full:?} {on_full}: {with:?} is more than twice {wide:?}"
            );
            // The machine may have been another one then.
            WITHOUT.lock()[shape] = None;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spill_changes_nothing_for_others() {
    check("spill").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decide_early_changes_nothing_for_others() {
    check("decide_early").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refuse_changes_nothing_for_others() {
    check("refuse").await;
}
