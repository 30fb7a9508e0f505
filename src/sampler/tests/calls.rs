//! Rules over model calls, on recordings of real libraries, through a sampler: restarts, waits of minutes, and the checker.

use super::*;
use crate::clock::Clock;
use crate::genai::Finish;
use crate::rules::{CallRule, Price, Tokens};

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
            let answer = rig
                .runtime
                .block_on(rig.intake.submit(source(), request.into()));
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
