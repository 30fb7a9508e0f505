//! Daemons of one group, the sink that all of them export to, and the verdict over what came.

use crate::load::{Load, Outcome, Pace, Shape, Sink};
use crate::plan::{Plan, WAIT};
use crate::probe;
use crate::support::daemon::{Daemon, Place};
use crate::support::ledger::{Ledger, at_rest};
use crate::support::wait::{PATIENCE, until_async};
use crate::verdict::{Verdict, verdict};
use rustix::process::Signal;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

/// Spans a second, unless `TAILWATER_RATE` says otherwise: what builds without optimisation bear beside brokers.
const RATE: u64 = 2_000;

/// Kept spans that one tick brings, and their batches in flight: what a kill may send again.
pub(crate) const COPIES: u64 = 5_000;

/// One daemon of the group.
struct Member {
    /// Ends before its files are gone.
    daemon: Option<Daemon>,
    place: Place,
    _config: TempDir,
}

pub(crate) struct Field {
    pub(crate) plan: Plan,
    pub(crate) sink: Sink,
    members: Vec<Member>,
}

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) verdict: Verdict,
    pub(crate) ledger: Ledger,
}

pub(crate) fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |number| number.parse().unwrap())
}

impl Field {
    /// So many daemons, of which none runs.
    pub(crate) async fn new(plan: Plan, daemons: usize) -> Self {
        let sink = Sink::start().await;
        let members = (0..daemons).map(|number| {
            let (place, config) = plan.place(number, &[sink.address()]);
            Member {
                place,
                _config: config,
                daemon: None,
            }
        });
        let members = members.collect();
        Self {
            plan,
            sink,
            members,
        }
    }

    /// All of them run and are ready.
    pub(crate) async fn running(plan: Plan, daemons: usize) -> Self {
        let mut field = Self::new(plan, daemons).await;
        (0..daemons).for_each(|number| field.spawn(number));
        for number in 0..daemons {
            field.ready(number).await;
        }
        field
    }

    /// A new place for a daemon that does not run, with another plan and the same sink.
    pub(crate) fn replace(&mut self, number: usize, plan: &Plan) {
        let (place, config) = plan.place(number, &[self.sink.address()]);
        self.members[number] = Member {
            place,
            _config: config,
            daemon: None,
        };
    }

    pub(crate) fn spawn(&mut self, number: usize) {
        let member = &mut self.members[number];
        member.daemon = Some(member.place.start_without_waiting());
    }

    pub(crate) async fn ready(&self, number: usize) {
        let daemon = self.daemon(number);
        until_async("the daemon is ready", async || {
            probe::is_ready(daemon).await
        })
        .await;
    }

    pub(crate) fn daemon(&self, number: usize) -> &Daemon {
        self.members[number].daemon.as_ref().unwrap()
    }

    /// Those that run.
    pub(crate) fn daemons(&self) -> impl Iterator<Item = &Daemon> {
        self.members.iter().filter_map(|one| one.daemon.as_ref())
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self, number: usize) {
        let daemon = self.members[number].daemon.take();
        daemon.unwrap().kill();
    }

    /// SIGTERM; how long it took.
    pub(crate) async fn terminate(&mut self, number: usize) -> Duration {
        let mut daemon = self.members[number].daemon.take().unwrap();
        let (status, took) = daemon.terminate().await;
        assert!(status.success(), "{status}");
        took
    }

    /// SIGSTOP, a while, SIGCONT.
    pub(crate) async fn freeze(&self, number: usize, time: Duration) {
        self.daemon(number).signal(Signal::STOP);
        sleep(time).await;
        self.daemon(number).signal(Signal::CONT);
    }

    pub(crate) fn address(&self, number: usize) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.members[number].place.grpc))
    }

    /// Traces of 12 spans in 4 parts, sent to all daemons in turn; `run` tells its traces from those of other loads.
    pub(crate) fn load(&self, run: u64, to: &[usize]) -> Load {
        let shape = Shape {
            run,
            spans: 12,
            per_request: 96,
            lag: 40,
            kept_permille: 100,
            ..Shape::default()
        };
        let pace = Pace {
            rate: number("TAILWATER_RATE", RATE),
            in_flight: 32,
            ..Pace::default()
        };
        let addresses: Vec<SocketAddr> = to.iter().map(|number| self.address(*number)).collect();
        Load::spread(&addresses, shape, pace)
    }

    /// The sum of the ledgers once nothing is under way, each of which adds up.
    pub(crate) async fn ledger(&self) -> Ledger {
        let mut sum = Ledger::new();
        for daemon in self.daemons() {
            for (state, spans) in at_rest(daemon, "otlp/0").await {
                *sum.entry(state).or_default() += spans;
            }
        }
        sum
    }

    /// Kept traces, of the first `traces`, of which a part is acknowledged and not at the sink.
    pub(crate) fn missing(&self, shape: &Shape, outcome: &Outcome, traces: u64) -> Vec<u64> {
        let (got, each) = (self.sink.traces(), shape.spans_of_part());
        let is_missing = |trace: &u64| {
            let came = got.get(&u128::from_be_bytes(shape.id(*trace)));
            let came = came.map_or(0, |got| got.spans);
            let parts = (0..shape.parts).filter(|part| outcome.parts(*trace) >> part & 1 == 1);
            let due = parts.fold(0_u128, |due, part| due | ((1 << each) - 1) << (part * each));
            shape.keeps(*trace) && due & !came != 0
        };
        (0..traces).filter(is_missing).collect()
    }

    /// Ends a load and waits until every kept trace is at the sink, whole; then nothing else may be, of what was sent once
    /// no more than `copies` twice, and the ledgers must say the same.
    pub(crate) async fn settle(&self, load: Load, copies: u64) -> Settled {
        let (shape, outcome, traces) = load.finish().await;
        let settled = self.settled(&shape, &outcome, traces).await;
        let Settled { verdict, ledger } = &settled;
        eprintln!(
            "{}: {traces} traces, {:?}, {} copies, {ledger:?}",
            self.plan.name,
            outcome.counts(),
            verdict.copies
        );
        verdict.assert_exact();
        assert!(verdict.unexplained <= copies, "{verdict:?}");
        let (state, counts) = (
            |name: &str| ledger.get(name).copied().unwrap_or(0),
            outcome.counts(),
        );
        // A refused request's parts may be in the log, as may those of one that nobody answered.
        let refused = counts.refused * u64::from(shape.per_request);
        let most = counts.acknowledged + counts.maybe_twice + refused;
        assert!(
            (counts.acknowledged..=most).contains(&state("accepted")),
            "{most}, {ledger:?}"
        );
        for name in ["lost", "expired", "rejected"] {
            assert_eq!(state(name), 0, "{ledger:?}");
        }
        assert!(state("delivered") <= self.sink.spans(), "{ledger:?}");
        settled
    }

    /// Waits for what must come, and for what must not.
    async fn settled(&self, shape: &Shape, outcome: &Outcome, traces: u64) -> Settled {
        assert_eq!(outcome.counts().strange, 0, "{:?}", outcome.refusals());
        let look = || verdict(&self.sink, shape, Some(outcome), traces);
        let end = Instant::now() + 2 * PATIENCE;
        loop {
            let seen = look();
            if seen.missing.is_empty() && seen.torn.is_empty() {
                break;
            }
            assert!(Instant::now() < end, "{:?}: {seen:?}", outcome.counts());
            sleep(Duration::from_millis(500)).await;
        }
        sleep(Duration::from_secs(WAIT)).await;
        let ledger = self.ledger().await;
        Settled {
            verdict: look(),
            ledger,
        }
    }
}
