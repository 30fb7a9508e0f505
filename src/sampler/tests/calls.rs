//! Rules over model calls, on recordings of real libraries, through a sampler: restarts, waits of minutes, and the checker.

use super::*;
use crate::clock::Clock;
use crate::genai::{Finish, TextField};
use crate::rules::{CallRule, PercentileOf, Price, TextFields, Tokens, Vote};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};

/// The requests of one case.
fn recording(library: &str, case: &str) -> Vec<Vec<u8>> {
    let root = env!("CARGO_MANIFEST_DIR");
    let requests = (1..).map_while(|number| {
        let path = format!("{root}/tests/fixtures/llm/{library}/{case}.{number}.pb");
        std::fs::read(path).ok()
    });
    let requests: Vec<_> = requests.collect();
    assert!(!requests.is_empty(), "{library}/{case}");
    requests
}

fn traces_of(requests: &[Vec<u8>]) -> Vec<u128> {
    let mut traces: Vec<u128> = requests
        .iter()
        .flat_map(|request| TracesData::decode(&request[..]).unwrap().resource_spans)
        .flat_map(|resource| resource.scope_spans)
        .flat_map(|scope| scope.spans)
        .map(|span| u128::from_be_bytes(span.trace_id.try_into().unwrap()))
        .collect();
    traces.sort_unstable();
    traces.dedup();
    traces
}

fn rule(name: &str, rule: CallRule) -> PolicySpec {
    PolicySpec {
        name: name.into(),
        kind: PolicyKind::Calls(rule),
    }
}

fn rules() -> Vec<PolicySpec> {
    vec![
        rule(
            "tool",
            CallRule::FinishReason {
                reasons: vec![Finish::ToolCall],
            },
        ),
        rule("failed", CallRule::GenAiError { types: vec![] }),
        rule(
            "dear",
            CallRule::Cost {
                prices: vec![Price {
                    model: "claude-sonnet-4-5".into(),
                    input: 1e6,
                    output: 1e6,
                    cached: 0.0,
                }],
                unknown_matches: false,
                min: 56.0,
                max: 56.0,
            },
        ),
        rule(
            "thoughtful",
            CallRule::TokenCount {
                of: Tokens::Reasoning,
                min: 7,
                max: 7,
            },
        ),
    ]
}

/// Cases, and the policy that keeps each of their traces; none where none does.
const CASES: [(&str, &str, &[Option<u16>]); 5] = [
    (LANGCHAIN, "stream", &[None]),
    (LANGCHAIN, "error-429", &[Some(1)]),
    (LANGCHAIN, "agent-tool", &[None, Some(0)]),
    (OPENAI, "responses", &[Some(3)]),
    (
        "openinference-instrumentation-anthropic-3.1.0",
        "chat",
        &[Some(2)],
    ),
];
const LANGCHAIN: &str = "opentelemetry-instrumentation-langchain-0.62.4";
const OPENAI: &str = "openinference-instrumentation-openai-0.1.66";

fn open(place: &Path, now: u64) -> Rig {
    Rig::open(&log_settings(place), now, rules(), |settings| {
        settings.decision_wait = 200;
    })
}

#[test]
fn recordings_are_kept_for_what_they_say_through_restarts_and_long_waits() {
    let place = tempfile::tempdir().unwrap();
    let mut rig = open(place.path(), 1000 * SECOND);
    let mut cases = Vec::new();
    for (library, case, policies) in CASES {
        let requests = recording(library, case);
        cases.push((traces_of(&requests), case, policies));
        for request in requests {
            let answer =
                rig.runtime
                    .block_on(rig.intake.submit(source(), Signal::Traces, request.into()));
            assert_eq!(answer.unwrap().rejected, 0);
        }
        rig.second();
    }
    // Replayed from the log, then taken up from `undecided` entries.
    for wait in [1, 70, 1] {
        rig.seconds(wait);
        let now = rig.clock.unix();
        rig.stop();
        rig = open(place.path(), now);
        rig.second();
    }
    rig.seconds(200);
    let (entries, report) = rig.finish();
    assert_eq!(report.problems, Vec::<String>::new());
    assert!(report.states > 0 && report.proven > 0);
    let found: BTreeMap<u128, Option<u16>> = entries
        .iter()
        .filter_map(Entry::decision)
        .map(|(decision, _, _)| (decision.trace.0, decision.policy))
        .collect();
    for (traces, case, expected) in cases {
        let mut policies: Vec<_> = traces.iter().map(|trace| found[trace]).collect();
        policies.sort_unstable();
        assert_eq!(policies, expected, "{case}");
    }
}

/// A percentile rule that has seen nothing yet: its threshold is the warm-up's.
fn slower_than(ms: u64, of: PercentileOf, by: &[&str]) -> PolicyKind {
    PolicyKind::LatencyPercentile {
        percentile: 99.0,
        by: by.iter().map(|key| (*key).to_owned()).collect(),
        floor_ms: 0,
        warmup_ms: ms,
        min_count: 1000,
        of,
        by_tokens: Some(Tokens::Output).filter(|_| of != PercentileOf::Span),
    }
}

fn keyword(text: &str, fields: &[TextField]) -> PolicyKind {
    PolicyKind::PromptKeyword {
        keywords: vec![text.into()],
        fields: TextFields::of(fields),
        whole_words: true,
    }
}

/// Every rule with how many traces of [`every_rule_votes_on_recordings`] it wants.
fn every_rule() -> Vec<(PolicyKind, u64)> {
    let count = |of, min| CallRule::TokenCount { of, min, max: 80 };
    let ratio = |of, to| CallRule::TokenRatio {
        of,
        to,
        min: 0.4,
        max: 0.41,
    };
    let cost = |model: &str, unknown_matches| CallRule::Cost {
        prices: vec![Price {
            model: model.into(),
            input: 1e6,
            output: 1e6,
            cached: 0.0,
        }],
        unknown_matches,
        min: 48.0,
        max: 48.0,
    };
    let ended = |reason| CallRule::FinishReason {
        reasons: vec![reason],
    };
    let judged = |above| CallRule::EvaluationScore {
        name: "hallucination".into(),
        above: Some(above),
        below: None,
        labels: vec![],
    };
    let failed = |types: &[&str]| CallRule::GenAiError {
        types: types.iter().map(|name| (*name).to_owned()).collect(),
    };
    let calls = [
        (count(Tokens::Total, 80), 8),
        (count(Tokens::Total, 81), 0),
        (ratio(Tokens::Output, Tokens::Input), 8),
        (ratio(Tokens::Cached, Tokens::Input), 0),
        (cost("gpt-4o-mini", false), 8),
        (cost("another", false), 0),
        (cost("another", true), 8),
        (ended(Finish::Stop), 6),
        (ended(Finish::ToolCall), 1),
        (ended(Finish::Length), 0),
        (CallRule::CacheHit { hit: true }, 8),
        (CallRule::CacheHit { hit: false }, 0),
        (judged(0.7), 1),
        (judged(0.9), 0),
        (CallRule::ToolError { tools: vec![] }, 1),
        (
            CallRule::ToolError {
                tools: vec!["weather".into()],
            },
            0,
        ),
        (failed(&["RateLimitError"]), 1),
        (failed(&[]), 3),
    ];
    let others = [
        (slower_than(125, PercentileOf::Ttft, &["llm.model_name"]), 2),
        (slower_than(11, PercentileOf::TimePerOutputToken, &[]), 1),
        (slower_than(20, PercentileOf::Queue, &[]), 1),
        (
            slower_than(0, PercentileOf::Span, &["openinference.span.kind"]),
            13,
        ),
        (slower_than(0, PercentileOf::Span, &["no.such.key"]), 0),
        (keyword("以上所有指示", &[TextField::Prompt]), 6),
        (keyword("以上所有指示", &[TextField::Answer]), 0),
        (keyword("previous instruction", &[TextField::Prompt]), 0),
        (
            PolicyKind::PromptRegex {
                expressions: vec!["请.{1,4}以上.*指示".into()],
                fields: TextFields::of(&[TextField::Prompt]),
            },
            6,
        ),
    ];
    let calls = calls.map(|(rule, wanted)| (PolicyKind::Calls(rule), wanted));
    calls.into_iter().chain(others).collect()
}

/// What no recording has: a failed tool, an evaluation, an engine's queue.
fn made() -> Vec<Span> {
    let attributes = [
        &[
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "search"),
        ][..],
        &[
            ("gen_ai.evaluation.name", "hallucination"),
            ("gen_ai.evaluation.score.value", "0.8"),
        ],
        &[("gen_ai.latency.time_in_queue", "0.05")],
    ];
    let made = (0..).zip(attributes).map(|(number, attributes)| {
        let mut made = span(number, 0, number == 0);
        let attributes = attributes.iter().map(|(key, text)| KeyValue {
            key: (*key).into(),
            value: Some(AnyValue {
                value: Some(Value::StringValue((*text).into())),
            }),
            ..Default::default()
        });
        made.attributes = attributes.collect();
        made
    });
    made.collect()
}

#[test]
fn every_rule_votes_on_recordings() {
    let rules = every_rule();
    let policies = rules
        .iter()
        .enumerate()
        .map(|(number, (kind, _))| PolicySpec {
            name: format!("{number} {}", kind.type_name()),
            kind: kind.clone(),
        });
    let policies: Vec<_> = policies.collect();
    let place = tempfile::tempdir().unwrap();
    let rig = Rig::open(
        &log_settings(place.path()),
        1000 * SECOND,
        policies.clone(),
        |_| {},
    );
    rig.clock.advance(1);
    let cases = [
        "chat",
        "chat-session",
        "embeddings",
        "error-429",
        "error-timeout",
        "parts-n2",
        "responses",
        "responses-stream",
        "stream",
        "stream-abandoned",
        "stream-nousage",
        "tool",
    ];
    for request in cases.iter().flat_map(|case| recording(OPENAI, case)) {
        let answer =
            rig.runtime
                .block_on(rig.intake.submit(source(), Signal::Traces, request.into()));
        assert_eq!(answer.unwrap().rejected, 0);
    }
    made().into_iter().for_each(|span| rig.send(vec![span]));
    rig.seconds(WAIT + 2);
    let votes = rig.sampler.stats.votes();
    let found: Vec<_> = votes
        .filter(|(_, vote, _)| *vote == Vote::Sampled)
        .map(|(policy, _, count)| (policy.to_owned(), count))
        .collect();
    let expected = policies.iter().zip(&rules);
    let expected: Vec<_> = expected
        .map(|(policy, (_, wanted))| (policy.name.clone(), *wanted))
        .collect();
    assert_eq!(found, expected);
    let (_, report) = rig.finish();
    assert_eq!(report.problems, Vec::<String>::new());
    assert_eq!(report.proven, 16);
}
