//! The policies that spend budgets or read the tracestate, and what differs between releases: by table.

use super::limits::{Granting, Limits, Recorded};
use super::*;
use crate::otlp::{ALWAYS, NEVER, TraceId, scan, threshold_of};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, TracesData};
use prost::Message;
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

struct Rig {
    atoms: Atoms,
    program: Program,
    limits: Limits,
    answers: Vec<u64>,
    votes: Vec<(usize, Vote)>,
}

fn spec(name: &str, kind: PolicyKind) -> PolicySpec {
    PolicySpec {
        name: name.into(),
        kind,
    }
}

fn rig(policies: &[PolicySpec], semantics: Semantics) -> Rig {
    let mut builder = AtomsBuilder::default();
    let program = Compiler::new(&mut builder, semantics)
        .compile(policies)
        .unwrap();
    let atoms = builder
        .build(TextKeys::default(), Arc::new(ValueIds::default()))
        .unwrap();
    let program = program.link(atoms.bits);
    let limits = program.limits();
    Rig {
        atoms,
        program,
        limits,
        answers: Vec::new(),
        votes: Vec::new(),
    }
}

fn release(minor: u16) -> Semantics {
    Semantics {
        release: Release(minor),
        ..Semantics::default()
    }
}

fn span(edit: impl FnOnce(&mut Span)) -> Span {
    let mut span = Span {
        trace_id: 7_u128.to_be_bytes().to_vec(),
        span_id: vec![1; 8],
        start_time_unix_nano: 1000 * MS,
        end_time_unix_nano: 1001 * MS,
        ..Span::default()
    };
    edit(&mut span);
    span
}

fn with(key: &str) -> Span {
    let value = Some(AnyValue {
        value: Some(Value::StringValue("x".into())),
    });
    span(|span| {
        span.attributes.push(KeyValue {
            key: key.into(),
            value,
            ..KeyValue::default()
        })
    })
}

fn state(text: &str) -> Span {
    span(|span| span.trace_state = text.into())
}

fn has(key: &str) -> PolicyKind {
    inverted(key, false)
}

fn inverted(key: &str, invert_match: bool) -> PolicyKind {
    PolicyKind::StringAttribute {
        key: key.into(),
        values: vec!["x".into()],
        enabled_regex_matching: false,
        cache_max_size: 128,
        invert_match,
    }
}

fn rate(spans_per_second: i64, burst_capacity: i64) -> PolicyKind {
    PolicyKind::RateLimiting {
        spans_per_second,
        burst_capacity,
    }
}

fn latency(threshold_ms: i64) -> PolicyKind {
    PolicyKind::Latency {
        threshold_ms,
        upper_threshold_ms: 0,
    }
}

fn coin(sampling_percentage: f64) -> PolicyKind {
    PolicyKind::Probabilistic {
        sampling_percentage,
        hash_salt: "s".into(),
    }
}

impl Rig {
    fn state(&self, spans: Vec<Span>) -> (Fold, Vec<u64>) {
        let scope_spans = vec![ScopeSpans {
            spans,
            ..ScopeSpans::default()
        }];
        let resource_spans = vec![ResourceSpans {
            scope_spans,
            ..ResourceSpans::default()
        }];
        let bytes = TracesData { resource_spans }.encode_to_vec();
        let mut scratch = ObserverScratch::default();
        let mut observer = Observer::new(&self.atoms, &mut scratch);
        let spans = scan(&bytes, &mut observer).unwrap().spans();
        let facts = observer.finish();
        let (mut fold, mut words) = (Fold::default(), vec![0; self.program.state_words()]);
        let size = self.atoms.sizes().map_or(0, |urls| {
            crate::otlp::collector_size(&bytes, urls).unwrap().traces
        });
        self.program
            .fold_piece(&self.atoms, &mut fold, &mut words, &facts, (0..spans, size));
        (fold, words)
    }

    fn decide(&mut self, second: u64, trace: u128, spans: Vec<Span>) -> Verdict {
        let (fold, words) = self.state(spans);
        let state = State {
            trace: TraceId(trace),
            fold: &fold,
            words: &words,
            features: None,
        };
        (self.answers, self.votes) = (Vec::new(), Vec::new());
        let (limits, answers) = (&mut self.limits, &mut self.answers);
        let mut now = second * SECOND;
        let mut grants = Granting {
            limits,
            now: &mut now,
            answers,
        };
        let votes = &mut self.votes;
        let verdict = self
            .program
            .decide(state, &[], &mut grants, |policy, vote| {
                votes.push((policy, vote))
            });
        // What was granted is all that a checker needs.
        let answers = self.answers.iter();
        let again = self
            .program
            .decide(state, &[], &mut Recorded { answers }, |_, _| {});
        assert_eq!(again, verdict);
        verdict
    }

    fn keeps(&mut self, second: u64, spans: Vec<Span>) -> bool {
        self.decide(second, 7, spans).keep
    }
}

/// Rows X8 to X12.
#[test]
fn flags_and_tracestates_are_read() {
    let mut flags = rig(&[spec("p", PolicyKind::TraceFlags)], release(165));
    for (value, expected) in [(0x01, true), (0x101, true), (0x100, false), (0, false)] {
        let found = flags.keeps(1, vec![span(|_| {}), span(|span| span.flags = value)]);
        assert_eq!(found, expected, "{value:#x}");
    }
    let kind = PolicyKind::TraceState {
        key: "k".into(),
        values: vec!["v".into(), String::new()],
    };
    let mut states = rig(&[spec("p", kind)], release(165));
    let mut check = |texts: &[&str], expected| {
        let spans = texts.iter().map(|text| state(text)).collect();
        assert_eq!(states.keeps(1, spans), expected, "{texts:?}");
    };
    check(&["k=v"], true);
    check(&["a=b,k=v"], true);
    check(&["k=V"], false);
    check(&[""], false);
    check(&["k=v,,=", "k=v"], true);
    check(&["k=v,,="], false);
    check(&["k=v,k=w"], false);
    check(&["a=b"], false);
}

/// Row R7: a limiter behind a filter spends for matching traces only.
#[test]
fn an_and_asks_in_order() {
    for (filter_first, expected) in [(true, true), (false, false)] {
        let mut children = vec![spec("f", has("a")), spec("r", rate(1, 5))];
        if !filter_first {
            children.reverse();
        }
        let mut rig = rig(&[spec("p", PolicyKind::And(children))], release(165));
        assert!(!rig.keeps(1, vec![span(|_| {}); 5]));
        assert_eq!(rig.keeps(2, vec![with("a"); 5]), expected);
    }
}

/// Rows C11 to C16.
#[test]
fn a_composite_gives_shares() {
    let composite = |most, children: &[(&str, Option<i64>)]| PolicyKind::Composite {
        max_total_spans_per_second: most,
        children: children
            .iter()
            .map(|(key, share)| (spec(key, has(key)), *share))
            .collect(),
    };
    let ab = || {
        span(|span| {
            span.attributes = [with("a").attributes, with("b").attributes].concat();
        })
    };
    let mut c11 = rig(
        &[spec(
            "p",
            composite(100, &[("a", Some(50)), ("b", Some(50))]),
        )],
        release(165),
    );
    assert!(
        !c11.keeps(1, vec![ab(); 60]),
        "over the share of a, and b is not asked"
    );
    for (minor, expected) in [(165, true), (158, false)] {
        let mut c12 = rig(&[spec("p", composite(100, &[("a", None)]))], release(minor));
        assert_eq!(c12.keeps(1, vec![with("a")]), expected, "{minor}");
    }
    let mut c13 = rig(
        &[spec(
            "p",
            composite(100, &[("a", Some(50)), ("b", Some(50))]),
        )],
        release(165),
    );
    assert_eq!(c13.decide(1, 7, vec![ab()]).child, Some(0));
    assert_eq!(c13.program.child_name(0), Some("a"));
    let mut c14 = rig(
        &[spec(
            "p",
            composite(100, &[("a", Some(80)), ("b", Some(80))]),
        )],
        release(165),
    );
    assert!(c14.keeps(1, vec![with("a"); 80]) && c14.keeps(1, vec![with("b"); 80]));
    let mut c15 = rig(
        &[spec("p", composite(100, &[("a", Some(50))]))],
        release(165),
    );
    assert!(c15.keeps(1, vec![with("a"); 50]) && !c15.keeps(1, vec![with("a")]));
    assert!(!c15.keeps(2, vec![with("a"); 51]) && c15.keeps(2, vec![with("a"); 50]));
}

/// Row R6: as the Collector would encode it.
#[test]
fn bytes_are_limited() {
    let kind = |burst_capacity| PolicyKind::BytesLimiting {
        bytes_per_second: 1,
        burst_capacity,
    };
    let long = || vec![span(|span| span.name = "x".repeat(200))];
    for (burst, expected) in [(1, false), (200 + 66, true), (200 + 65, false)] {
        let mut rig = rig(&[spec("p", kind(burst))], release(165));
        // n + 68 with a kind, which this span does not have.
        assert_eq!(rig.keeps(1, long()), expected, "{burst}");
    }
}

/// Rows S14, S15, L1, L4, L16, Z22.
#[test]
fn releases_differ_where_they_did() {
    let check =
        |policies: &[PolicySpec], spans: &dyn Fn() -> Vec<Span>, expected: &[(u16, bool)]| {
            for (minor, keep) in expected {
                assert_eq!(
                    rig(policies, release(*minor)).keeps(1, spans()),
                    *keep,
                    "v0.{minor} {policies:?}"
                );
            }
        };
    let veto = [
        spec("not-a", inverted("a", true)),
        spec("all", PolicyKind::AlwaysSample),
    ];
    check(
        &veto,
        &|| vec![with("a")],
        &[(143, false), (144, true), (165, true)],
    );
    let error = PolicyKind::StatusCode {
        codes: vec![StatusCode::Error],
    };
    let other = [spec("not-a", inverted("a", true)), spec("error", error)];
    check(&other, &|| vec![with("b")], &[(143, false), (165, true)]);
    let failed = || {
        vec![span(|span| {
            span.status = Some(Status {
                code: 2,
                ..Status::default()
            })
        })]
    };
    check(&other, &failed, &[(143, true), (165, true)]);
    let exact = || vec![span(|span| span.end_time_unix_nano = 2000 * MS)];
    check(
        &[spec("slow", latency(1000))],
        &exact,
        &[(156, true), (157, false), (165, false)],
    );
    check(
        &[spec("slow", latency(0))],
        &|| vec![span(|span| span.end_time_unix_nano = 1000 * MS)],
        &[(156, true), (157, false)],
    );
    let far = || {
        let half = 1_u64 << 63;
        vec![span(|span| {
            (span.start_time_unix_nano, span.end_time_unix_nano) = (half - SECOND, half + SECOND)
        })]
    };
    check(
        &[spec("slow", latency(1000))],
        &far,
        &[(161, false), (162, true)],
    );
    let policies = [
        spec("coin", coin(99.999_999)),
        spec("all", PolicyKind::AlwaysSample),
    ];
    for (minor, policy) in [(161, 0), (162, 1)] {
        let verdict = rig(&policies, release(minor)).decide(1, 7, vec![span(|_| {})]);
        assert_eq!(
            (verdict.policy, verdict.threshold),
            (Some(policy), ALWAYS),
            "v0.{minor}"
        );
    }
}

/// Rows P8 to P10.
#[test]
fn a_coin_reads_the_tracestate() {
    let semantics = Semantics {
        use_trace_state: true,
        ..Semantics::default()
    };
    let check = |text: &str, trace: u128, expected: bool| {
        let mut rig = rig(&[spec("p", coin(10.0))], semantics);
        let verdict = rig.decide(1, trace, vec![state("a=b"), state(text)]);
        assert_eq!(verdict.keep, expected, "{text}");
        let threshold = if expected { threshold_of(0.1) } else { NEVER };
        assert_eq!(verdict.threshold, threshold, "{text}");
    };
    check("ot=rv:ffffffffffffff", 0, true);
    check("ot=rv:00000000000000", u128::MAX, false);
    check("ot=th:8", u128::MAX, true);
    check("ot=th:8", 0, false);
}

/// Section 4.1: of five traces of 6 spans the three most random fit into 20 tokens.
#[test]
fn a_limiter_prefers_the_most_random() {
    let semantics = Semantics {
        use_trace_state: true,
        ..Semantics::default()
    };
    let mut rig = rig(&[spec("p", rate(10, 0))], semantics);
    let traces = [10, 50, 30, 20, 40];
    let states: Vec<_> = traces
        .iter()
        .map(|_| rig.state(vec![span(|_| {}); 6]))
        .collect();
    let mut asks: Vec<_> = traces
        .iter()
        .zip(&states)
        .map(|(trace, (fold, words))| {
            rig.program.ask_of(State {
                trace: TraceId(*trace),
                fold,
                words,
                features: None,
            })
        })
        .collect();
    let cuts: Vec<usize> = rig.program.cuts().collect();
    assert_eq!(cuts, [0]);
    rig.limits.cut(0, &mut asks, SECOND);
    let verdicts: Vec<_> = traces
        .map(|trace| rig.decide(1, trace, vec![span(|_| {}); 6]))
        .into();
    let kept: Vec<bool> = verdicts.iter().map(|verdict| verdict.keep).collect();
    assert_eq!(kept, [false, true, true, false, true]);
    assert_eq!(verdicts[1].threshold, 21);
}

#[test]
fn a_shard_has_its_own_budget() {
    let semantics = Semantics {
        shards: 4,
        ..Semantics::default()
    };
    let mut rig = rig(&[spec("p", rate(4, 1))], semantics);
    let kept = (0..200)
        .filter(|trace| rig.decide(1, *trace, vec![span(|_| {})]).keep)
        .count();
    assert_eq!(kept, 4, "the burst is not divided: one span for each shard");
}

/// Each partition's rule set gives its part of the rate, to all of its traces together.
#[test]
fn a_partition_of_a_shared_log_has_a_part_of_the_rate() {
    let semantics = Semantics {
        partitions: 4,
        ..Semantics::default()
    };
    let mut rig = rig(&[spec("p", rate(8, 2))], semantics);
    let mut kept_in = |second: u64| {
        let traces = (0..50).map(|trace| second as u128 * 100 + trace);
        let decided = traces.map(|trace| rig.decide(second * SECOND, trace, vec![span(|_| {})]));
        decided.filter(|verdict| verdict.keep).count()
    };
    assert_eq!([1, 2, 3].map(&mut kept_in), [2, 2, 2]);
}
