//! Answers of `pkg/ottl` v0.161.0 itself (`tests/data/ottl/README.md`), condition by condition and span by span.

use super::super::{Condition, Context};
use super::request::views;
use std::collections::BTreeMap;
use std::path::PathBuf;

pub(super) fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/ottl")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

fn context(name: &str) -> Context {
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

/// Conditions whose answers are not as recorded; `ours` holds those that differ on purpose and loses what it was asked for.
fn wrong(recorded: &str, ours: &mut BTreeMap<(String, String), String>) -> Vec<String> {
    let request = crate::otlp::json::from_json(data("spans.json").as_bytes()).unwrap();
    let mut out = Vec::new();
    for (kind, theirs, text) in rows(recorded) {
        let key = (kind.to_owned(), text.to_owned());
        let expected = ours.remove(&key).unwrap_or_else(|| theirs.to_owned());
        let found = answer(&request, kind, text);
        if found != expected {
            out.push(format!("{kind}\t{found}, not {expected}\t{text}"));
        }
    }
    out
}

#[test]
fn answers_are_those_of_the_collector() {
    let differences = data("differences.tsv");
    let mut ours = rows(&differences)
        .into_iter()
        .map(|(kind, answers, text)| ((kind.to_owned(), text.to_owned()), answers.to_owned()))
        .collect();
    let wrong = wrong(&data("conditions.tsv"), &mut ours);
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(ours.is_empty(), "differences without a condition: {ours:?}");
}

#[test]
fn answers_to_generated_conditions_are_those_of_the_collector() {
    let wrong = wrong(&data("generated.tsv"), &mut BTreeMap::new());
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
