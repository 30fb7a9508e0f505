//! The Collector's answers (contrib v0.161.0, `tests/compat/peer/processors.py`) against ours.

use super::chains::{chain, decoded};
use crate::processors::Chain;
use opentelemetry_proto::tonic::trace::v1::TracesData;
use serde_json::{Value, json};

fn read(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/processors/");
    let text = std::fs::read_to_string(format!("{folder}{name}")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn chain_of(case: &Value) -> Chain {
    let list = case["processors"].as_array().unwrap();
    let blocks: Vec<(String, Value)> = list
        .iter()
        .enumerate()
        .map(|(number, pair)| {
            let id = format!("{}/{number}", pair[0].as_str().unwrap());
            (id, pair[1].clone())
        })
        .collect();
    chain(&blocks)
}

fn encoded(request: &Value) -> bytes::Bytes {
    crate::otlp::json::from_json(request.to_string().as_bytes())
        .unwrap()
        .into()
}

/// What is there and empty is as what is not there: the Collector always writes resource, scope and status.
fn plain(mut data: TracesData) -> TracesData {
    for resource_spans in &mut data.resource_spans {
        resource_spans.resource.get_or_insert_default();
        for scope_spans in &mut resource_spans.scope_spans {
            scope_spans.scope.get_or_insert_default();
            for span in &mut scope_spans.spans {
                span.status.get_or_insert_default();
            }
        }
    }
    data
}

#[test]
fn every_answer_is_the_collectors() {
    let (file, answers) = (read("cases.json"), read("answers.json"));
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() >= 100);
    let mut wrong = Vec::new();
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let request = &file["requests"][case["request"].as_str().unwrap()];
        let piece = encoded(request);
        let applied = chain_of(case).apply(&piece).unwrap();
        // A request that is refused for an error in a condition is a piece that is lost.
        let expected = match &answers[name] {
            Value::String(refused) if refused == "refused" => json!({}),
            Value::Null => json!({}),
            answer => answer.clone(),
        };
        let expected = plain(decoded(&encoded(&expected)));
        let got = plain(decoded(&applied.bytes));
        let spans = |data: &TracesData| {
            let scopes = data.resource_spans.iter().flat_map(|r| &r.scope_spans);
            scopes.map(|scope| scope.spans.len() as u64).sum::<u64>()
        };
        let before = spans(&decoded(&piece));
        assert_eq!(applied.spans_left, spans(&got), "{name}");
        assert_eq!(
            applied.spans_left + applied.spans_filtered,
            before,
            "{name}"
        );
        if got != expected {
            wrong.push(format!(
                "{name}\n--- theirs\n{expected:?}\n--- ours\n{got:?}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
