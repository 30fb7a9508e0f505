//! What a sender's span can make an evaluation cost.

use super::super::{Condition, Context, EvalError, SpanView};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Proto;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

/// A span with a list `l` of so many ints and a text `t` of so many bytes.
fn span(items: i64, bytes: usize) -> Vec<u8> {
    let pair = |key: &str, value| KeyValue {
        key: key.into(),
        value: Some(AnyValue { value: Some(value) }),
        ..Default::default()
    };
    let values = (0..items)
        .map(|item| AnyValue {
            value: Some(Proto::IntValue(item)),
        })
        .collect();
    Span {
        attributes: vec![
            pair("l", Proto::ArrayValue(ArrayValue { values })),
            pair("t", Proto::StringValue("a=b,c=d ".repeat(bytes / 8))),
        ],
        ..Default::default()
    }
    .encode_to_vec()
}

/// `$l` and `$t` stand for the list and the text.
fn eval(text: &str, items: i64, bytes: usize) -> Result<bool, EvalError> {
    let text = text
        .replace("$l", "attributes[\"l\"]")
        .replace("$t", "attributes[\"t\"]");
    let span = span(items, bytes);
    let view = SpanView {
        span: &span,
        ..SpanView::default()
    };
    Condition::parse(&text, Context::Span).unwrap().eval(&view)
}

#[test]
fn evaluation_ends() {
    let check = |text: &str, items, bytes| {
        let error = eval(text, items, bytes).unwrap_err();
        let bounded = matches!(error, EvalError::TooComplex | EvalError::TooLarge(_));
        assert!(bounded, "{text}: {error}");
    };
    // A value in itself, twice each time; once each time.
    check("Reduce($l, [1], (a, _, _) => [a, a]) == nil", 200, 0);
    check("Reduce($l, [1], (a, _, _) => [a]) == nil", 200, 0);
    check(
        "Reduce($l, {}, (a, _, _) => {\"a\": a, \"b\": a}) == nil",
        200,
        0,
    );
    check(
        "Reduce($l, \"x\", (a, _, _) => Concat([a, a], \"\")) == nil",
        200,
        0,
    );
    // Loops in loops.
    check(
        "Any($l, (_, _) => Any($l, (_, _) => Any($l, (_, _) => false)))",
        300,
        0,
    );
    check(
        "MapEach($l, (_, _) => MapEach($l, (_, _) => $l)) == nil",
        300,
        0,
    );
    // A long text looked through again and again.
    check("Any($l, (_, _) => IsMatch($t, \"no\"))", 1000, 1 << 20);
    check(
        "Any($l, (_, _) => $t == Concat([$t, 1], \"\"))",
        1000,
        1 << 20,
    );
    check("Any($l, (_, v) => IsMatch(\"x\", String(v)))", 1000, 0);
}

#[test]
fn a_pattern_of_a_span_is_short() {
    let error = eval("IsMatch(\"a\", $t)", 0, 1 << 20).unwrap_err();
    assert!(matches!(error, EvalError::Invalid(_)));
}

#[test]
fn large_values_are_read_at_once() {
    for text in [
        "Len(Split($t, \",\")) > 1000",
        "Len(ParseKeyValue($t, \"=\", \",\")) == 2",
        "Len(SliceToMap($l)) == 50000",
        "SliceToMap($l) == SliceToMap($l)",
        "$l == $l",
        "Len($t) == 2097152 and IsMatch($t, \"c=d $\")",
    ] {
        assert_eq!(eval(text, 50_000, 2 << 20), Ok(true), "{text}");
    }
}
