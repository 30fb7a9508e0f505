//! Traces that wait for minutes, through restarts, kills and changes of the rules: decided as a naive sampler would, and
//! no burden to a restart.

use super::*;
use std::fs;
use tempfile::TempDir;

const LONG: u64 = 200;

/// Other rules, which ask for nothing that [`policies`] ask for.
fn other_policies() -> Vec<PolicySpec> {
    vec![PolicySpec {
        name: "pairs".into(),
        kind: PolicyKind::SpanCount {
            min_spans: 2,
            max_spans: 0,
        },
    }]
}

#[derive(Debug, Clone)]
enum LongStep {
    Send(Vec<(u8, bool)>),
    Seconds(u64),
    Restart,
    Kill,
    /// A restart with the other rules.
    Rules,
}

fn long_step() -> impl Strategy<Value = LongStep> {
    prop_oneof![
        6 => proptest::collection::vec((0..6_u8, proptest::bool::weighted(0.15)), 1..6).prop_map(LongStep::Send),
        3 => (1..9_u64).prop_map(LongStep::Seconds),
        4 => (30..150_u64).prop_map(LongStep::Seconds),
        1 => Just(LongStep::Restart),
        2 => Just(LongStep::Kill),
        2 => Just(LongStep::Rules),
    ]
}

/// A sampler, its directory, and what comes with them through restarts.
struct World {
    place: TempDir,
    /// The clock. Log time may lag: after a kill it goes on from the last stamp that is in the log.
    now: u64,
    /// Log time that the naive sampler has seen, whole seconds.
    second: u64,
    other: bool,
    rig: Rig,
    naive: Naive,
    number: u64,
}

fn start(place: &Path, now: u64, other: bool) -> Rig {
    let policies = if other { other_policies() } else { policies() };
    let rig = Rig::open(&log_settings(place), now, policies, |settings| {
        settings.decision_wait = LONG;
    });
    rig.clock.advance(1);
    rig
}

/// What a kill leaves: what refers to other files first, so that it never refers to what comes too late.
pub(super) fn copy(from: &Path) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    for part in ["meta", "positions", "decisions", "spans"] {
        copy_tree(&from.join(part), &place.path().join(part));
    }
    place
}

fn copy_tree(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let name = entry.unwrap().file_name();
        copy_tree(&from.join(&name), &to.join(&name));
    }
}

impl World {
    fn new() -> Self {
        let (place, now) = (tempfile::tempdir().unwrap(), 1_000 * SECOND);
        let rig = start(place.path(), now, false);
        rig.settle();
        Self {
            place,
            now,
            second: now / SECOND,
            other: false,
            rig,
            naive: Naive::default(),
            number: 0,
        }
    }

    fn again(self, kill: bool, other: bool) -> Self {
        let place = if kill {
            copy(self.place.path())
        } else {
            self.place
        };
        self.rig.stop();
        let rig = start(place.path(), self.now, other);
        let second = rig.log.stats().now / SECOND;
        Self {
            place,
            second,
            other,
            rig,
            ..self
        }
    }

    fn send(&mut self, spans: &[(u8, bool)]) {
        self.naive.send(self.second, spans);
        let spans = spans.iter().map(|(trace, error)| {
            self.number += 1;
            span(*trace, self.number, *error)
        });
        self.rig.send(spans.collect());
    }

    fn seconds(&mut self, n: u64) {
        self.now += n * SECOND;
        self.rig.seconds(n);
        let now = self.rig.log.stats().now / SECOND;
        for second in self.second + 1..=now {
            let other = self.other;
            self.naive.tick(second, LONG, |life| {
                if other { life.spans >= 2 } else { kept(life) }
            });
        }
        self.second = now;
    }

    fn step(mut self, step: &LongStep) -> Self {
        match step {
            LongStep::Send(spans) => self.send(spans),
            LongStep::Seconds(n) => self.seconds(*n),
            LongStep::Restart => {
                let other = self.other;
                return self.again(false, other);
            }
            LongStep::Kill => {
                let other = self.other;
                return self.again(true, other);
            }
            LongStep::Rules => {
                let other = !self.other;
                return self.again(true, other);
            }
        }
        self
    }

    fn end(mut self) -> Result<CheckReport, TestCaseError> {
        self.seconds(LONG + 2);
        let stats = self.rig.sampler.stats.clone();
        let (entries, report) = self.rig.finish();
        prop_assert_eq!(&report.problems, &Vec::<String>::new());
        prop_assert_eq!((report.undecided, report.damaged), (0, 0));
        self.naive.compare(&entries)?;
        balanced(&stats, self.number)?;
        Ok(report)
    }
}

fn run_long(steps: &[LongStep]) -> Result<CheckReport, TestCaseError> {
    steps.iter().fold(World::new(), World::step).end()
}

proptest! {
    #![proptest_config(crate::cases::cases(16))]

    #[test]
    fn waits_of_minutes_are_a_naive_samplers_too(steps in proptest::collection::vec(long_step(), 1..25)) {
        run_long(&steps)?;
    }
}

/// One piece before the first entry, one between two, one behind the last; the rules change there and back.
#[test]
fn a_trace_is_taken_up_with_each_of_its_entries() {
    let piece = || LongStep::Send(vec![(1, false), (2, false)]);
    let steps = [
        LongStep::Send(vec![(1, true), (2, false), (3, false)]),
        LongStep::Seconds(70),
        LongStep::Kill,
        piece(),
        LongStep::Seconds(65),
        LongStep::Rules,
        piece(),
        LongStep::Seconds(3),
        LongStep::Rules,
        LongStep::Seconds(10),
        LongStep::Kill,
    ];
    let report = run_long(&steps).unwrap();
    assert_eq!((report.decisions, report.keeps), (3, 1));
    assert_eq!(report.states, 3, "each trace's last state is proven");
}

/// Neither the restart nor the retention of the decision log waits for a trace that waits.
#[test]
fn a_trace_that_waits_for_long_holds_nothing_back() {
    let mut place = tempfile::tempdir().unwrap();
    let mut now = 1_000 * SECOND;
    let open = |place: &Path, now| {
        let settings = LogSettings {
            max_size: 6 << 20,
            segment_size: 64 << 10,
            ..log_settings(place)
        };
        let rig = Rig::open(&settings, now, policies(), |settings| {
            settings.decision_wait = 400;
            settings.decision_wait_after_root = Some(1);
        });
        rig.clock.advance(1);
        rig
    };
    let child = |number| Span {
        parent_span_id: vec![7; 8],
        ..span(250, number, false)
    };
    let mut rig = open(place.path(), now);
    rig.settle();
    let mut spans = 0;
    for second in (0..390_u64).step_by(5) {
        if [0, 20, 100, 385].contains(&second) {
            rig.send(vec![child(second)]);
            spans += 1;
        }
        // Roots: decided two seconds later.
        let others = (0..300).map(|n| Span {
            trace_id: ((u128::from(second + 1) << 64) | n).to_be_bytes().to_vec(),
            ..span(0, n as u64, false)
        });
        rig.send(others.collect());
        spans += 300;
        rig.seconds(5);
        now += 5 * SECOND;
        // Nothing is kept yet: an exporter has nothing to do.
        let (delivery, end) = (&rig.sampler.deliveries[0], rig.sampler.decisions.end());
        delivery.done((end, 0), &[], Delivered::default()).unwrap();
        if second % 100 == 95 {
            let (read, decide) = (
                stats::get(&rig.sampler.stats.read),
                stats::get(&rig.sampler.stats.decide),
            );
            // At most two minutes of it, in whole MiB; a minute is half a MiB.
            assert!(
                read - decide < 3 << 20,
                "{decide} to {read} after {second} s"
            );
            place = copy(place.path());
            rig.stop();
            rig = open(place.path(), now);
            rig.settle();
        }
    }
    assert!(
        rig.sampler.decisions.start() > 0,
        "its first segments are gone"
    );
    assert_eq!(stats::get(&rig.sampler.stats.undecided_traces), 1);
    // A kill sets log time back by what stands in no frame.
    rig.seconds(60);
    let stats = rig.sampler.stats.clone();
    let (entries, report) = rig.finish();
    assert_eq!((report.problems, report.damaged), (vec![], 0));
    let long = entries.iter().find_map(|entry| match entry {
        Entry::Keep(decision, _, places) if decision.trace == TraceId(251) => Some(places.len()),
        _ => None,
    });
    assert_eq!(long, Some(4), "kept for its four spans");
    balanced(&stats, spans).unwrap();
}
