//! The votes of the real Collector's `ottl_condition` policies, trace by trace.

use super::super::{Condition, Context, ErrorMode, Outcome, SpanView, evaluate_policy};
use super::recorded::data;
use super::request::views;
use serde_json::Value;

fn conditions(policy: &Value, name: &str, context: Context) -> Vec<Condition> {
    policy[name]
        .as_array()
        .unwrap()
        .iter()
        .map(|text| Condition::parse(text.as_str().unwrap(), context).unwrap())
        .collect()
}

fn mode(policy: &Value) -> ErrorMode {
    match policy["error_mode"]
        .as_str()
        .map(str::to_lowercase)
        .as_deref()
    {
        None => ErrorMode::default(),
        Some("propagate") => ErrorMode::Propagate,
        Some("ignore") => ErrorMode::Ignore,
        Some("silent") => ErrorMode::Silent,
        Some(other) => panic!("{other}"),
    }
}

/// The policy's vote on a whole trace, as the Collector walks it.
fn vote(policy: &Value, request: &[u8]) -> &'static str {
    let span = conditions(policy, "span", Context::Span);
    let events = conditions(policy, "spanevent", Context::SpanEvent);
    for view in views(request, "span") {
        // v0.161.0 has lost the schema URLs by then.
        let view = SpanView {
            resource_schema_url: b"",
            scope_schema_url: b"",
            ..view
        };
        match evaluate_policy(mode(policy), &span, &events, &view).outcome {
            Outcome::Matched => return "sampled",
            Outcome::NotMatched => {}
            Outcome::Failed(_) => return "error",
        }
    }
    "not_sampled"
}

/// A policy that asks for the present time is refused here.
fn asks_for_now(policy: &Value) -> bool {
    policy["span"].to_string().contains("Now()")
}

#[test]
fn votes_are_those_of_the_collector() {
    let cases: Vec<Value> = serde_json::from_str(&data("decisions.json")).unwrap();
    let mut asked = 0;
    for case in &cases {
        for trace in case["traces"].as_array().unwrap() {
            let request = trace["request"].to_string();
            let request = crate::otlp::json::from_json(request.as_bytes()).unwrap();
            for policy in case["policies"].as_array().unwrap() {
                if asks_for_now(policy) {
                    continue;
                }
                let name = policy["name"].as_str().unwrap();
                let expected = trace["expected"][name].as_str().unwrap();
                let found = vote(policy, &request);
                let same = found == expected || expected == "not kept" && found != "sampled";
                assert!(
                    same,
                    "{} {name} {}: {found}, not {expected}",
                    case["case"], policy
                );
                asked += 1;
            }
        }
    }
    assert_eq!(asked, 588);
}
