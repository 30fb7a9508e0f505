//! What is refused at load, where it says the mistake is, and that no text whatever does harm.

use super::super::{Condition, Context};
use proptest::prelude::*;

#[test]
fn a_mistake_is_shown_where_it_is() {
    let check = |text: &str, context: Context, expected: &str| {
        let error = Condition::parse(text, context).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    };
    let span = |text, expected| check(text, Context::Span, expected);
    span(
        "attributes[\"a\"] =",
        "at 1:17 near `=`: expected a comparison (`==`, `!=`, `<`, `<=`, `>`, `>=`)",
    );
    span(
        "attributes[\"t\"]",
        "at 1:16: expected a comparison (`==`, `!=`, `<`, `<=`, `>`, `>=`)",
    );
    span(
        "set(name, \"x\")",
        "at 1:1 near `set(name,`: editors change telemetry; a condition takes converters, whose names begin with a capital",
    );
    span(
        "name ==\n  nope",
        "at 2:3 near `nope`: `nope` is not a path of the span context",
    );
    span(
        "kind.foo == 1",
        "at 1:1 near `kind.foo =`: `kind` has no part `foo`",
    );
    span(
        "events[0] != nil",
        "at 1:1 near `events[0]`: `events` cannot be indexed there",
    );
    span(
        "spanevent.name == \"x\"",
        "at 1:1 near `spanevent.`: `spanevent.name` is not a path of the span context",
    );
    span(
        "Nope(name)",
        "at 1:1 near `Nope(name)`: `Nope` is not a function here",
    );
    span(
        "Now() > start_time",
        "at 1:1 near `Now() > st`: `Now` cannot be used: it reads the clock, and a decision is a function of the trace alone",
    );
    span(
        "IsMatch(name)",
        "at 1:1 near `IsMatch(na`: `IsMatch(Target, Pattern)` got 1 arguments",
    );
    span(
        "IsMatch(name, patern=\"x\")",
        "at 1:15 near `patern=\"x\"`: `IsMatch` has no argument `patern`",
    );
    span(
        "IsString(5)",
        "at 1:10 near `5)`: expected a string but got an int",
    );
    span(
        "kind == SPAN_KIND_SERVR",
        "at 1:9 near `SPAN_KIND_`: `SPAN_KIND_SERVR` is not a constant here",
    );
    span(
        "name == \"x",
        "at 1:9 near `\"x`: this text has no closing quote",
    );
    check(
        "IsRootSpan()",
        Context::SpanEvent,
        "at 1:1 near `IsRootSpan`: `IsRootSpan` is not a function here",
    );
}

#[test]
fn what_could_be_meant_is_known() {
    let check = |text: &str, written: &str, one_of: &str| {
        let unknown = Condition::parse(text, Context::Span)
            .unwrap_err()
            .unknown
            .unwrap();
        assert_eq!(unknown.written, written);
        assert!(unknown.known.contains(&one_of), "{text}");
    };
    check("status.cod == 2", "status.cod", "status.code");
    check("IsMach(name, \"x\")", "IsMach", "IsMatch");
    check(
        "kind == SPAN_KIND_SERVR",
        "SPAN_KIND_SERVR",
        "SPAN_KIND_SERVER",
    );
    check("scope.nam == \"x\"", "nam", "name");
}

#[test]
fn depth_and_work_are_bounded() {
    let deep = |open: &str, middle: &str, close: &str, count: usize| {
        format!("{}{middle}{}", open.repeat(count), close.repeat(count))
    };
    let bombs = [
        deep("(", "true", ")", 10_000),
        deep("not (", "true", ")", 10_000),
        deep("-(", "1", ")", 10_000) + " == 1",
        deep("[", "1", "]", 10_000) + " == nil",
        deep("{\"a\":", "1", "}", 10_000) + " == nil",
        deep("Len(", "1", ")", 5_000) + " == 1",
        deep("attributes[", "\"a\"", "]", 5_000) + " == 1",
        deep("Any(attributes, (a, b) => ", "true", ")", 2_000),
        deep("Any([1], (a, b) => (", "true", "))", 2_000),
        "x".repeat(70_000),
        "\"".repeat(60_001),
    ];
    for bomb in bombs {
        assert!(Condition::parse(&bomb, Context::Span).is_err());
    }
    for long in [
        "1".to_owned() + &" + 1".repeat(10_000) + " == 10001",
        "true".to_owned() + &" and true".repeat(5_000),
        "name == \"a\"".to_owned() + &" or name == \"a\"".repeat(3_000),
    ] {
        let condition = Condition::parse(&long, Context::Span).unwrap();
        assert!(condition.eval(&Default::default()).is_ok());
    }
}

/// Pieces that conditions are made of, so that random texts get far into the parser.
fn pieces() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(vec![
        "name",
        "attributes",
        "[\"k\"]",
        "[0]",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "==",
        "!=",
        "<",
        "and",
        "or",
        "not",
        "nil",
        "true",
        "1",
        "2.5",
        "-",
        "+",
        "*",
        "/",
        "\"a\"",
        "0x01",
        ",",
        ".",
        ":",
        "=",
        "=>",
        "_",
        "IsMatch",
        "Any",
        "Len",
        "Format",
        "Substring",
        "Time",
        "ParseJSON",
        "URL",
        "resource.",
        "status.code",
        "STATUS_CODE_OK",
        "Duration",
        "start_time",
        "Concat",
        "ParseCSV",
        "Sort",
        "Split",
        "x",
        "é",
        " ",
        "\n",
    ]);
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #![proptest_config(crate::cases::cases(1000))]

    #[test]
    fn no_text_does_harm(text in "\\PC{0,80}") {
        let _ = Condition::parse(&text, Context::Span);
    }

    #[test]
    fn no_order_of_words_does_harm(text in pieces()) {
        for context in [Context::Span, Context::SpanEvent, Context::Resource, Context::Scope] {
            if let Ok(condition) = Condition::parse(&text, context) {
                let _ = condition.eval(&Default::default());
            }
        }
    }
}
