//! Policies end to end over real bytes: by table, and against a naive sampler over prost types.

use super::limits::NoBudgets;
use super::*;
use crate::genai::TextField;
use crate::otlp::{TraceId, scan};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{
    ResourceSpans, ScopeSpans, Span, Status, TracesData, span::Event,
};
use proptest::prelude::*;
use prost::Message;
use std::sync::Arc;

mod naive;
mod percentiles;
mod texts;

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
    let text_keys = TextKeys::new([
        ("gen_ai.input.messages", TextField::Prompt),
        ("gen_ai.output.messages", TextField::Answer),
        ("gen_ai.prompt.*", TextField::Prompt),
    ]);
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
        fields: TextFields::ALL,
        whole_words: false,
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
