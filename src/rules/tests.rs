//! Policies end to end over real bytes: by table, and against a naive sampler over prost types.

use super::limits::NoBudgets;
use super::*;
use crate::otlp::{TraceId, scan};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{
    ResourceSpans, ScopeSpans, Span, Status, TracesData, span::Event,
};
use proptest::prelude::*;
use prost::Message;
use std::sync::Arc;

const MS: u64 = 1_000_000;

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.into(),
        value: Some(AnyValue { value: Some(value) }),
        ..Default::default()
    }
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, Value::StringValue(value.into()))
}

fn span(start_ms: u64, end_ms: u64, attributes: Vec<KeyValue>) -> Span {
    Span {
        trace_id: 7_u128.to_be_bytes().to_vec(),
        span_id: vec![1; 8],
        parent_span_id: vec![2; 8],
        start_time_unix_nano: start_ms * MS,
        end_time_unix_nano: end_ms * MS,
        attributes,
        ..Default::default()
    }
}

fn with_resource(attributes: Vec<KeyValue>, spans: Vec<Span>) -> ResourceSpans {
    ResourceSpans {
        resource: Some(Resource {
            attributes,
            ..Default::default()
        }),
        scope_spans: vec![ScopeSpans {
            spans,
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn data(spans: Vec<Span>) -> TracesData {
    TracesData {
        resource_spans: vec![with_resource(vec![text("service.name", "svc")], spans)],
    }
}

fn policy(kind: PolicyKind) -> PolicySpec {
    PolicySpec {
        name: "p".into(),
        kind,
    }
}

struct Compiled {
    atoms: Atoms,
    program: Program,
}

fn compile(policies: &[PolicySpec]) -> Compiled {
    let mut builder = AtomsBuilder::default();
    let program = Compiler::new(&mut builder, Semantics::default())
        .compile(policies)
        .unwrap();
    let text_keys = TextKeys::new(["gen_ai.input.messages", "gen_ai.prompt.*"]);
    let atoms = builder
        .build(text_keys, Arc::new(ValueIds::default()))
        .unwrap();
    let program = program.link(atoms.bits);
    Compiled { atoms, program }
}

impl Compiled {
    /// Folds the pieces in order; the state after them.
    fn fold(&self, pieces: &[TracesData]) -> (Fold, Vec<u64>) {
        let (mut fold, mut words) = (Fold::default(), vec![0; self.program.state_words()]);
        for piece in pieces {
            let bytes = piece.encode_to_vec();
            let mut scratch = ObserverScratch::default();
            let mut observer = Observer::new(&self.atoms, &mut scratch);
            scan(&bytes, &mut observer).unwrap();
            let facts = observer.finish();
            (0..facts.spans.len()).for_each(|i| {
                self.program
                    .fold(&self.atoms, &mut fold, &mut words, &facts, i)
            });
        }
        (fold, words)
    }

    fn decide(&self, pieces: &[TracesData], thresholds: &[u64]) -> Verdict {
        let (fold, words) = self.fold(pieces);
        self.program.decide(
            State {
                trace: TraceId(7),
                fold: &fold,
                words: &words,
                features: None,
            },
            thresholds,
            &mut NoBudgets,
            |_, _| {},
        )
    }
}

fn keeps(kind: PolicyKind, data: TracesData) -> bool {
    compile(&[policy(kind)]).decide(&[data], &[]).keep
}

fn string(key: &str, values: &[&str], regex: bool, invert_match: bool) -> PolicyKind {
    PolicyKind::StringAttribute {
        key: key.into(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        enabled_regex_matching: regex,
        cache_max_size: 128,
        invert_match,
    }
}

fn number(min_value: i64, max_value: i64) -> PolicyKind {
    PolicyKind::NumericAttribute {
        key: "n".into(),
        min_value,
        max_value,
        invert_match: false,
    }
}

fn boolean(value: bool) -> PolicyKind {
    PolicyKind::BooleanAttribute {
        key: "b".into(),
        value,
        invert_match: false,
    }
}

fn latency(threshold_ms: i64, upper_threshold_ms: i64) -> PolicyKind {
    PolicyKind::Latency {
        threshold_ms,
        upper_threshold_ms,
    }
}

fn count(min_spans: i32, max_spans: i32) -> PolicyKind {
    PolicyKind::SpanCount {
        min_spans,
        max_spans,
    }
}

#[test]
fn string_attribute_as_in_the_collector() {
    let on_span = |value| data(vec![span(1, 2, vec![value])]);
    let on_resource = |value| TracesData {
        resource_spans: vec![with_resource(vec![value], vec![span(1, 2, vec![])])],
    };
    let int = || attribute("k", Value::IntValue(5));
    let cases = [
        (
            string("k", &["a", "b"], false, false),
            on_span(text("k", "b")),
            true,
        ),
        (
            string("k", &["a"], false, false),
            on_span(text("k", "A")),
            false,
        ),
        (
            string("k", &["a"], false, false),
            on_resource(text("k", "a")),
            true,
        ),
        (
            string("k", &[""], false, false),
            on_span(text("k", "")),
            false,
        ),
        (string("k", &[".*"], true, false), on_span(int()), false),
        (string("k", &[".*"], true, false), on_resource(int()), true),
        (
            string("k", &["^$"], true, false),
            on_span(text("k", "")),
            false,
        ),
        (
            string("k", &["ell"], true, false),
            on_span(text("k", "hello")),
            true,
        ),
        (
            string("k", &["a"], false, true),
            on_span(text("k", "a")),
            false,
        ),
        (
            string("k", &["a"], false, true),
            on_span(text("other", "a")),
            true,
        ),
        (
            string("k", &["a"], false, false),
            data(vec![span(1, 2, vec![text("k", "x"), text("k", "a")])]),
            false,
        ),
        (
            string("", &["a"], false, false),
            on_span(text("", "a")),
            true,
        ),
    ];
    for (kind, data, expected) in cases {
        let shown = format!("{kind:?} {data:?}");
        assert_eq!(keeps(kind, data), expected, "{shown}");
    }
}

#[test]
fn numbers_and_bools_as_in_the_collector() {
    let on_span = |key: &str, value| data(vec![span(1, 2, vec![attribute(key, value)])]);
    let cases = [
        (number(400, 499), on_span("n", Value::IntValue(400)), true),
        (number(400, 499), on_span("n", Value::IntValue(500)), false),
        (
            number(400, 499),
            on_span("n", Value::DoubleValue(404.0)),
            false,
        ),
        (
            number(-1, 1),
            on_span("n", Value::StringValue("404".into())),
            true,
        ),
        (
            number(i64::MIN, -1),
            on_span("n", Value::IntValue(-5)),
            true,
        ),
        (boolean(true), on_span("b", Value::BoolValue(true)), true),
        (boolean(true), on_span("b", Value::BoolValue(false)), false),
        (
            boolean(true),
            on_span("b", Value::StringValue("true".into())),
            false,
        ),
        (
            boolean(false),
            on_span("b", Value::StringValue("true".into())),
            true,
        ),
        (
            boolean(false),
            on_span("other", Value::BoolValue(false)),
            false,
        ),
    ];
    for (kind, data, expected) in cases {
        let shown = format!("{kind:?} {data:?}");
        assert_eq!(keeps(kind, data), expected, "{shown}");
    }
}

#[test]
fn latency_as_in_the_collector() {
    let spans = |times: &[(u64, u64)]| {
        data(
            times
                .iter()
                .map(|(start, end)| span(*start, *end, vec![]))
                .collect(),
        )
    };
    let cases = [
        (latency(1000, 0), spans(&[(1, 1001)]), false),
        (latency(1000, 0), spans(&[(1, 1002)]), true),
        (latency(0, 0), spans(&[(1, 1)]), false),
        (latency(0, 0), spans(&[(1, 2)]), true),
        // Gaps count, and so does the order when there is an upper bound.
        (latency(100, 0), spans(&[(1, 2), (200, 201)]), true),
        (latency(0, 50), spans(&[(1, 41), (1, 201)]), true),
        (latency(0, 50), spans(&[(1, 201), (1, 41)]), false),
        (latency(0, 50), spans(&[(1, 51)]), true),
        // A start of 0 after another span is a start in 1970; before it, it is unset.
        (latency(1000, 0), spans(&[(5, 6), (0, 6)]), false),
        (latency(5, 0), spans(&[(5, 6), (0, 6)]), true),
        (latency(-2, 0), spans(&[(5, 4)]), true),
        (latency(0, 0), spans(&[(5, 4)]), false),
    ];
    for (kind, data, expected) in cases {
        let shown = format!("{kind:?} {data:?}");
        assert_eq!(keeps(kind, data), expected, "{shown}");
    }
}

#[test]
fn status_count_and_coin() {
    let with_status = |code| {
        let mut failed = span(1, 2, vec![]);
        failed.status = Some(Status {
            code,
            message: String::new(),
        });
        data(vec![failed, span(1, 2, vec![])])
    };
    let status = |codes: &[StatusCode]| PolicyKind::StatusCode {
        codes: codes.to_vec(),
    };
    let spans = |n| data(vec![span(1, 2, vec![]); n]);
    let coin = |sampling_percentage| PolicyKind::Probabilistic {
        sampling_percentage,
        hash_salt: "s".into(),
    };
    let cases = [
        (status(&[StatusCode::Error]), with_status(2), true),
        (status(&[StatusCode::Error]), with_status(1), false),
        (status(&[StatusCode::Ok]), with_status(1), true),
        (status(&[StatusCode::Unset]), with_status(2), true),
        (
            status(&[StatusCode::Ok, StatusCode::Error]),
            with_status(77),
            false,
        ),
        (count(2, 0), spans(2), true),
        (count(3, 0), spans(2), false),
        (count(0, 2), spans(3), false),
        (count(0, 0), spans(1), true),
        (count(1, -1), spans(1), false),
        (coin(100.0), spans(1), true),
        (coin(0.0), spans(1), false),
        (PolicyKind::AlwaysSample, spans(1), true),
    ];
    for (kind, data, expected) in cases {
        let shown = format!("{kind:?} {data:?}");
        assert_eq!(keeps(kind, data), expected, "{shown}");
    }
}

#[test]
fn policies_combine() {
    let error = || {
        policy(PolicyKind::StatusCode {
            codes: vec![StatusCode::Error],
        })
    };
    let always = || policy(PolicyKind::AlwaysSample);
    let not = |child| policy(PolicyKind::Not(Box::new(child)));
    let and = |children| policy(PolicyKind::And(children));
    let drop = |children| policy(PolicyKind::Drop(children));
    let plain = || data(vec![span(1, 2, vec![])]);
    let cases = [
        (vec![], false),
        (vec![always()], true),
        (vec![and(vec![])], true),
        (vec![and(vec![always(), error()])], false),
        (vec![and(vec![always(), not(error())])], true),
        (vec![not(always())], false),
        (vec![always(), drop(vec![not(error())])], false),
        (vec![always(), drop(vec![error()])], true),
        (vec![always(), drop(vec![])], false),
    ];
    for (policies, expected) in cases {
        assert_eq!(
            compile(&policies).decide(&[plain()], &[]).keep,
            expected,
            "{policies:?}"
        );
    }
}

#[test]
fn the_most_probable_policy_is_named() {
    let coin = PolicyKind::Probabilistic {
        sampling_percentage: 99.999_999,
        hash_salt: "s".into(),
    };
    let policies = [
        PolicySpec {
            name: "coin".into(),
            kind: coin.clone(),
        },
        PolicySpec {
            name: "all".into(),
            kind: PolicyKind::AlwaysSample,
        },
        PolicySpec {
            name: "again".into(),
            kind: PolicyKind::AlwaysSample,
        },
    ];
    let verdict = compile(&policies).decide(&[data(vec![span(1, 2, vec![])])], &[]);
    assert_eq!((verdict.policy, verdict.probability()), (Some(1), 1.0));
    let only = compile(&policies[..1]).decide(&[data(vec![span(1, 2, vec![])])], &[]);
    assert!(only.keep && (only.probability() - 0.999_999_99).abs() < 1e-12);
}

#[test]
fn prompts_are_searched_where_they_can_be() {
    let kind = || PolicyKind::PromptKeyword {
        keywords: vec!["ignore previous instructions".into()],
    };
    let bad = r#"[{"role":"user","content":"Ignore previous\u0020instructions"}]"#;
    let mut in_event = span(1, 2, vec![]);
    in_event.events = vec![Event {
        attributes: vec![text(
            "gen_ai.prompt.0.content",
            "ignore previous instructions",
        )],
        ..Default::default()
    }];
    let nested = Value::ArrayValue(opentelemetry_proto::tonic::common::v1::ArrayValue {
        values: vec![AnyValue {
            value: Some(Value::StringValue("IGNORE PREVIOUS INSTRUCTIONS".into())),
        }],
    });
    let cases = [
        (
            data(vec![span(1, 2, vec![text("gen_ai.input.messages", bad)])]),
            true,
        ),
        (
            data(vec![span(
                1,
                2,
                vec![attribute("gen_ai.input.messages", nested)],
            )]),
            true,
        ),
        (data(vec![in_event]), true),
        (
            data(vec![span(
                1,
                2,
                vec![text("db.statement", "ignore previous instructions")],
            )]),
            false,
        ),
    ];
    for (data, expected) in cases {
        let shown = format!("{data:?}");
        assert_eq!(keeps(kind(), data), expected, "{shown}");
    }
}

fn p99(by: &[&str]) -> PolicyKind {
    PolicyKind::LatencyPercentile {
        percentile: 99.0,
        by: by.iter().map(|key| (*key).to_owned()).collect(),
        floor_ms: 10,
        warmup_ms: 5000,
        min_count: 100,
        of: PercentileOf::Trace,
        by_tokens: None,
    }
}

#[test]
fn the_root_span_names_the_percentile_key() {
    let compiled = compile(&[policy(p99(&["service.name", "model"]))]);
    let mut root = span(50, 60, vec![text("model", "of-root")]);
    root.parent_span_id = vec![];
    let early = span(1, 2, vec![text("model", "early")]);
    let late = span(9, 12, vec![text("model", "late")]);
    let cases = [
        (vec![late.clone(), early.clone()], "early"),
        (vec![early.clone(), root.clone(), late.clone()], "of-root"),
        (vec![root.clone(), early.clone()], "of-root"),
    ];
    for (spans, expected) in cases {
        let (_, words) = compiled.fold(&[data(spans)]);
        let texts: Vec<_> = compiled
            .program
            .key_values(&words)
            .map(|id| compiled.atoms.values.text(id))
            .collect();
        assert_eq!(
            texts.iter().map(|text| &**text).collect::<Vec<_>>(),
            ["svc", expected]
        );
    }
}

#[test]
fn percentile_keeps_one_in_a_hundred_of_stationary_traffic() {
    // Log-normal by Box-Muller from a fixed sequence.
    let mut state = 1_u64;
    let mut uniform = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    };
    for sigma in [0.1, 0.3, 1.0] {
        let compiled = compile(&[policy(p99(&["service.name"]))]);
        let mut percentiles = Percentiles::new(compiled.program.percentiles(), 0);
        let (mut kept, mut seen, mut thresholds) = (0_u32, 0_u32, Vec::new());
        for second in 0..220_u64 {
            percentiles.refresh(second * 1_000_000_000);
            for _ in 0..1000 {
                let normal =
                    (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
                let duration = (800.0e6 * (sigma * normal).exp()) as u64;
                percentiles.thresholds(&Seen::of(&[2], 0), &mut thresholds);
                if second >= 20 {
                    seen += 1;
                    kept += u32::from(duration > thresholds[0]);
                }
                percentiles.observe(&Seen::of(&[2], duration), second * 1_000_000_000);
            }
        }
        let share = f64::from(kept) / f64::from(seen) * 100.0;
        assert!(
            (share - 1.0).abs() <= 0.1,
            "sigma {sigma}: {share} % of {seen}"
        );
    }
}

#[test]
fn a_key_without_a_history_uses_its_parents() {
    let compiled = compile(&[policy(p99(&["service.name", "model"]))]);
    let mut percentiles = Percentiles::new(compiled.program.percentiles(), 0);
    let threshold = |percentiles: &Percentiles, values: &[u32]| {
        let mut out = Vec::new();
        percentiles.thresholds(&Seen::of(values, 0), &mut out);
        out[0]
    };
    assert_eq!(threshold(&percentiles, &[2, 3]), 5_000 * MS);
    (0..200).for_each(|_| percentiles.observe(&Seen::of(&[2, 3], 100 * MS), 0));
    assert_eq!(
        threshold(&percentiles, &[2, 3]),
        5_000 * MS,
        "only a tick changes thresholds"
    );
    percentiles.refresh(1);
    let known = threshold(&percentiles, &[2, 3]);
    assert!(known.abs_diff(100 * MS) < MS, "{known}");
    assert_eq!(
        threshold(&percentiles, &[2, 9]),
        known,
        "parent: the service"
    );
    assert_eq!(
        threshold(&percentiles, &[8, 9]),
        known,
        "parent: everything"
    );
    (0..200).for_each(|_| percentiles.observe(&Seen::of(&[4, 4], MS), 0));
    percentiles.refresh(2);
    assert_eq!(threshold(&percentiles, &[4, 4]), 10 * MS, "the floor");
    let ids = ValueIds::default();
    for name in ["a", "b", "c"] {
        ids.id(name.as_bytes());
    }
    let saved = percentiles.snapshot(2, &ids);
    let mut again = Percentiles::new(compiled.program.percentiles(), 2);
    again.restore(&saved, 2, &ids);
    again.refresh(3);
    assert_eq!(threshold(&again, &[2, 3]), known);
}

/// The naive sampler: all spans in memory, every policy walks them anew.
fn naive(kind: &PolicyKind, pieces: &[TracesData]) -> bool {
    let blocks = || pieces.iter().flat_map(|piece| &piece.resource_spans);
    let spans = || {
        blocks()
            .flat_map(|block| &block.scope_spans)
            .flat_map(|scope| &scope.spans)
    };
    let any_attribute = |key: &str,
                         of_resource: &dyn Fn(&Value) -> bool,
                         of_span: &dyn Fn(&Value) -> bool| {
        let first = |attributes: &[KeyValue], test: &dyn Fn(&Value) -> bool| {
            let found = attributes.iter().find(|attribute| attribute.key == key);
            found.is_some_and(|found| test(found.value.as_ref().unwrap().value.as_ref().unwrap()))
        };
        blocks().any(|block| first(&block.resource.as_ref().unwrap().attributes, of_resource))
            || spans().any(|span| first(&span.attributes, of_span))
    };
    match kind {
        PolicyKind::AlwaysSample => true,
        PolicyKind::StringAttribute {
            key,
            values,
            invert_match,
            ..
        } => {
            let test =
                |value: &Value| matches!(value, Value::StringValue(text) if values.contains(text));
            any_attribute(key, &test, &test) != *invert_match
        }
        PolicyKind::NumericAttribute {
            key,
            min_value,
            max_value,
            ..
        } => {
            let test = |value: &Value| {
                let number = if let Value::IntValue(number) = value {
                    *number
                } else {
                    0
                };
                (*min_value..=*max_value).contains(&number)
            };
            any_attribute(key, &test, &test)
        }
        PolicyKind::Latency {
            threshold_ms,
            upper_threshold_ms,
        } => {
            let (mut start, mut end) = (0, 0);
            spans().any(|span| {
                if start == 0 || span.start_time_unix_nano < start {
                    start = span.start_time_unix_nano;
                }
                if end == 0 || span.end_time_unix_nano > end {
                    end = span.end_time_unix_nano;
                }
                let ms = (end as i64 - start as i64) / 1_000_000;
                ms > *threshold_ms && (*upper_threshold_ms == 0 || ms <= *upper_threshold_ms)
            })
        }
        PolicyKind::SpanCount {
            min_spans,
            max_spans,
        } => {
            let count = spans().count() as i32;
            count >= *min_spans && (*max_spans == 0 || count <= *max_spans)
        }
        PolicyKind::Not(child) => !naive(&child.kind, pieces),
        PolicyKind::And(children) | PolicyKind::Drop(children) => {
            children.iter().all(|child| naive(&child.kind, pieces))
        }
        other => panic!("not in this test: {other:?}"),
    }
}

fn leaf() -> impl Strategy<Value = PolicyKind> {
    prop_oneof![
        Just(PolicyKind::AlwaysSample),
        ("[ab]", "[xy]", any::<bool>()).prop_map(|(key, value, invert)| string(
            &key,
            &[&value],
            false,
            invert
        )),
        (-2..3_i64, 0..4_i64).prop_map(|(min, more)| PolicyKind::NumericAttribute {
            key: "a".into(),
            min_value: min,
            max_value: min + more,
            invert_match: false
        }),
        (0..40_i64, prop_oneof![Just(0_i64), 0..60_i64])
            .prop_map(|(over, up_to)| latency(over, up_to)),
        (0..5, 0..5).prop_map(|(min, max)| count(min, max)),
    ]
}

fn any_policy() -> impl Strategy<Value = PolicyKind> {
    let child = || {
        prop_oneof![
            leaf().prop_map(policy),
            leaf().prop_map(|kind| policy(PolicyKind::Not(Box::new(policy(kind)))))
        ]
    };
    prop_oneof![
        leaf(),
        leaf().prop_map(|kind| PolicyKind::Not(Box::new(policy(kind)))),
        proptest::collection::vec(child(), 0..3).prop_map(PolicyKind::And),
        proptest::collection::vec(child(), 1..3).prop_map(PolicyKind::Drop),
    ]
}

fn any_attributes() -> impl Strategy<Value = Vec<KeyValue>> {
    let value = prop_oneof![
        "[xyz]".prop_map(Value::StringValue),
        (-3..4_i64).prop_map(Value::IntValue),
        any::<bool>().prop_map(Value::BoolValue),
    ];
    proptest::collection::vec(
        ("[abc]", value).prop_map(|(key, value)| attribute(&key, value)),
        0..3,
    )
}

fn any_piece() -> impl Strategy<Value = TracesData> {
    let span = (0..50_u64, 0..60_u64, any_attributes())
        .prop_map(|(start, end, attributes)| span(start, end, attributes));
    let block = (any_attributes(), proptest::collection::vec(span, 1..4))
        .prop_map(|(a, spans)| with_resource(a, spans));
    proptest::collection::vec(block, 1..3).prop_map(|resource_spans| TracesData { resource_spans })
}

proptest! {
    #[test]
    fn folding_equals_walking(
        policies in proptest::collection::vec(any_policy(), 0..4),
        pieces in proptest::collection::vec(any_piece(), 1..4),
    ) {
        let specs: Vec<_> = policies.iter().cloned().map(policy).collect();
        let dropped = policies.iter().any(|kind| matches!(kind, PolicyKind::Drop(_)) && naive(kind, &pieces));
        let sampled = policies.iter().any(|kind| !matches!(kind, PolicyKind::Drop(_)) && naive(kind, &pieces));
        prop_assert_eq!(compile(&specs).decide(&pieces, &[]).keep, sampled && !dropped);
    }
}
