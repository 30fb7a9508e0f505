//! Answers of `pkg/ottl` v0.161.0 itself (`tests/data/ottl/README.md`), condition by condition and span by span.

use super::super::{Condition, Context};
use super::request::views;
use std::collections::BTreeMap;
use std::path::PathBuf;

fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/ottl")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

pub(super) fn context(name: &str) -> Context {
    match name {
        "resource" => Context::Resource,
        "scope" => Context::Scope,
        "span" => Context::Span,
        "spanevent" => Context::SpanEvent,
        other => panic!("{other}"),
    }
}

/// `!` when it is refused at load, else T, F or E for each span.
fn answer(request: &[u8], kind: &str, text: &str) -> String {
    match Condition::parse(text, context(kind)) {
        Err(_) => "!".into(),
        Ok(condition) => views(request, kind)
            .iter()
            .map(|view| match condition.eval(view) {
                Ok(true) => 'T',
                Ok(false) => 'F',
                Err(_) => 'E',
            })
            .collect(),
    }
}

/// Rows: context, answers, condition.
fn rows(text: &str) -> Vec<(&str, &str, &str)> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let mut parts = line.splitn(3, '\t');
            let mut part = || parts.next().unwrap();
            (part(), part(), part())
        })
        .collect()
}

#[test]
fn answers_are_those_of_the_collector() {
    let request = crate::otlp::json::from_json(data("spans.json").as_bytes()).unwrap();
    let recorded = data("conditions.tsv");
    let differences = data("differences.tsv");
    let mut ours: BTreeMap<(&str, &str), &str> = rows(&differences)
        .into_iter()
        .map(|(kind, answers, text)| ((kind, text), answers))
        .collect();
    let mut wrong = Vec::new();
    for (kind, theirs, text) in rows(&recorded) {
        let expected = ours.remove(&(kind, text)).unwrap_or(theirs);
        let found = answer(&request, kind, text);
        if found != expected {
            wrong.push(format!("{kind}\t{found}, not {expected}\t{text}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(ours.is_empty(), "differences without a condition: {ours:?}");
}
