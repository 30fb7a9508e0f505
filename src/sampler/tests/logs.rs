//! Log records beside spans: kept, dropped and brought back with their traces, through restarts and kills at any moment.

use super::long_waits::copy;
use super::*;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use std::collections::BTreeMap;

/// Failed spans; what a span or a record calls bad.
fn rules() -> Vec<PolicySpec> {
    let bad = PolicyKind::StringAttribute {
        key: "score".into(),
        values: vec!["bad".into()],
        enabled_regex_matching: false,
        cache_max_size: 128,
        invert_match: false,
    };
    let mut policies = policies();
    policies.truncate(1);
    policies.push(PolicySpec {
        name: "bad".into(),
        kind: bad,
    });
    policies
}

/// 0: without a trace.
fn record(trace: u8, bad: bool) -> LogRecord {
    let value = Some(AnyValue {
        value: Some(Value::StringValue("bad".to_owned())),
    });
    let score = KeyValue {
        key: "score".to_owned(),
        value,
        ..KeyValue::default()
    };
    LogRecord {
        trace_id: match trace {
            0 => Vec::new(),
            trace => (u128::from(trace) + 1).to_be_bytes().to_vec(),
        },
        attributes: if bad { vec![score] } else { Vec::new() },
        ..LogRecord::default()
    }
}

#[derive(Debug, Clone)]
enum Happening {
    Spans(Vec<(u8, bool)>),
    Logs(Vec<(u8, bool)>),
    Seconds(u8),
    Restart,
    Kill,
}

fn happening() -> impl Strategy<Value = Happening> {
    let spans = proptest::collection::vec((1..4_u8, proptest::bool::weighted(0.1)), 1..4);
    let logs = proptest::collection::vec((0..4_u8, proptest::bool::weighted(0.1)), 1..4);
    prop_oneof![
        4 => spans.prop_map(Happening::Spans),
        4 => logs.prop_map(Happening::Logs),
        4 => (1..6_u8).prop_map(Happening::Seconds),
        1 => Just(Happening::Seconds(30)),
        1 => Just(Happening::Restart),
        2 => Just(Happening::Kill),
    ]
}

#[derive(Debug, Default)]
struct Life {
    first: u64,
    last: u64,
    /// Spans, records.
    volume: (u64, u64),
    wanted: bool,
    keep: Option<bool>,
}

/// Spans and records.
type Volume = (u64, u64);

fn add(sum: &mut Volume, more: Volume) {
    *sum = (sum.0 + more.0, sum.1 + more.1);
}

#[derive(Debug, Default)]
struct Naive {
    lives: BTreeMap<u8, Life>,
    accepted: Volume,
    kept: Volume,
    dropped: Volume,
}

impl Naive {
    fn send(&mut self, second: u64, logs: bool, leaves: &[(u8, bool)]) {
        let mut pieces = BTreeMap::<u8, (u64, bool)>::new();
        for (trace, wanted) in leaves {
            let piece = pieces.entry(*trace).or_default();
            *piece = (piece.0 + 1, piece.1 | wanted);
        }
        for (trace, (count, wanted)) in pieces {
            let volume = if logs { (0, count) } else { (count, 0) };
            add(&mut self.accepted, volume);
            if trace == 0 {
                add(&mut self.kept, volume);
                continue;
            }
            let new = || Life {
                first: second,
                ..Life::default()
            };
            let life = self.lives.entry(trace).or_insert_with(new);
            if life.keep.is_some() && life.last + u64::from(WINDOW) < second {
                *life = new();
            }
            life.last = second;
            match life.keep {
                None => {
                    add(&mut life.volume, volume);
                    life.wanted |= wanted;
                }
                Some(true) => add(&mut self.kept, volume),
                Some(false) => {
                    add(&mut life.volume, volume);
                    add(&mut self.dropped, volume);
                    if wanted {
                        life.keep = Some(true);
                        add(&mut self.kept, life.volume);
                        self.dropped.0 -= life.volume.0;
                        self.dropped.1 -= life.volume.1;
                    }
                }
            }
        }
    }

    fn tick(&mut self, second: u64) {
        for life in self.lives.values_mut() {
            if life.keep.is_none() && life.first + 1 + WAIT <= second {
                life.keep = Some(life.wanted);
                let sum = if life.wanted {
                    &mut self.kept
                } else {
                    &mut self.dropped
                };
                add(sum, life.volume);
            }
        }
    }
}

fn start(place: &Path, now: u64) -> Rig {
    let rig = Rig::open(&log_settings(place), now, rules(), |settings| {
        settings.late_evidence = vec![0, 1];
    });
    rig.clock.advance(1);
    rig
}

fn run_logs(happenings: &[Happening]) -> Result<CheckReport, TestCaseError> {
    let mut place = tempfile::tempdir().unwrap();
    let mut now = 1_000 * SECOND;
    let mut rig = start(place.path(), now);
    rig.settle();
    let (mut naive, mut number) = (Naive::default(), 0);
    let mut second = now / SECOND;
    let rest = Happening::Seconds(u8::try_from(WAIT).unwrap() + 2);
    for happening in happenings.iter().chain([&rest]) {
        match happening {
            Happening::Spans(spans) => {
                naive.send(second, false, spans);
                let spans = spans.iter().map(|(trace, error)| {
                    number += 1;
                    span(*trace, number, *error)
                });
                rig.send(spans.collect());
            }
            Happening::Logs(records) => {
                naive.send(second, true, records);
                let records = records.iter().map(|(trace, bad)| record(*trace, *bad));
                rig.send_logs(records.collect());
            }
            Happening::Seconds(n) => {
                for _ in 0..*n {
                    now += SECOND;
                    rig.second();
                    let log_time = rig.log.stats().now / SECOND;
                    (second + 1..=log_time).for_each(|second| naive.tick(second));
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
    let delivery = rig.sampler.deliveries[0].clone();
    let awaiting = (delivery.awaiting(), delivery.awaiting_records());
    let (_, report) = rig.finish();
    prop_assert_eq!(&report.problems, &Vec::<String>::new());
    prop_assert_eq!((report.undecided, report.damaged), (0, 0));
    prop_assert_eq!((report.spans, report.records), naive.accepted);
    let of = |spans, records| (stats::get(spans), stats::get(records));
    let records = &stats.records;
    prop_assert_eq!(of(&stats.accepted, &records.accepted), naive.accepted);
    prop_assert_eq!(of(&stats.kept, &records.kept), naive.kept);
    prop_assert_eq!(of(&stats.dropped, &records.dropped), naive.dropped);
    prop_assert_eq!(of(&stats.undecided, &records.undecided), (0, 0));
    prop_assert_eq!(awaiting, naive.kept);
    Ok(report)
}

proptest! {
    #![proptest_config(crate::cases::cases(8))]

    #[test]
    fn log_records_go_with_their_traces(happenings in proptest::collection::vec(happening(), 1..30)) {
        run_logs(&happenings)?;
    }
}

/// A score that comes as a log record after the drop, also after a kill, brings spans and records back.
#[test]
fn a_late_score_brings_the_trace_back() {
    for between in [Happening::Seconds(9), Happening::Kill] {
        let report = run_logs(&[
            Happening::Spans(vec![(1, false), (2, false)]),
            Happening::Logs(vec![(1, false), (0, true)]),
            Happening::Seconds(6),
            between,
            Happening::Logs(vec![(1, true)]),
            Happening::Kill,
            Happening::Logs(vec![(1, false), (2, false)]),
        ]);
        assert_eq!(report.unwrap().amendments, 1);
    }
}
