//! Processors before `tail_sampling`: decisions on what they leave, against a naive sampler that never sees the rest,
//! through restarts at any moment.

use super::*;
use crate::processors::{
    ConditionGroup, FilterSettings, MatchRule, ProcessorKind, ProcessorSettings,
};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;

/// Leaves out spans that are called `gone`.
fn filter() -> Arc<Chain> {
    let group = ConditionGroup {
        span: vec![r#"name == "gone""#.to_owned()],
        ..ConditionGroup::default()
    };
    let settings = ProcessorSettings {
        id: "filter".to_owned(),
        kind: ProcessorKind::Filter(FilterSettings {
            groups: vec![group],
            spans: MatchRule::default(),
        }),
    };
    Arc::new(Chain::new(&[settings]).unwrap())
}

fn start(place: &Path, now: u64) -> Rig {
    let settings = log_settings(place);
    Rig::open_behind(filter(), &settings, now, policies(), |_| {})
}

pub(super) fn of_service(name: &str, spans: Vec<Span>) -> ResourceSpans {
    let value = Some(AnyValue {
        value: Some(Value::StringValue(name.to_owned())),
    });
    let attribute = KeyValue {
        key: "service.name".to_owned(),
        value,
        ..KeyValue::default()
    };
    ResourceSpans {
        resource: Some(Resource {
            attributes: vec![attribute],
            ..Resource::default()
        }),
        scope_spans: vec![ScopeSpans {
            spans,
            ..ScopeSpans::default()
        }],
        ..ResourceSpans::default()
    }
}

/// A span of a request: its trace, its service, whether it failed, whether it is left out.
type Sent = (u8, u8, bool, bool);

#[derive(Debug, Clone)]
enum Happening {
    Send(Vec<Sent>),
    Seconds(u8),
    Restart,
}

fn happening() -> impl Strategy<Value = Happening> {
    let sent = (
        0..4_u8,
        0..2_u8,
        proptest::bool::weighted(0.2),
        proptest::bool::weighted(0.5),
    );
    prop_oneof![
        6 => proptest::collection::vec(sent, 1..7).prop_map(Happening::Send),
        4 => (1..4_u8).prop_map(Happening::Seconds),
        1 => Just(Happening::Seconds(30)),
        2 => Just(Happening::Restart),
    ]
}

/// Pieces (spans of a trace and a service in a request) with something left, as the naive sampler is told of them.
#[derive(Debug, Default)]
struct Expected {
    naive: Naive,
    /// Spans of these pieces that are left out, by life: entries name whole pieces.
    filtered_beside: u64,
    filtered: u64,
    sent: u64,
}

impl Expected {
    fn send(&mut self, second: u64, spans: &[Sent]) {
        self.sent += spans.len() as u64;
        for trace in 0..4 {
            for service in 0..2 {
                let piece = |sent: &&Sent| (sent.0, sent.1) == (trace, service);
                let all: Vec<&Sent> = spans.iter().filter(piece).collect();
                let left = all.iter().filter(|sent| !sent.3);
                let left: Vec<_> = left.map(|sent| (sent.0, sent.2)).collect();
                let gone = (all.len() - left.len()) as u64;
                if left.is_empty() {
                    self.filtered += gone;
                } else {
                    self.naive.send(second, &left);
                    self.filtered_beside += gone;
                }
            }
        }
    }

    /// Which traces were kept is the naive sampler's; spans of entries are counted with those that are left out.
    fn compare(&self, entries: &[Entry]) -> Result<(), TestCaseError> {
        let mut expected: Vec<(u128, bool)> = Vec::new();
        let mut spans = self.filtered_beside;
        for (trace, life) in self
            .naive
            .lives
            .iter()
            .flat_map(|(trace, lives)| lives.iter().map(move |life| (*trace, life)))
        {
            expected.push((u128::from(trace) + 1, life.keep.unwrap()));
            spans += life.spans + life.late;
        }
        let (mut found, mut named, mut filtered) = (Vec::new(), 0, 0);
        for (decision, extent, keep) in entries.iter().filter_map(Entry::decision) {
            match decision.evidence {
                Evidence::Filtered => filtered += extent.spans,
                Evidence::Late => named += extent.spans,
                _ => {
                    found.push((decision.trace.0, keep));
                    named += extent.spans;
                }
            }
        }
        found.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(found, expected);
        prop_assert_eq!((named, filtered), (spans, self.filtered));
        Ok(())
    }
}

fn request(spans: &[Sent], number: &mut u64) -> Vec<ResourceSpans> {
    let mut of = |service: u8| {
        let own = spans.iter().filter(|sent| sent.1 == service);
        let spans: Vec<Span> = own
            .map(|(trace, _, error, gone)| {
                *number += 1;
                Span {
                    name: if *gone { "gone" } else { "here" }.to_owned(),
                    ..span(*trace, *number, *error)
                }
            })
            .collect();
        of_service(&format!("service-{service}"), spans)
    };
    vec![of(0), of(1)]
}

fn run(happenings: &[Happening]) -> Result<(), TestCaseError> {
    let place = tempfile::tempdir().unwrap();
    let mut now = 1_000 * SECOND;
    let mut rig = start(place.path(), now);
    rig.settle();
    let (mut expected, mut number) = (Expected::default(), 0);
    let pass = |rig: &Rig, expected: &mut Expected, now: &mut u64, seconds: u64| {
        for _ in 0..seconds {
            *now += SECOND;
            expected.naive.tick(*now / SECOND, WAIT, kept);
            rig.second();
        }
    };
    for happening in happenings {
        match happening {
            Happening::Send(spans) => {
                expected.send(now / SECOND, spans);
                rig.send_all(request(spans, &mut number));
            }
            Happening::Seconds(n) => pass(&rig, &mut expected, &mut now, u64::from(*n)),
            Happening::Restart => {
                rig.stop();
                rig = start(place.path(), now);
                rig.clock.advance(1);
            }
        }
    }
    pass(&rig, &mut expected, &mut now, WAIT + 2);
    let stats = rig.sampler.stats.clone();
    let (entries, report) = rig.finish();
    prop_assert_eq!(&report.problems, &Vec::<String>::new());
    prop_assert_eq!(report.undecided, 0);
    expected.compare(&entries)?;
    let settled = stats::get(&stats.kept) + stats::get(&stats.dropped);
    let filtered = stats::get(&stats.filtered);
    prop_assert_eq!(
        (stats::get(&stats.accepted), settled + filtered, filtered),
        (expected.sent, expected.sent, expected.filtered),
        "the ledger, over all restarts"
    );
    Ok(())
}

proptest! {
    #![proptest_config(crate::cases::cases(8))]

    #[test]
    fn the_rules_see_what_processors_leave(happenings in proptest::collection::vec(happening(), 1..25)) {
        run(&happenings)?;
    }
}

/// One frame with two pieces of a trace, one of them left out: a restart finds the other undecided.
#[test]
fn a_piece_beside_one_that_is_left_out_is_decided_after_a_restart() {
    let happenings = [
        Happening::Send(vec![(0, 0, false, true), (0, 1, true, false)]),
        Happening::Seconds(1),
        Happening::Restart,
        Happening::Send(vec![(0, 0, true, true)]),
        Happening::Restart,
    ];
    run(&happenings).unwrap();
}

/// Late pieces of two services in one frame have an entry each.
#[test]
fn late_pieces_of_one_frame_are_told_apart() {
    let both = |gone| {
        vec![
            (0, 0, false, gone),
            (0, 1, false, false),
            (1, 0, true, gone),
            (1, 1, true, false),
        ]
    };
    let happenings = [
        Happening::Send(both(false)),
        Happening::Seconds(5),
        Happening::Send(both(false)),
        Happening::Restart,
        Happening::Send(both(true)),
        Happening::Restart,
    ];
    run(&happenings).unwrap();
}

/// Checked with other processors than those that were there, the log is not what it should be.
#[test]
fn the_checker_knows_the_processors() {
    let place = tempfile::tempdir().unwrap();
    let mut rig = start(place.path(), 1_000 * SECOND);
    rig.settle();
    let spans = [
        (0, 0, false, true),
        (1, 0, true, false),
        (1, 0, false, true),
    ];
    rig.send_all(request(&spans, &mut 0));
    rig.settle();
    rig.seconds(1);
    rig.front = Arc::default();
    let (_, report) = rig.finish();
    assert!(report.problem_count > 0);
}
