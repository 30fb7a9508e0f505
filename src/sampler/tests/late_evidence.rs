//! Late evidence against a naive sampler that holds every span, through restarts and kills at any moment.

use super::long_waits::copy;
use super::*;
use std::collections::BTreeMap;

/// Spans of a request: trace, and whether it failed.
#[derive(Debug, Clone)]
enum Happening {
    Send(Vec<(u8, bool)>),
    Seconds(u8),
    Restart,
    Kill,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => proptest::collection::vec((0..4_u8, proptest::bool::weighted(0.15)), 1..5).prop_map(Happening::Send),
        4 => (1..6_u8).prop_map(Happening::Seconds),
        1 => Just(Happening::Seconds(30)),
        2 => Just(Happening::Restart),
        2 => Just(Happening::Kill),
    ]
}

/// What entries say of a trace, in order: `k`ept, `d`ropped, `K`/`D` late pieces, `a`mended; with spans.
type Story = Vec<(u8, char, u64)>;

#[derive(Debug, Default)]
struct Held {
    first: u64,
    last: u64,
    spans: u64,
    error: bool,
    keep: Option<bool>,
}

#[derive(Debug, Default)]
struct Careful {
    lives: BTreeMap<u8, Held>,
    story: BTreeMap<u8, Vec<(char, u64)>>,
    kept: u64,
    dropped: u64,
    restored: u64,
}

impl Careful {
    fn send(&mut self, second: u64, spans: &[(u8, bool)]) {
        let mut pieces = BTreeMap::<u8, (u64, bool)>::new();
        for (trace, error) in spans {
            let piece = pieces.entry(*trace).or_default();
            *piece = (piece.0 + 1, piece.1 || *error);
        }
        for (trace, (spans, error)) in pieces {
            let new = Held {
                first: second,
                last: second,
                ..Held::default()
            };
            let over = |life: &Held| life.keep.is_some() && life.last + u64::from(WINDOW) < second;
            let life = self.lives.entry(trace).or_insert_with(|| Held {
                first: second,
                ..Held::default()
            });
            if over(life) {
                *life = new;
            }
            life.last = second;
            let story = self.story.entry(trace).or_default();
            match life.keep {
                None => (life.spans, life.error) = (life.spans + spans, life.error | error),
                Some(true) => {
                    story.push(('K', spans));
                    self.kept += spans;
                }
                Some(false) if error => {
                    story.push(('a', life.spans + spans));
                    life.keep = Some(true);
                    self.kept += life.spans + spans;
                    self.dropped -= life.spans;
                    self.restored += life.spans;
                }
                Some(false) => {
                    story.push(('D', spans));
                    life.spans += spans;
                    self.dropped += spans;
                }
            }
        }
    }

    fn tick(&mut self, second: u64) {
        for (trace, life) in &mut self.lives {
            if life.keep.is_some() || life.first + 1 + WAIT > second {
                continue;
            }
            let keep = life.error || life.spans >= 4;
            life.keep = Some(keep);
            let (letter, sum) = if keep {
                ('k', &mut self.kept)
            } else {
                ('d', &mut self.dropped)
            };
            *sum += life.spans;
            self.story
                .entry(*trace)
                .or_default()
                .push((letter, life.spans));
        }
    }
}

fn story_of(entries: &[Entry]) -> Story {
    let letter = |(decision, extent, keep): (&entry::Decision, entry::Extent, bool)| {
        let letter = match (decision.evidence, keep) {
            (Evidence::Amendment, _) => 'a',
            (Evidence::Late, true) => 'K',
            (Evidence::Late, false) => 'D',
            (_, true) => 'k',
            (_, false) => 'd',
        };
        ((decision.trace.0 - 1) as u8, letter, extent.spans)
    };
    entries
        .iter()
        .filter_map(Entry::decision)
        .map(letter)
        .collect()
}

fn start(place: &Path, now: u64) -> Rig {
    let rig = Rig::start_with(place, now, |settings| settings.late_evidence = vec![0]);
    rig.clock.advance(1);
    rig
}

fn run_late(happenings: &[Happening]) -> Result<CheckReport, TestCaseError> {
    let mut place = tempfile::tempdir().unwrap();
    let mut now = 1_000 * SECOND;
    let mut rig = start(place.path(), now);
    rig.settle();
    let (mut careful, mut number) = (Careful::default(), 0);
    let mut second = now / SECOND;
    for happening in happenings {
        match happening {
            Happening::Send(spans) => {
                careful.send(second, spans);
                let spans = spans.iter().map(|(trace, error)| {
                    number += 1;
                    span(*trace, number, *error)
                });
                rig.send(spans.collect());
            }
            Happening::Seconds(n) => {
                for _ in 0..*n {
                    now += SECOND;
                    rig.second();
                    for second in second + 1..=rig.log.stats().now / SECOND {
                        careful.tick(second);
                    }
                    second = rig.log.stats().now / SECOND;
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
    for _ in 0..=WAIT + 1 {
        rig.second();
        for second in second + 1..=rig.log.stats().now / SECOND {
            careful.tick(second);
        }
        second = rig.log.stats().now / SECOND;
    }
    let stats = rig.sampler.stats.clone();
    let awaiting = rig.sampler.deliveries[0].awaiting();
    let (entries, report) = rig.finish();
    prop_assert_eq!(&report.problems, &Vec::<String>::new());
    prop_assert_eq!((report.undecided, report.damaged), (0, 0));
    let mut found = BTreeMap::<u8, Vec<(char, u64)>>::new();
    for (trace, letter, spans) in story_of(&entries) {
        found.entry(trace).or_default().push((letter, spans));
    }
    prop_assert_eq!(found, careful.story);
    let counted = (
        stats::get(&stats.kept),
        stats::get(&stats.dropped),
        awaiting,
    );
    prop_assert_eq!(counted, (careful.kept, careful.dropped, careful.kept));
    prop_assert_eq!(stats::get(&stats.accepted), number);
    Ok(report)
}

proptest! {
    #![proptest_config(crate::cases::cases(8))]

    #[test]
    fn dropped_traces_come_back_whole_and_once(happenings in proptest::collection::vec(happening(), 1..30)) {
        run_late(&happenings)?;
    }
}

/// In the life of the drop, behind a restart, and behind a kill; the ledger moves spans from dropped to kept.
#[test]
fn a_late_error_brings_a_dropped_trace_back() {
    let send = |spans: &[(u8, bool)]| Happening::Send(spans.to_vec());
    for between in [
        vec![],
        vec![Happening::Restart],
        vec![Happening::Kill, Happening::Restart],
    ] {
        let mut happenings = vec![
            send(&[(1, false), (2, false), (1, false)]),
            Happening::Seconds(1),
            send(&[(1, false), (3, false)]),
            Happening::Seconds(6),
            // Late, and no evidence.
            send(&[(1, false)]),
        ];
        happenings.extend(between);
        happenings.extend([
            send(&[(1, true), (3, false)]),
            Happening::Kill,
            // It is kept now.
            send(&[(1, true), (1, false)]),
        ]);
        let report = run_late(&happenings).unwrap();
        assert_eq!((report.amendments, report.keeps), (1, 0));
    }
}

/// What retention has taken stays dropped and is counted; the rest comes back.
#[test]
fn what_is_gone_is_counted() {
    let place = tempfile::tempdir().unwrap();
    let settings = LogSettings {
        max_size: 6 << 20,
        segment_size: 64 << 10,
        ..log_settings(place.path())
    };
    let rig = Rig::open(&settings, 1_000 * SECOND, policies(), |settings| {
        settings.late_evidence = vec![0];
        settings.late_window = 10_000;
    });
    rig.settle();
    rig.send(vec![span(1, 1, false)]);
    rig.seconds(6);
    rig.send(vec![span(2, 2, false)]);
    let mut number = 3;
    while rig.log.start() == 0 {
        let spans = (0..5_u64).map(|n| Span {
            trace_id: (u128::from(number + n) << 64).to_be_bytes().to_vec(),
            name: "x".repeat(10_000),
            ..span(0, number + n, false)
        });
        rig.send(spans.collect());
        number += 5;
        rig.seconds(6);
        assert!(number < 5_000, "nothing goes");
    }
    rig.send(vec![span(1, number, true), span(2, number + 1, false)]);
    rig.second();
    let stats = rig.sampler.stats.clone();
    let (entries, report) = rig.finish();
    assert_eq!((report.problems, report.amendments), (vec![], 1));
    let counts = [&stats.restored, &stats.not_restored, &stats.kept].map(stats::get);
    assert_eq!(counts, [0, 1, 1]);
    assert_eq!(stats::get(&stats.dropped), number);
    assert!(
        entries
            .iter()
            .filter_map(Entry::decision)
            .any(|(d, e, keep)| d.trace == TraceId(2) && keep && e.spans == 1)
    );
}
