//! Single traces.

use super::traces::{failed, note, number, piece, rule, span, thinned};
use crate::thinning::{Thin, ThinningRule};
use opentelemetry_proto::tonic::trace::v1::Span;

fn check(rules: &[ThinningRule], spans: &[Span], staying: &[u8]) -> Vec<Span> {
    // In one piece, and each in its own.
    let (found, out) = thinned(rules, &[piece(spans)], None);
    let apart: Vec<_> = spans
        .iter()
        .map(|span| piece(std::slice::from_ref(span)))
        .collect();
    assert_eq!(thinned(rules, &apart, None), (found.clone(), out));
    assert_eq!(found.iter().map(number).collect::<Vec<_>>(), staying);
    assert_eq!(out, (spans.len() - staying.len()) as u64);
    found
}

#[test]
fn parents_of_what_stays_stay() {
    let none = [rule("gpu*", Thin::Keep(0.0))];
    let found = check(
        &none,
        &[
            span(1, 0, "chat"),
            span(2, 1, "gpu"),
            span(3, 2, "gpu.a"),
            span(4, 3, "x"),
            span(5, 2, "gpu.b"),
        ],
        &[1, 2, 3, 4],
    );
    assert_eq!(note(&found[0], "tailwater.thinned.spans"), Some(1));
    check(
        &none,
        &[span(1, 0, "chat"), span(2, 1, "gpu"), span(3, 2, "gpu.a")],
        &[1],
    );
    // A root and a failed span stay whatever they are called, and so do their ancestors.
    check(&none, &[span(1, 0, "gpu")], &[1]);
    check(
        &none,
        &[
            span(1, 0, "chat"),
            span(2, 1, "gpu"),
            failed(span(3, 2, "gpu")),
        ],
        &[1, 2, 3],
    );
    // The first rule counts.
    let both = [
        rule("gpu.a", Thin::Keep(100.0)),
        rule("gpu*", Thin::Keep(0.0)),
    ];
    check(
        &both,
        &[span(1, 0, "chat"), span(2, 1, "gpu.a"), span(3, 1, "gpu.b")],
        &[1, 2],
    );
    // A circle of parents ends.
    check(&none, &[span(1, 2, "x"), span(2, 1, "gpu")], &[1, 2]);
}

#[test]
fn repeated_siblings_become_one() {
    let three = [rule("token", Thin::Fold(3))];
    let spans = [
        span(1, 0, "chat"),
        span(4, 1, "token"),
        span(2, 1, "token"),
        span(3, 1, "token"),
    ];
    let found = check(&three, &spans, &[1, 2]);
    let folded = &found[1];
    let notes = [
        "count",
        "duration.sum",
        "duration.min",
        "duration.max",
        "end",
    ];
    let notes = notes.map(|key| note(folded, &format!("tailwater.folded.{key}")));
    assert_eq!(notes, [3, 20 + 30 + 40, 20, 40, 440].map(Some));
    assert_eq!(note(&found[0], "tailwater.thinned.spans"), Some(2));
    // Too few, or of different parents.
    check(&three, &spans[..3], &[1, 4, 2]);
    let apart = [
        span(1, 0, "chat"),
        span(2, 1, "token"),
        span(3, 1, "token"),
        span(4, 2, "token"),
    ];
    check(&three, &apart, &[1, 2, 3, 4]);
    // One with a child is no repetition.
    let with_child = [&spans[..], &[span(5, 2, "x"), span(6, 1, "token")]].concat();
    check(&three, &with_child, &[1, 2, 3, 5]);
}

#[test]
fn traces_of_excepted_policies_leave_whole() {
    let mut rules = [rule("gpu", Thin::Keep(0.0))];
    rules[0].unless_kept_by = vec!["slow".into()];
    let pieces = [piece(&[span(1, 0, "chat"), span(2, 1, "gpu")])];
    let out = |policy| thinned(&rules, &pieces, policy).1;
    assert_eq!((out(Some("slow")), out(Some("all")), out(None)), (0, 1, 0));
}

#[test]
fn late_spans_alone_may_leave_nothing() {
    let rules = [rule("gpu", Thin::Keep(0.0))];
    assert_eq!(
        thinned(&rules, &[piece(&[span(3, 9, "gpu")])], None),
        (vec![], 1)
    );
    // What was left out is counted where something stays.
    let (found, _) = thinned(
        &rules,
        &[piece(&[span(3, 9, "gpu"), span(4, 9, "x")])],
        None,
    );
    assert_eq!(note(&found[0], "tailwater.thinned.spans"), Some(1));
}

#[test]
fn a_share_is_a_share() {
    let half = [rule("gpu", Thin::Keep(50.0))];
    let spans: Vec<Span> = (0..10_000_u32)
        .map(|number| {
            let mut span = span(2, 1, "gpu");
            span.span_id = (u64::from(number) + 1).to_be_bytes().to_vec();
            span
        })
        .collect();
    let (found, out) = thinned(&half, &[piece(&spans)], None);
    assert_eq!(found.len() as u64 + out, 10_000);
    // Four standard deviations of a binomial of 10,000 at 50 %.
    assert!((4800..=5200).contains(&out), "{out}");
}
