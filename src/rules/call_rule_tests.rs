//! Rules over model calls, by table, over real bytes: scan, fold in pieces, decide.

use super::limits::NoBudgets;
use super::*;
use crate::genai::Finish;
use crate::otlp::{Signal, TraceId, scan, scan_as};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, LogsData, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, TracesData};
use prost::Message;
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_700_000_000 * SECOND;

fn pair(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.into(),
        value: Some(AnyValue { value: Some(value) }),
        ..Default::default()
    }
}

/// A span in the making.
#[derive(Clone)]
pub(super) struct Made(Span);

pub(super) fn made(name: &str, operation: &str) -> Made {
    let span = Span {
        trace_id: 7_u128.to_be_bytes().to_vec(),
        span_id: vec![1; 8],
        name: name.into(),
        start_time_unix_nano: START,
        end_time_unix_nano: START + 2 * SECOND,
        ..Default::default()
    };
    Made(span).text("gen_ai.operation.name", operation)
}

pub(super) fn call(model: &str, input: i64, output: i64) -> Made {
    made("chat", "chat")
        .text("gen_ai.request.model", model)
        .int("gen_ai.usage.input_tokens", input)
        .int("gen_ai.usage.output_tokens", output)
}

/// The same call as an engine tells it.
fn engine(input: i64, output: i64) -> Made {
    let mut span = made("llm_request", "");
    span.0.attributes.clear();
    span.0.kind = 2;
    span.int("gen_ai.usage.prompt_tokens", input)
        .int("gen_ai.usage.completion_tokens", output)
}

impl Made {
    fn with(mut self, key: &str, value: Value) -> Self {
        self.0.attributes.push(pair(key, value));
        self
    }

    pub(super) fn text(self, key: &str, text: &str) -> Self {
        self.with(key, Value::StringValue(text.into()))
    }

    pub(super) fn int(self, key: &str, number: i64) -> Self {
        self.with(key, Value::IntValue(number))
    }

    pub(super) fn double(self, key: &str, number: f64) -> Self {
        self.with(key, Value::DoubleValue(number))
    }

    fn failed(mut self, what: &str) -> Self {
        self.0.status = Some(Status {
            code: 2,
            message: String::new(),
        });
        self.text("error.type", what)
    }

    pub(super) fn lasting(mut self, nanos: u64) -> Self {
        self.0.end_time_unix_nano = START + nanos;
        self
    }
}

pub(super) fn request(spans: &[Made]) -> Vec<u8> {
    let spans = spans.iter().map(|span| span.0.clone()).collect();
    TracesData {
        resource_spans: vec![ResourceSpans {
            scope_spans: vec![ScopeSpans {
                spans,
                ..Default::default()
            }],
            ..Default::default()
        }],
    }
    .encode_to_vec()
}

/// Whether a policy keeps a trace, each span of which comes in a piece of its own.
fn keeps(kind: &PolicyKind, spans: &[Made]) -> bool {
    let policies = [PolicySpec {
        name: "p".into(),
        kind: kind.clone(),
    }];
    let mut builder = AtomsBuilder::default();
    let program = Compiler::new(&mut builder, Semantics::default())
        .compile(&policies)
        .unwrap();
    let atoms = builder
        .build(TextKeys::default(), Arc::new(ValueIds::default()))
        .unwrap();
    let program = program.link(atoms.bits());
    let (mut fold, mut words) = (Fold::default(), vec![0; program.state_words()]);
    let mut features = None;
    for span in spans {
        let mut scratch = ObserverScratch::default();
        let mut observer = Observer::new(&atoms, &mut scratch);
        scan(&request(std::slice::from_ref(span)), &mut observer).unwrap();
        let facts = observer.finish();
        program.fold_piece(&atoms, &mut fold, &mut words, &facts, (0..1, 0));
        program.fold_features(&atoms, &mut features, &facts, 0..1);
        features = features.map(|features| {
            let saved = features.save(atoms.values());
            assert_eq!(Features::unpack(&features.pack()).as_ref(), Some(&features));
            Features::restore(&saved, atoms.values()).unwrap()
        });
    }
    let state = State {
        trace: TraceId(7),
        fold: &fold,
        words: &words,
        features: features.as_ref(),
    };
    program.decide(state, &[], &mut NoBudgets, |_, _| {}).keep
}

#[track_caller]
fn check(rule: CallRule, spans: &[Made], expected: bool) {
    let name = rule.type_name();
    let kind = PolicyKind::Calls(rule);
    assert_eq!(keeps(&kind, spans), expected, "{kind:?}");
    let not = PolicyKind::Not(Box::new(PolicySpec {
        name: String::new(),
        kind: kind.clone(),
    }));
    assert_eq!(keeps(&not, spans), !expected, "not {name}");
    let drop = PolicyKind::Drop(vec![PolicySpec {
        name: String::new(),
        kind,
    }]);
    assert!(!keeps(&drop, spans), "drop {name}");
}

fn other() -> Made {
    let mut span = made("GET /", "");
    span.0.attributes.clear();
    span
}

fn count(of: Tokens, min: u64, max: u64) -> CallRule {
    CallRule::TokenCount { of, min, max }
}

#[test]
fn tokens_are_counted_once_for_each_call() {
    const MOST: u64 = u64::MAX;
    let two = [
        call("m", 60, 20).int("gen_ai.usage.cache_read.input_tokens", 32),
        other(),
        call("m", 50, 10).int("gen_ai.usage.reasoning.output_tokens", 7),
        engine(60, 20),
    ];
    for (of, tokens) in [
        (Tokens::Input, 110),
        (Tokens::Output, 30),
        (Tokens::Total, 140),
        (Tokens::Cached, 32),
        (Tokens::Reasoning, 7),
    ] {
        check(count(of, tokens, MOST), &two, true);
        check(count(of, tokens + 1, MOST), &two, false);
        check(count(of, 0, tokens), &two, true);
        check(count(of, 0, tokens - 1), &two, false);
    }
    check(count(Tokens::Total, 0, 100), &[other()], false);
    check(count(Tokens::Total, 0, 100), &[], false);
    let untold = made("chat", "chat").text("gen_ai.request.model", "m");
    check(count(Tokens::Total, 0, 100), &[untold], false);
}

#[test]
fn ratios_need_both_sides() {
    let ratio = |of, to, min, max| CallRule::TokenRatio { of, to, min, max };
    let (input, output) = (Tokens::Input, Tokens::Output);
    let long = [call("m", 10, 20), call("m", 10, 30)];
    check(ratio(output, input, 2.5, f64::INFINITY), &long, true);
    check(ratio(output, input, 2.6, f64::INFINITY), &long, false);
    check(ratio(input, output, 0.0, 0.4), &long, true);
    check(ratio(input, output, 0.0, 0.39), &long, false);
    check(ratio(output, input, 0.0, 9.0), &[call("m", 0, 20)], false);
    check(ratio(output, input, 0.0, 9.0), &[other()], false);
}

#[test]
fn calls_cost_what_their_models_do() {
    let price = |model: &str, input, output, cached| Price {
        model: model.into(),
        input,
        output,
        cached,
    };
    let cost = |unknown_matches, min, max| CallRule::Cost {
        prices: vec![
            price("gpt-4o-mini", 0.15, 0.6, 0.075),
            price("large", 2.5, 10.0, 2.5),
        ],
        unknown_matches,
        min,
        max,
    };
    let most = f64::INFINITY;
    // 0.15 * 0.6 + 0.075 * 0.4 + 0.6 * 2 + 10 = 11.32
    let spans = [
        call("gpt-4o-mini-2024-07-18", 1_000_000, 2_000_000)
            .int("gen_ai.usage.cache_read.input_tokens", 400_000),
        call("large", 0, 1_000_000),
    ];
    check(cost(false, 11.32, most), &spans, true);
    check(cost(false, 11.320_001, most), &spans, false);
    check(cost(false, 0.0, 11.32), &spans, true);
    check(cost(false, 0.0, 11.319), &spans, false);
    let twice = [call("large", 4, 0), engine(4, 0)];
    check(cost(false, 0.000_01, 0.000_01), &twice, true);
    let unknown = [call("new-model", 10, 10), call("large", 4, 0)];
    check(cost(false, 0.000_011, most), &unknown, false);
    check(cost(true, 0.000_011, most), &unknown, true);
    check(cost(true, 0.0, 0.000_001), &unknown, true);
    check(cost(true, 0.0, 1.0), &[other()], false);
    let untold = [made("chat", "chat").text("gen_ai.request.model", "new-model")];
    check(cost(true, 0.000_001, most), &untold, false);
}

#[test]
fn reasons_are_classes() {
    let rule = |reasons: &[Finish]| CallRule::FinishReason {
        reasons: reasons.to_vec(),
    };
    let ended = |word: &str| call("m", 1, 1).text("gen_ai.response.finish_reasons", word);
    let cut = [other(), ended("[\"stop\"]"), ended("max_tokens")];
    check(rule(&[Finish::Length]), &cut, true);
    check(rule(&[Finish::ContentFilter, Finish::Stop]), &cut, true);
    check(rule(&[Finish::ContentFilter]), &cut, false);
    check(rule(&[Finish::Stop]), &[other()], false);
    check(rule(&[Finish::Stop]), &[call("m", 1, 1)], false);
}

#[test]
fn a_cache_hits_misses_or_is_not_told() {
    let rule = |hit| CallRule::CacheHit { hit };
    let cached = |tokens| call("m", 60, 1).int("gen_ai.usage.cache_read.input_tokens", tokens);
    for (spans, hit, missed) in [
        (vec![cached(0), cached(3)], true, false),
        (vec![cached(0), other()], false, true),
        (vec![call("m", 1, 1)], false, false),
        (vec![other()], false, false),
    ] {
        check(rule(true), &spans, hit);
        check(rule(false), &spans, missed);
    }
}

#[test]
fn scores_by_name_number_and_label() {
    let rule = |above, below, labels: &[&str]| CallRule::EvaluationScore {
        name: "hallucination".into(),
        above,
        below,
        labels: labels.iter().map(|label| (*label).into()).collect(),
    };
    let judged = |name: &str, value: f64, label: &str| {
        made("evaluate", "chat")
            .text("gen_ai.evaluation.name", name)
            .double("gen_ai.evaluation.score.value", value)
            .text("gen_ai.evaluation.score.label", label)
    };
    let bad = [other(), judged("hallucination", 0.8, "fail")];
    check(rule(Some(0.7), None, &[]), &bad, true);
    check(rule(Some(0.8), None, &[]), &bad, false);
    check(rule(None, Some(0.9), &[]), &bad, true);
    check(rule(None, Some(0.8), &[]), &bad, false);
    check(rule(Some(0.7), Some(0.9), &[]), &bad, true);
    check(rule(Some(0.1), Some(0.2), &[]), &bad, false);
    check(rule(Some(0.9), None, &["fail"]), &bad, true);
    check(rule(None, None, &["fail", "warn"]), &bad, true);
    check(rule(None, None, &["pass"]), &bad, false);
    check(rule(None, None, &[]), &bad, true);
    check(
        rule(None, None, &[]),
        &[judged("toxicity", 0.8, "fail")],
        false,
    );
    check(rule(Some(0.7), None, &[]), &[call("m", 1, 1)], false);
}

/// A log record that reports an evaluation is no call, whatever else it says.
#[test]
fn scores_of_log_records() {
    let policy = |kind| PolicySpec {
        name: "p".into(),
        kind: PolicyKind::Calls(kind),
    };
    let keeps = |rule: CallRule, attributes: Vec<KeyValue>| {
        let mut builder = AtomsBuilder::default();
        builder.want_records();
        let compiler = Compiler::new(&mut builder, Semantics::default());
        let mut program = compiler.compile(&[policy(rule)]).unwrap();
        program.want_features();
        let atoms = builder
            .build(TextKeys::default(), Arc::new(ValueIds::default()))
            .unwrap();
        let program = program.link(atoms.bits());
        let record = LogRecord {
            trace_id: 7_u128.to_be_bytes().to_vec(),
            event_name: "gen_ai.evaluation.result".into(),
            attributes,
            ..Default::default()
        };
        let request = LogsData {
            resource_logs: vec![ResourceLogs {
                scope_logs: vec![ScopeLogs {
                    log_records: vec![record],
                    ..Default::default()
                }],
                ..Default::default()
            }],
        };
        let mut scratch = ObserverScratch::default();
        let mut observer = Observer::new(&atoms, &mut scratch);
        scan_as(Signal::Logs, &request.encode_to_vec(), &mut observer).unwrap();
        let facts = observer.finish().reordered(&[0]);
        assert_eq!(program.features_of(&atoms, &facts, 0..1), None);
        let (mut fold, mut words) = (Fold::default(), vec![0; program.state_words()]);
        let state = (&mut fold, &mut words[..]);
        program.fold_leaves(Signal::Logs, &atoms, state, &facts, (0..1, 0));
        let state = State {
            trace: TraceId(7),
            fold: &fold,
            words: &words,
            features: None,
        };
        program.late_evidence(&[0], state).is_some()
    };
    let above = CallRule::EvaluationScore {
        name: "hallucination".into(),
        above: Some(0.7),
        below: None,
        labels: Vec::new(),
    };
    let judged = |name: &str, value: f64| {
        vec![
            pair("gen_ai.evaluation.score.value", Value::DoubleValue(value)),
            pair("gen_ai.evaluation.name", Value::StringValue(name.into())),
            pair("gen_ai.usage.input_tokens", Value::IntValue(9)),
            pair("error.type", Value::StringValue("Refused".into())),
        ]
    };
    assert!(keeps(above.clone(), judged("hallucination", 0.8)));
    assert!(!keeps(above.clone(), judged("hallucination", 0.7)));
    assert!(!keeps(above.clone(), judged("toxicity", 0.8)));
    assert!(!keeps(above, Vec::new()));
    let errors = CallRule::GenAiError { types: Vec::new() };
    assert!(!keeps(errors, judged("hallucination", 0.8)));
}

#[test]
fn failures_of_tools_and_calls() {
    let tools = |names: &[&str]| CallRule::ToolError {
        tools: names.iter().map(|name| (*name).into()).collect(),
    };
    let errors = |types: &[&str]| CallRule::GenAiError {
        types: types.iter().map(|name| (*name).into()).collect(),
    };
    let tool = made("execute_tool", "execute_tool").text("gen_ai.tool.name", "search");
    let broken = [call("m", 1, 1), tool.clone().failed("TimeoutError")];
    check(tools(&[]), &broken, true);
    check(tools(&["weather", "search"]), &broken, true);
    check(tools(&["weather"]), &broken, false);
    check(tools(&[]), &[tool], false);
    check(errors(&[]), &broken, true);
    check(errors(&["RateLimitError"]), &broken, false);
    let refused = [call("m", 1, 0).failed("openai.RateLimitError")];
    check(tools(&[]), &refused, false);
    check(errors(&["RateLimitError"]), &refused, true);
    check(errors(&["TimeoutError"]), &refused, false);
    check(errors(&[]), &[other().failed("RateLimitError")], false);
}

#[test]
fn a_rule_set_is_told_apart_by_each_number() {
    let of = |rule| {
        let policy = PolicySpec {
            name: "p".into(),
            kind: PolicyKind::Calls(rule),
        };
        fingerprint(&[policy], Semantics::default())
    };
    assert_ne!(
        of(count(Tokens::Input, 1, 2)),
        of(count(Tokens::Input, 1, 3))
    );
    assert_ne!(
        of(count(Tokens::Input, 1, 2)),
        of(count(Tokens::Total, 1, 2))
    );
    let cost = |input| CallRule::Cost {
        prices: vec![Price {
            model: "m".into(),
            input,
            output: 1.0,
            cached: 1.0,
        }],
        unknown_matches: false,
        min: 1.0,
        max: 2.0,
    };
    assert_ne!(of(cost(1.0)), of(cost(2.0)));
}

#[test]
fn a_program_has_so_many_price_lists() {
    let policy = |input: u32| PolicySpec {
        name: format!("p{input}"),
        kind: PolicyKind::Calls(CallRule::Cost {
            prices: vec![Price {
                model: "m".into(),
                input: f64::from(input),
                output: 1.0,
                cached: 1.0,
            }],
            unknown_matches: false,
            min: 1.0,
            max: 2.0,
        }),
    };
    let compile = |lists: u32| {
        let policies: Vec<_> = (0..lists).chain(0..lists).map(policy).collect();
        let mut builder = AtomsBuilder::default();
        let compiled = Compiler::new(&mut builder, Semantics::default()).compile(&policies);
        compiled.map(|program| program.prices.len())
    };
    assert_eq!(compile(16).unwrap(), 16, "equal lists are one");
    let error = compile(17).unwrap_err().to_string();
    assert_eq!(
        error,
        "policy \"p16\": more than 16 different price lists in one pipeline"
    );
}

#[test]
fn only_what_one_span_can_say_is_late_evidence() {
    let hit = |hit| CallRule::CacheHit { hit };
    for (rule, expected) in [
        (count(Tokens::Total, 1, 2), false),
        (hit(true), true),
        (hit(false), false),
        (CallRule::ToolError { tools: vec![] }, true),
        (CallRule::GenAiError { types: vec![] }, true),
    ] {
        let kind = PolicyKind::Calls(rule);
        assert_eq!(kind.takes_late_evidence(), expected, "{kind:?}");
    }
    let regex = PolicyKind::PromptRegex {
        expressions: vec!["a".into()],
        fields: TextFields::ALL,
    };
    assert!(regex.takes_late_evidence());
}
