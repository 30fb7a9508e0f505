//! Generated conditions on generated spans, in every form that the wire allows, against the naive evaluator.

use super::super::{Condition, Context, SpanView};
use super::naive::{Key, Node, Sight, Test};
use crate::otlp::oracle::backwards::{Kind, backwards};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Proto;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use prost::Message;

const NAMES: [&str; 4] = [
    "a",
    "b",
    "c",
    "a long name that is not like the others, of more than a hundred and twenty-eight bytes, so that its length takes two of them on the wire",
];

fn name() -> impl Strategy<Value = String> {
    select(&NAMES[..]).prop_map(String::from)
}

/// Few different values, so that they often meet.
fn scalar() -> impl Strategy<Value = Proto> {
    prop_oneof![
        select(vec!["", "a", "ab", "5", "true", "é"])
            .prop_map(|text| Proto::StringValue(text.into())),
        any::<bool>().prop_map(Proto::BoolValue),
        prop_oneof![-2..6_i64, any::<i64>()].prop_map(Proto::IntValue),
        select(vec![0.0, -0.0, 2.5, 5.0, f64::NAN, 1e300]).prop_map(Proto::DoubleValue),
        vec(0..3_u8, 0..3).prop_map(Proto::BytesValue),
    ]
}

fn value() -> impl Strategy<Value = AnyValue> {
    let leaf = proptest::option::weighted(0.9, scalar()).prop_map(|value| AnyValue { value });
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(|values| Proto::ArrayValue(ArrayValue { values })),
            attributes_of(inner).prop_map(|values| Proto::KvlistValue(KeyValueList { values })),
        ]
        .prop_map(|value| AnyValue { value: Some(value) })
    })
}

fn attributes_of(value: impl Strategy<Value = AnyValue>) -> impl Strategy<Value = Vec<KeyValue>> {
    let pair = (name(), proptest::option::weighted(0.9, value));
    vec(
        pair.prop_map(|(key, value)| KeyValue {
            key,
            value,
            ..Default::default()
        }),
        0..4,
    )
}

prop_compose! {
    fn span()(
        ids in (select(vec![0, 16]), select(vec![0, 8]), select(vec![0, 8])),
        times in (any::<u64>(), any::<u64>()),
        name in select(vec!["", "a", "ab"]),
        kind in -1..8_i32,
        counts in (0..3_u32, any::<u32>()),
        status in proptest::option::of((0..4_i32, select(vec!["", "a"]))),
        state in select(vec!["", "a"]),
        attributes in attributes_of(value()),
    ) -> Span {
        Span {
            trace_id: vec![1; ids.0],
            span_id: vec![2; ids.1],
            parent_span_id: vec![2; ids.2],
            start_time_unix_nano: times.0,
            end_time_unix_nano: times.1,
            name: name.into(),
            kind,
            dropped_attributes_count: counts.0,
            flags: counts.1,
            status: status.map(|(code, message)| Status { code, message: message.into() }),
            trace_state: state.into(),
            attributes,
            ..Default::default()
        }
    }
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![3 => name().prop_map(Key::Name), 1 => (-1..3_i64).prop_map(Key::Index)]
}

fn node() -> impl Strategy<Value = Node> {
    let attribute = (
        select(vec!["span", "span", "resource", "scope"]),
        name(),
        vec(key(), 0..2),
    )
        .prop_map(|(home, first, more)| {
            Node::Attribute(home, [vec![Key::Name(first)], more].concat())
        });
    let literal = prop_oneof![
        Just(Node::Nil),
        scalar().prop_map(|value| match value {
            Proto::StringValue(text) => Node::Text(text),
            Proto::BoolValue(value) => Node::Bool(value),
            Proto::IntValue(i64::MIN) => Node::Int(0),
            Proto::IntValue(value) => Node::Int(value),
            Proto::DoubleValue(value) if value.is_nan() || value > 1e9 => Node::Double(1.5),
            Proto::DoubleValue(value) => Node::Double(value),
            Proto::BytesValue(bytes) if !bytes.is_empty() => Node::Bytes(bytes),
            _ => Node::Nil,
        }),
    ];
    let path = select(vec![
        "name",
        "kind",
        "kind.string",
        "status.code",
        "status.message",
        "start_time_unix_nano",
        "end_time_unix_nano",
        "flags",
        "trace_state",
        "dropped_attributes_count",
        "trace_id",
        "span_id",
        "parent_span_id",
        "parent_span_id.string",
        "trace_id.string",
        "scope.name",
        "resource.dropped_attributes_count",
    ]);
    let leaf = prop_oneof![6 => attribute, 3 => literal, 2 => path.prop_map(Node::Path)];
    leaf.prop_recursive(3, 8, 2, |inner| {
        let number =
            inner
                .clone()
                .prop_filter("a term of a sum is a path, a number or a call", |node| {
                    !matches!(
                        node,
                        Node::Nil | Node::Bool(_) | Node::Text(_) | Node::Bytes(_)
                    )
                });
        let called = inner.prop_filter("literals are checked at load", |node| {
            matches!(
                node,
                Node::Attribute(..) | Node::Path(_) | Node::Math(..) | Node::Len(_)
            )
        });
        let boxed = |node| Box::new(node);
        prop_oneof![
            (number.clone(), select(vec!['+', '-', '*', '/']), number)
                .prop_map(move |(a, operator, b)| Node::Math(boxed(a), operator, boxed(b))),
            called.clone().prop_map(move |node| Node::Len(boxed(node))),
            called.prop_map(move |node| Node::Int64(boxed(node))),
            select(vec!["name", "kind", "status.code"])
                .prop_map(move |path| Node::Text64(boxed(Node::Path(path)))),
        ]
    })
}

fn test() -> impl Strategy<Value = Test> {
    let operator = select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let kind = select(vec![
        "IsString", "IsInt", "IsDouble", "IsBool", "IsMap", "IsList",
    ]);
    let asked = node()
        .prop_filter("literals are checked at load", |node| {
            matches!(node, Node::Attribute(..) | Node::Path(_) | Node::Math(..))
        })
        .boxed();
    let leaf = prop_oneof![
        8 => (node(), operator, node()).prop_map(|(a, operator, b)| Test::Compare(a, operator, b)),
        2 => (kind, asked.clone()).prop_map(|(kind, node)| Test::Is(kind, node)),
        1 => (asked.clone(), asked).prop_map(|(text, prefix)| Test::HasPrefix(text, prefix)),
        1 => any::<bool>().prop_map(Test::Const),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|test| Test::Not(Box::new(test))),
            vec(inner.clone(), 1..4).prop_map(Test::And),
            vec(inner, 1..4).prop_map(Test::Or),
        ]
    })
}

/// How the messages are written.
#[derive(Debug, Clone, Copy)]
enum Form {
    Forwards,
    Backwards,
    /// Behind another message of the same kind: its lists stay, its scalars lose.
    Twice,
    /// With fields that OTLP does not have.
    Unknown,
}

fn written(message: Vec<u8>, before: Vec<u8>, kind: Kind, form: Form) -> Vec<u8> {
    match form {
        Form::Forwards => message,
        Form::Backwards => backwards(kind, &message),
        Form::Twice => [before, message].concat(),
        Form::Unknown => [
            vec![0xa2, 0x06, 1, 7, 0xa8, 0x06, 9],
            message,
            vec![0xb1, 0x06, 0, 0, 0, 0, 0, 0, 0, 0],
        ]
        .concat(),
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(500))]

    #[test]
    fn bytes_answer_as_decoded_messages_do(
        test in test(),
        spans in (span(), span()),
        resource in (attributes_of(value()), 0..3_u32),
        scope in (attributes_of(value()), select(vec!["", "a", "ab"])),
        form in select(vec![Form::Forwards, Form::Backwards, Form::Twice, Form::Unknown]),
    ) {
        let resource = Resource { attributes: resource.0, dropped_attributes_count: resource.1, ..Default::default() };
        let scope = InstrumentationScope { attributes: scope.0, name: scope.1.into(), ..Default::default() };
        let span = written(spans.0.encode_to_vec(), spans.1.encode_to_vec(), Kind::Span, form);
        let resource = written(resource.encode_to_vec(), resource.encode_to_vec(), Kind::Resource, form);
        let scope = written(scope.encode_to_vec(), scope.encode_to_vec(), Kind::Scope, form);
        let sight = Sight {
            span: Span::decode(&*span).unwrap(),
            resource: Resource::decode(&*resource).unwrap(),
            scope: InstrumentationScope::decode(&*scope).unwrap(),
        };
        let view = SpanView { span: &span, resource: &resource, scope: &scope, ..SpanView::default() };
        let text = test.to_string();
        let condition = Condition::parse(&text, Context::Span).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        prop_assert_eq!(condition.eval(&view).map_err(drop), test.eval(&sight), "{}", text);
    }

    /// Cut or changed bytes give an answer or an error, never a panic.
    #[test]
    fn broken_bytes_do_no_harm(test in test(), span in span(), cut in 0..200_usize, flip in 0..200_usize, bits in any::<u8>()) {
        let mut bytes = span.encode_to_vec();
        if let Some(byte) = bytes.get_mut(flip) {
            *byte ^= bits;
        }
        bytes.truncate(cut);
        let condition = Condition::parse(&test.to_string(), Context::Span).unwrap();
        for text in ["Len(attributes) == Len(events)", "String(attributes) == trace_state[\"k\"]"] {
            let _ = Condition::parse(text, Context::Span).unwrap().eval(&SpanView { span: &bytes, ..SpanView::default() });
        }
        let _ = condition.eval(&SpanView { span: &bytes, resource: &bytes, scope: &bytes, event: &bytes, ..SpanView::default() });
    }
}
