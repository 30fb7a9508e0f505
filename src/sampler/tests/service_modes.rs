//! Services with a mode beside one that is sampled at the tail, in the same traces and requests: the tail against a naive
//! sampler that never hears of the others, through restarts and kills at any moment; the others' spans leave once or not
//! at all, as their coin says.

use super::front::of_service;
use super::long_waits::copy;
use super::*;

/// The traces of [`span`] differ in their last byte, and their hashes little: half of the first hundred wins with this.
const SHARE: f64 = 88.118_296_461_628_5;
const MODES: [(&str, ServiceMode); 2] = [
    ("head", ServiceMode::Head(SHARE)),
    ("off", ServiceMode::Off),
];
const SERVICES: [&str; 3] = ["tail", "head", "off"];

fn start(place: &Path, now: u64, modes: &[(&str, ServiceMode)]) -> Rig {
    let (settings, memory) = (log_settings(place), memory_settings());
    let all = (Arc::default(), modes);
    let rig = Rig::open_all(all, &memory, &settings, now, policies(), |settings| {
        settings.late_evidence = vec![0];
    });
    rig.clock.advance(1);
    rig
}

/// Whether the coin keeps the trace of [`span`]; that of the policy `probabilistic`.
fn wins(trace: u8) -> bool {
    let coin = crate::rules::Coin::new(SHARE, "default-hash-seed");
    coin.keeps(TraceId(u128::from(trace) + 1))
}

/// A span of a request: its trace, which of [`SERVICES`] it is of, whether it failed.
type Sent = (u8, usize, bool);

fn request(spans: &[Sent], number: &mut u64) -> Vec<ResourceSpans> {
    let mut of = |service: usize| {
        let own = spans.iter().filter(|sent| sent.1 == service);
        let spans = own.map(|(trace, _, error)| {
            *number += 1;
            span(*trace, *number, *error)
        });
        of_service(SERVICES[service], spans.collect())
    };
    vec![of(2), of(0), of(1)]
}

#[derive(Debug, Clone)]
enum Happening {
    Send(Vec<Sent>),
    Seconds(u8),
    Restart,
    Kill,
}

fn happening() -> impl Strategy<Value = Happening> {
    let sent = (0..4_u8, 0..3_usize, proptest::bool::weighted(0.2));
    prop_oneof![
        6 => proptest::collection::vec(sent, 1..7).prop_map(Happening::Send),
        4 => (1..4_u8).prop_map(Happening::Seconds),
        1 => Just(Happening::Seconds(30)),
        1 => Just(Happening::Restart),
        2 => Just(Happening::Kill),
    ]
}

/// What should be known: spans by trace that passed, spans that the coin took.
#[derive(Debug, Default)]
struct Expected {
    naive: Naive,
    passed: BTreeMap<(u128, &'static str), u64>,
    lost: u64,
    stored: u64,
}

impl Expected {
    fn send(&mut self, second: u64, spans: &[Sent]) {
        for (trace, service, error) in spans {
            let id = u128::from(*trace) + 1;
            let evidence = match SERVICES[*service] {
                "head" if !wins(*trace) => {
                    self.lost += 1;
                    continue;
                }
                "head" => Evidence::Head,
                "off" => Evidence::Off,
                _ => {
                    self.naive.send(second, &[(*trace, *error)]);
                    self.stored += 1;
                    continue;
                }
            };
            *self.passed.entry((id, evidence.label())).or_default() += 1;
            self.stored += 1;
        }
    }
}

fn lost(rig: &Rig) -> u64 {
    let service = rig.services.intern("head");
    stats::get(&rig.services.account(service).lost_coin)
}

fn run(happenings: &[Happening]) -> Result<(), TestCaseError> {
    let mut place = tempfile::tempdir().unwrap();
    let mut now = 1_000 * SECOND;
    let mut rig = start(place.path(), now, &MODES);
    rig.settle();
    let (mut expected, mut number, mut found_lost) = (Expected::default(), 0, 0);
    let mut second = now / SECOND;
    let pass = |rig: &Rig, expected: &mut Expected, second: &mut u64| {
        rig.second();
        for second in *second + 1..=rig.log.stats().now / SECOND {
            expected.naive.tick(second, WAIT, kept);
        }
        *second = rig.log.stats().now / SECOND;
    };
    for happening in happenings {
        match happening {
            Happening::Send(spans) => {
                expected.send(second, spans);
                rig.send_all(request(spans, &mut number));
            }
            Happening::Seconds(n) => (0..*n).for_each(|_| {
                now += SECOND;
                pass(&rig, &mut expected, &mut second);
            }),
            Happening::Restart | Happening::Kill => {
                if matches!(happening, Happening::Kill) {
                    place = copy(place.path());
                }
                found_lost += lost(&rig);
                rig.stop();
                rig = start(place.path(), now, &MODES);
                second = rig.log.stats().now / SECOND;
            }
        }
    }
    (0..=WAIT + 1).for_each(|_| pass(&rig, &mut expected, &mut second));
    found_lost += lost(&rig);
    let stats = rig.sampler.stats.clone();
    let (entries, report) = rig.finish();
    prop_assert_eq!(&report.problems, &Vec::<String>::new());
    prop_assert_eq!((report.undecided, report.damaged), (0, 0));
    let (passed, others): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(|entry| {
        let decision = entry.decision();
        decision.is_some_and(|(decision, ..)| decision.evidence.is_of_mode())
    });
    let mut found = BTreeMap::new();
    for (decision, extent, keep) in passed.iter().filter_map(Entry::decision) {
        prop_assert!(keep);
        *found
            .entry((decision.trace.0, decision.evidence.label()))
            .or_default() += extent.spans;
    }
    prop_assert_eq!(found, expected.passed);
    prop_assert_eq!(found_lost, expected.lost);
    expected.naive.compare(&others)?;
    balanced(&stats, expected.stored)
}

/// No late evidence comes: a naive sampler has none.
fn without_late_errors(happenings: Vec<Happening>) -> Vec<Happening> {
    let plain = |happening| match happening {
        Happening::Send(spans) => {
            let spans = spans.into_iter();
            Happening::Send(
                spans
                    .map(|(trace, service, error)| (trace, service, error && service > 0))
                    .collect(),
            )
        }
        other => other,
    };
    happenings.into_iter().map(plain).collect()
}

proptest! {
    #![proptest_config(crate::cases::cases(8))]

    #[test]
    fn modes_change_nothing_for_the_tail(happenings in proptest::collection::vec(happening(), 1..25)) {
        run(&without_late_errors(happenings))?;
    }
}

/// One frame with pieces of a trace in all three ways; a kill before anything is decided, and after.
#[test]
fn pieces_of_one_frame_go_their_ways_through_kills() {
    let all = |trace| (0..3).map(move |service| (trace, service, false));
    let send = || Happening::Send((0..4).flat_map(all).collect());
    let happenings = [
        send(),
        Happening::Kill,
        send(),
        Happening::Seconds(1),
        Happening::Kill,
        Happening::Seconds(5),
        send(),
        Happening::Restart,
        Happening::Kill,
    ];
    run(&happenings).unwrap();
}

/// What was stored before its service had a coin meets it when it is folded: losers are dropped, and in the ledger.
#[test]
fn what_is_undecided_meets_a_new_mode() {
    let place = tempfile::tempdir().unwrap();
    let now = 1_000 * SECOND;
    let rig = start(place.path(), now, &[]);
    rig.settle();
    let spans: Vec<Sent> = (0..100).map(|trace| (trace, 1, true)).collect();
    rig.send_all(request(&spans, &mut 0));
    rig.settle();
    rig.stop();
    let rig = start(place.path(), now, &MODES);
    rig.settle();
    rig.second();
    let stats = rig.sampler.stats.clone();
    let (entries, report) = rig.finish();
    assert_eq!((report.problems, report.undecided), (vec![], 0));
    assert_eq!(report.passed, 100);
    let decided = entries.iter().filter_map(Entry::decision);
    for (decision, _, keep) in decided {
        let trace = u8::try_from(decision.trace.0 - 1).unwrap();
        assert_eq!((decision.evidence, keep), (Evidence::Head, wins(trace)));
    }
    let kept = (0..100).filter(|trace| wins(*trace)).count() as u64;
    let counted = (stats::get(&stats.kept), stats::get(&stats.dropped));
    assert_eq!(counted, (kept, 100 - kept));
}

/// A late error brings back what was dropped of its trace, and not what had left by itself.
#[test]
fn late_evidence_leaves_other_modes_alone() {
    for kill in [false, true] {
        let mut place = tempfile::tempdir().unwrap();
        let now = 1_000 * SECOND;
        let mut rig = start(place.path(), now, &MODES);
        rig.settle();
        let mut number = 0;
        rig.send_all(request(&[(0, 0, false), (0, 2, false)], &mut number));
        rig.second();
        rig.send_all(request(&[(0, 2, true), (0, 0, false)], &mut number));
        rig.seconds(WAIT + 3);
        if kill {
            place = copy(place.path());
            rig.stop();
            rig = start(place.path(), now + 10 * SECOND, &MODES);
            rig.settle();
        }
        rig.send_all(request(&[(0, 0, true)], &mut number));
        rig.second();
        let stats = rig.sampler.stats.clone();
        let (_, report) = rig.finish();
        assert_eq!((report.problems, report.amendments), (vec![], 1));
        let counted = [
            &stats.accepted,
            &stats.kept,
            &stats.dropped,
            &stats.restored,
        ];
        assert_eq!(counted.map(stats::get), [5, 5, 0, 2]);
    }
}

/// Checked under other modes than those that were there, the log is not what it should be.
#[test]
fn the_checker_tosses_the_coins_again() {
    let place = tempfile::tempdir().unwrap();
    let mut rig = start(place.path(), 1_000 * SECOND, &MODES);
    rig.settle();
    rig.send_all(request(
        &[(0, 1, false), (1, 1, false), (2, 2, false)],
        &mut 0,
    ));
    rig.second();
    let other = ServiceModes::new([("head", ServiceMode::Off)], &rig.services, false);
    rig.checked_modes = Some(Arc::new(other));
    let (_, report) = rig.finish();
    assert!(report.problem_count > 0);
}
