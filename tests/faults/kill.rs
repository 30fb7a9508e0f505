//! `kill -9`, again and again, under load.

use crate::daemon::{Place, Setup, until};
use crate::load::{Load, Pace, Shape, Sink, mix};
use crate::metrics::settled_ledger;
use crate::verdict::verdict;
use std::collections::VecDeque;
use std::time::Duration;
use tailwater::clock::{Clock, SystemClock};
use tokio::time::{Instant, sleep};

const DECISION_WAIT: u64 = 6;
/// Spans a second, unless `TAILWATER_RATE` says less, for a build without optimisation; four fifths of it are checked,
/// and two seconds of it undecided at each kill.
const RATE: u64 = 25_000;
/// For all kills together.
const PATIENCE: Duration = Duration::from_secs(1200);
/// Kept spans that one tick brings and their batches in flight: what a kill may send again.
const COPIES_PER_KILL: u64 = 5_000;

/// Numbers from `TAILWATER_SEED`, or the clock.
struct Draw(u64);

impl Draw {
    fn new() -> Self {
        let given = std::env::var("TAILWATER_SEED")
            .ok()
            .map(|seed| seed.parse().unwrap());
        let seed = given.unwrap_or_else(|| SystemClock::new().unix());
        eprintln!("TAILWATER_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 = mix(self.0);
        self.0 % limit
    }
}

/// When a kill comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// Whenever.
    Later,
    /// Within 300 ms of a start.
    Soon,
    /// As soon as the daemon says that it replays.
    Replay,
}

impl When {
    /// One in three is early, of these every other one in the replay.
    fn of(kill: u64) -> Self {
        match kill % 6 {
            2 => Self::Soon,
            5 => Self::Replay,
            _ => Self::Later,
        }
    }
}

/// A daemon that has not begun to replay by then has nothing to replay.
const REPLAY_PATIENCE: Duration = Duration::from_secs(10);

/// Spans that are undecided for sure: those acknowledged within the wait, in log time, which stands while it is down.
struct Undecided {
    up: Duration,
    /// Since it is ready: until then log time has hardly begun to move.
    since: Option<Instant>,
    seen: VecDeque<(Duration, u64)>,
}

impl Undecided {
    fn new() -> Self {
        Self {
            up: Duration::ZERO,
            since: None,
            seen: VecDeque::from([(Duration::ZERO, 0)]),
        }
    }

    fn ready(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    fn up(&self) -> Duration {
        self.up + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn stopped(&mut self) {
        self.up = self.up();
        self.since = None;
    }

    /// With what is acknowledged now. A trace begins a second before its last span at most: see `Shape::lag`.
    fn count(&mut self, acknowledged: u64) -> u64 {
        let up = self.up();
        self.seen.push_back((up, acknowledged));
        let window = Duration::from_secs(DECISION_WAIT - 1);
        while self.seen.get(1).is_some_and(|(at, _)| *at + window < up) {
            self.seen.pop_front();
        }
        let first = if up < window {
            0
        } else {
            self.seen.get(1).map_or(acknowledged, |(_, spans)| *spans)
        };
        acknowledged - first
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::too_many_lines, reason = "one story, told in order")]
async fn nothing_acknowledged_is_lost_over_fifty_kills() {
    let number = |name, default| {
        std::env::var(name).map_or(default, |number| number.parse::<u64>().unwrap())
    };
    let (kills, target) = (
        number("TAILWATER_KILLS", 50),
        number("TAILWATER_RATE", RATE),
    );
    let least_undecided = target * 2;
    let mut draw = Draw::new();
    let sink = Sink::start().await;
    let place = Place::new(
        &Setup {
            decision_wait: DECISION_WAIT,
            ..Setup::default()
        },
        &[sink.address()],
    );
    let shape = Shape {
        run: draw.below(u64::MAX),
        ..Shape::default()
    };
    let mut undecided = Undecided::new();
    let mut daemon = place.start().await;
    undecided.ready();
    let begun = Instant::now();
    let load = Load::start(
        place.grpc,
        shape,
        Pace {
            rate: target,
            ..Pace::default()
        },
    );
    let (mut least, mut early, mut hits) = (u64::MAX, 0, 0);
    for kill in 0..kills {
        let ample = undecided.count(load.outcome.counts().acknowledged) > least_undecided * 3 / 2;
        // A replay may end between our look and the kill: there are as many tries as it takes.
        let when = match ample {
            true if hits * 10 + 4 < kill => When::Replay,
            true => When::of(kill),
            false => When::Later,
        };
        let wait = match when {
            When::Later => 1000 + draw.below(2000),
            When::Soon => draw.below(300),
            When::Replay => 0,
        };
        let until = Instant::now() + Duration::from_millis(wait);
        let mut spans = 0;
        while Instant::now() < until || (when == When::Later && spans < least_undecided * 7 / 4) {
            if daemon.is_ready() {
                undecided.ready();
            }
            spans = undecided.count(load.outcome.counts().acknowledged);
            sleep(Duration::from_millis(20)).await;
            assert!(
                begun.elapsed() < PATIENCE,
                "kill {kill}: {spans} undecided, and no more"
            );
        }
        let patience = Instant::now() + REPLAY_PATIENCE;
        while when == When::Replay && !daemon.is_replaying() && Instant::now() < patience {
            sleep(Duration::from_millis(1)).await;
        }
        assert!(!daemon.has_ended(), "it ended by itself before kill {kill}");
        daemon.kill();
        early += u64::from(when != When::Later);
        hits += u64::from(daemon.is_replaying());
        let spans = undecided.count(load.outcome.counts().acknowledged);
        undecided.stopped();
        assert!(spans >= least_undecided, "kill {kill}: {spans} undecided");
        least = least.min(spans);
        daemon = place.spawn();
    }
    let took = begun.elapsed();
    let counts = load.outcome.counts();
    // While it takes requests: how long a process takes to start is the machine's.
    let rate = counts.acknowledged as f64 / undecided.up().as_secs_f64();
    eprintln!(
        "{kills} kills, {early} early, {hits} in a replay, in {took:.0?}: {counts:?}, {rate:.0} spans/s, least undecided {least}"
    );

    let (shape, outcome, traces) = load.finish().await;
    assert_eq!(outcome.counts().strange, 0);
    until(|| verdict(&sink, &shape, None, traces).wrong == 0).await;
    let ledger = settled_ledger(place.metrics, "otlp/0").await;
    let verdict = verdict(&sink, &shape, Some(&outcome), traces);
    let (status, _) = daemon.terminate().await;
    assert!(status.success());
    eprintln!("{verdict:?}\n{ledger:?}");
    let counts = outcome.counts();
    let surplus = ledger["accepted"] - counts.acknowledged;
    assert!(
        surplus <= counts.maybe_twice,
        "{surplus} spans accepted more than once, {counts:?}"
    );
    verdict.assert_exact();
    eprintln!("{}", place.check());
    assert!(early >= kills / 4, "{early} kills were early");
    assert!(hits >= kills / 10, "{hits} kills hit a replay");
    assert!(rate >= target as f64 * 0.8, "{rate} spans/s");
    assert!(
        verdict.unexplained <= kills * COPIES_PER_KILL,
        "{} spans came twice",
        verdict.unexplained
    );
}
