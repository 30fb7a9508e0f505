//! Folding spans as they come gives what walking over all of them gives.

use super::*;

/// The naive sampler: all spans in memory, every policy walks them anew.
fn naive(kind: &PolicyKind, pieces: &[TracesData]) -> bool {
    let blocks = || pieces.iter().flat_map(|piece| &piece.resource_spans);
    let spans = || {
        blocks()
            .flat_map(|block| &block.scope_spans)
            .flat_map(|scope| &scope.spans)
    };
    let any_attribute = |key: &str,
                         of_resource: &dyn Fn(&Value) -> bool,
                         of_span: &dyn Fn(&Value) -> bool| {
        let first = |attributes: &[KeyValue], test: &dyn Fn(&Value) -> bool| {
            let found = attributes.iter().find(|attribute| attribute.key == key);
            found.is_some_and(|found| test(found.value.as_ref().unwrap().value.as_ref().unwrap()))
        };
        blocks().any(|block| first(&block.resource.as_ref().unwrap().attributes, of_resource))
            || spans().any(|span| first(&span.attributes, of_span))
    };
    match kind {
        PolicyKind::AlwaysSample => true,
        PolicyKind::StringAttribute {
            key,
            values,
            invert_match,
            ..
        } => {
            let test =
                |value: &Value| matches!(value, Value::StringValue(text) if values.contains(text));
            any_attribute(key, &test, &test) != *invert_match
        }
        PolicyKind::NumericAttribute {
            key,
            min_value,
            max_value,
            ..
        } => {
            let test = |value: &Value| {
                let number = if let Value::IntValue(number) = value {
                    *number
                } else {
                    0
                };
                (*min_value..=*max_value).contains(&number)
            };
            any_attribute(key, &test, &test)
        }
        PolicyKind::Latency {
            threshold_ms,
            upper_threshold_ms,
        } => {
            let (mut start, mut end) = (0, 0);
            spans().any(|span| {
                if start == 0 || span.start_time_unix_nano < start {
                    start = span.start_time_unix_nano;
                }
                if end == 0 || span.end_time_unix_nano > end {
                    end = span.end_time_unix_nano;
                }
                let ms = (end as i64 - start as i64) / 1_000_000;
                ms > *threshold_ms && (*upper_threshold_ms == 0 || ms <= *upper_threshold_ms)
            })
        }
        PolicyKind::SpanCount {
            min_spans,
            max_spans,
        } => {
            let count = spans().count() as i32;
            count >= *min_spans && (*max_spans == 0 || count <= *max_spans)
        }
        PolicyKind::Not(child) => !naive(&child.kind, pieces),
        PolicyKind::And(children) | PolicyKind::Drop(children) => {
            children.iter().all(|child| naive(&child.kind, pieces))
        }
        other => panic!("not in this test: {other:?}"),
    }
}

fn leaf() -> impl Strategy<Value = PolicyKind> {
    prop_oneof![
        Just(PolicyKind::AlwaysSample),
        ("[ab]", "[xy]", any::<bool>()).prop_map(|(key, value, invert)| string(
            &key,
            &[&value],
            false,
            invert
        )),
        (-2..3_i64, 0..4_i64).prop_map(|(min, more)| PolicyKind::NumericAttribute {
            key: "a".into(),
            min_value: min,
            max_value: min + more,
            invert_match: false
        }),
        (0..40_i64, prop_oneof![Just(0_i64), 0..60_i64])
            .prop_map(|(over, up_to)| latency(over, up_to)),
        (0..5, 0..5).prop_map(|(min, max)| count(min, max)),
    ]
}

fn any_policy() -> impl Strategy<Value = PolicyKind> {
    let child = || {
        prop_oneof![
            leaf().prop_map(policy),
            leaf().prop_map(|kind| policy(PolicyKind::Not(Box::new(policy(kind)))))
        ]
    };
    prop_oneof![
        leaf(),
        leaf().prop_map(|kind| PolicyKind::Not(Box::new(policy(kind)))),
        proptest::collection::vec(child(), 0..3).prop_map(PolicyKind::And),
        proptest::collection::vec(child(), 1..3).prop_map(PolicyKind::Drop),
    ]
}

fn any_attributes() -> impl Strategy<Value = Vec<KeyValue>> {
    let value = prop_oneof![
        "[xyz]".prop_map(Value::StringValue),
        (-3..4_i64).prop_map(Value::IntValue),
        any::<bool>().prop_map(Value::BoolValue),
    ];
    proptest::collection::vec(
        ("[abc]", value).prop_map(|(key, value)| attribute(&key, value)),
        0..3,
    )
}

fn any_piece() -> impl Strategy<Value = TracesData> {
    let span = (0..50_u64, 0..60_u64, any_attributes())
        .prop_map(|(start, end, attributes)| span(start, end, attributes));
    let block = (any_attributes(), proptest::collection::vec(span, 1..4))
        .prop_map(|(a, spans)| with_resource(a, spans));
    proptest::collection::vec(block, 1..3).prop_map(|resource_spans| TracesData { resource_spans })
}

proptest! {
    #[test]
    fn folding_equals_walking(
        policies in proptest::collection::vec(any_policy(), 0..4),
        pieces in proptest::collection::vec(any_piece(), 1..4),
    ) {
        let specs: Vec<_> = policies.iter().cloned().map(policy).collect();
        let dropped = policies.iter().any(|kind| matches!(kind, PolicyKind::Drop(_)) && naive(kind, &pieces));
        let sampled = policies.iter().any(|kind| !matches!(kind, PolicyKind::Drop(_)) && naive(kind, &pieces));
        prop_assert_eq!(compile(&specs).decide(&pieces, &[]).keep, sampled && !dropped);
    }
}
