//! Traces that take long: idle wait, maximum age, the root's fast path and early keep, by a driven clock.

use super::long_waits::copy;
use super::*;
use std::collections::BTreeMap;

const IDLE: Idle = Idle {
    wait: 4,
    max_age: 15,
};
const AFTER_ROOT: u64 = 1;

/// A piece of one span.
#[derive(Debug, Clone, Copy)]
struct Sent {
    trace: u8,
    error: bool,
    root: bool,
}

#[derive(Debug, Clone)]
enum Happening {
    Send(Vec<Sent>),
    Seconds(u8),
    Restart,
    Kill,
}

fn happening() -> impl Strategy<Value = Happening> {
    let sent = (
        0..4_u8,
        proptest::bool::weighted(0.1),
        proptest::bool::weighted(0.1),
    )
        .prop_map(|(trace, error, root)| Sent { trace, error, root });
    prop_oneof![
        6 => proptest::collection::vec(sent, 1..4).prop_map(Happening::Send),
        6 => (1..4_u8).prop_map(Happening::Seconds),
        1 => Just(Happening::Seconds(40)),
        1 => Just(Happening::Restart),
        1 => Just(Happening::Kill),
    ]
}

fn start(place: &Path, now: u64) -> Rig {
    let rig = Rig::start_with(place, now, |settings| {
        settings.decision_wait_after_root = Some(AFTER_ROOT);
        settings.idle = Some(IDLE);
        settings.early_keep = true;
    });
    rig.clock.advance(1);
    rig
}

/// Why a trace was decided, kept or not, and its spans without late ones.
type Outcome = (Evidence, bool, u64);

#[derive(Debug, Default)]
struct Life {
    first: u64,
    last: u64,
    root_due: Option<u64>,
    spans: u64,
    over: bool,
}

#[derive(Debug, Default)]
struct Patient {
    lives: BTreeMap<u8, Life>,
    outcomes: BTreeMap<u8, Vec<Outcome>>,
    late: u64,
}

impl Patient {
    fn send(&mut self, second: u64, spans: &[Sent]) {
        let mut pieces = BTreeMap::<u8, (u64, Sent)>::new();
        for sent in spans {
            let piece = pieces.entry(sent.trace).or_insert((0, *sent));
            piece.0 += 1;
            piece.1.error |= sent.error;
            piece.1.root |= sent.root;
        }
        for (trace, (spans, sent)) in pieces {
            let life = self.lives.entry(trace).or_insert_with(|| Life {
                first: second,
                ..Life::default()
            });
            if life.over && life.last + u64::from(WINDOW) < second {
                *life = Life {
                    first: second,
                    ..Life::default()
                };
            }
            life.last = second;
            if life.over {
                self.late += spans;
                continue;
            }
            life.spans += spans;
            if sent.root {
                let due = second + 1 + AFTER_ROOT;
                life.root_due = Some(life.root_due.map_or(due, |before| before.min(due)));
            }
            if sent.error || life.spans >= 4 {
                life.over = true;
                let outcome = (Evidence::EarlyKeep, true, life.spans);
                self.outcomes.entry(trace).or_default().push(outcome);
            }
        }
    }

    fn tick(&mut self, second: u64) {
        for (trace, life) in &mut self.lives {
            let (rests, aged) = (life.last + 1 + IDLE.wait, life.first + 1 + IDLE.max_age);
            let due = rests.min(aged);
            let root = life.root_due.filter(|root| *root < due);
            if life.over || root.unwrap_or(due) > second {
                continue;
            }
            life.over = true;
            let evidence = match root {
                Some(_) => Evidence::Root,
                None if aged < rests => Evidence::MaxAge,
                None => Evidence::Complete,
            };
            let outcome = (evidence, false, life.spans);
            self.outcomes.entry(*trace).or_default().push(outcome);
        }
    }
}

struct Run {
    report: CheckReport,
    outcomes: BTreeMap<u8, Vec<Outcome>>,
}

fn run_long_traces(happenings: &[Happening]) -> Result<Run, TestCaseError> {
    let mut place = tempfile::tempdir().unwrap();
    let mut now = 1_000 * SECOND;
    let mut rig = start(place.path(), now);
    rig.settle();
    let (mut patient, mut number) = (Patient::default(), 0);
    let mut second = now / SECOND;
    let rest = Happening::Seconds(20);
    for happening in happenings.iter().chain([&rest]) {
        match happening {
            Happening::Send(spans) => {
                patient.send(second, spans);
                let spans = spans.iter().map(|sent| {
                    number += 1;
                    Span {
                        parent_span_id: if sent.root { vec![] } else { vec![7; 8] },
                        ..span(sent.trace, number, sent.error)
                    }
                });
                rig.send(spans.collect());
            }
            Happening::Seconds(n) => {
                for _ in 0..*n {
                    now += SECOND;
                    rig.second();
                    let log_time = rig.log.stats().now / SECOND;
                    (second + 1..=log_time).for_each(|second| patient.tick(second));
                    second = log_time;
                }
            }
            Happening::Restart | Happening::Kill => {
                if matches!(happening, Happening::Kill) {
                    place = copy(place.path());
                }
                rig.stop();
                rig = start(place.path(), now);
                second = rig.log.stats().now / SECOND;
            }
        }
    }
    let stats = rig.sampler.stats.clone();
    let (entries, report) = rig.finish();
    prop_assert_eq!(&report.problems, &Vec::<String>::new());
    prop_assert_eq!((report.undecided, report.damaged), (0, 0));
    let (mut outcomes, mut late) = (BTreeMap::<u8, Vec<Outcome>>::new(), 0);
    for (decision, extent, keep) in entries.iter().filter_map(Entry::decision) {
        if decision.evidence == Evidence::Late {
            late += extent.spans;
            continue;
        }
        let trace = u8::try_from(decision.trace.0 - 1).unwrap();
        let outcome = (decision.evidence, keep, extent.spans);
        outcomes.entry(trace).or_default().push(outcome);
    }
    patient.outcomes.retain(|_, outcomes| !outcomes.is_empty());
    prop_assert_eq!(&outcomes, &patient.outcomes);
    prop_assert_eq!(late, patient.late);
    balanced(&stats, number)?;
    Ok(Run { report, outcomes })
}

proptest! {
    #![proptest_config(crate::cases::cases(8))]

    #[test]
    fn long_traces_are_a_patient_samplers_too(happenings in proptest::collection::vec(happening(), 1..30)) {
        run_long_traces(&happenings)?;
    }
}

/// Each row: seconds between spans of one trace, which of them fails or is the root, and what comes of it.
#[test]
fn a_trace_is_over_when_it_rests_is_old_or_its_root_has_come() {
    let check = |gaps: &[u8], error: Option<usize>, root: Option<usize>, expected: &[Outcome]| {
        for restart in [false, true] {
            let mut happenings = Vec::new();
            for (index, gap) in gaps.iter().enumerate() {
                happenings.push(Happening::Send(vec![Sent {
                    trace: 1,
                    error: error == Some(index),
                    root: root == Some(index),
                }]));
                if restart {
                    happenings.push(Happening::Kill);
                }
                happenings.push(Happening::Seconds(*gap));
            }
            let run = run_long_traces(&happenings).unwrap();
            assert_eq!(run.outcomes[&1], expected, "{gaps:?} {error:?} {root:?}");
            assert_eq!(run.report.keeps, u64::from(expected[0].1));
        }
    };
    use Evidence::{Complete, EarlyKeep, MaxAge, Root};
    // It rests for four seconds after three spans; no wait from the first span ends it.
    check(&[4, 4, 6], None, None, &[(Complete, false, 3)]);
    // The last span is late.
    check(&[4, 6, 1], None, None, &[(Complete, false, 2)]);
    check(&[5, 1], None, None, &[(Complete, false, 1)]);
    check(&[1, 4, 1], None, Some(1), &[(Root, false, 2)]);
    check(&[1, 1, 1], Some(1), None, &[(EarlyKeep, true, 2)]);
    check(&[1, 1, 1, 1], None, None, &[(EarlyKeep, true, 4)]);
    // Never at rest for four seconds.
    let old = Rig::start_with(
        tempfile::tempdir().unwrap().path(),
        1_000 * SECOND,
        |settings| {
            settings.idle = Some(Idle {
                wait: 4,
                max_age: 6,
            });
        },
    );
    old.settle();
    for number in 0..3 {
        old.send(vec![span(1, number, false)]);
        old.seconds(3);
    }
    let (entries, report) = old.finish();
    assert_eq!(report.problems, Vec::<String>::new());
    let decided = entries.iter().filter_map(Entry::decision);
    let evidence: Vec<_> = decided
        .map(|(decision, extent, _)| (decision.evidence, extent.spans))
        .collect();
    assert_eq!(evidence, [(MaxAge, 3)]);
}
