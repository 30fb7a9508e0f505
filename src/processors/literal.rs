//! A value as it is written in the config, and as an `AnyValue` message.

use crate::otlp::{AnyValue, any_value, key_value, put_field_header, raw_fields};
use serde::Serialize;
use std::fmt;

/// A value of the config.
#[derive(Clone, PartialEq, Serialize)]
pub enum Literal {
    /// Nothing, as an item of a list or map.
    Empty,
    /// A text.
    Text(String),
    /// A bool.
    Flag(bool),
    /// An int.
    Int(i64),
    /// A double.
    Double(f64),
    /// A list.
    List(Vec<Literal>),
    /// A map; keys in the order of the file.
    Map(Vec<(String, Literal)>),
}

impl Literal {
    /// The `AnyValue` message.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Empty => {}
            Self::Text(text) => put(&mut out, 1, text.as_bytes()),
            Self::Flag(flag) => out.extend([2 << 3, u8::from(*flag)]),
            Self::Int(value) => out.extend_from_slice(&int_value(*value)),
            Self::Double(value) => out.extend_from_slice(&double_value(*value)),
            Self::List(items) => {
                let mut list = Vec::new();
                for item in items {
                    put(&mut list, 1, &item.encode());
                }
                put(&mut out, 5, &list);
            }
            Self::Map(pairs) => {
                let mut map = Vec::new();
                for (key, value) in pairs {
                    put(&mut map, 1, &pair(key.as_bytes(), &value.encode()));
                }
                put(&mut out, 6, &map);
            }
        }
        out
    }

    /// Whether an attribute has this value, type included.
    pub(super) fn is(&self, value: AnyValue<'_>) -> bool {
        match (self, value) {
            (Self::Empty, AnyValue::Empty) => true,
            (Self::Text(text), AnyValue::Str(other)) => text.as_bytes() == other,
            (Self::Flag(flag), AnyValue::Bool(other)) => *flag == other,
            (Self::Int(value), AnyValue::Int(other)) => *value == other,
            // As Go compares: 0 is -0, and NaN is nothing.
            #[allow(clippy::float_cmp, reason = "equality is what is asked for")]
            (Self::Double(value), AnyValue::Double(other)) => *value == other,
            (Self::List(items), AnyValue::Array(message)) => is_list(items, message),
            (Self::Map(pairs), AnyValue::Map(message)) => is_map(pairs, message),
            _ => false,
        }
    }
}

fn is_list(items: &[Literal], message: &[u8]) -> bool {
    let mut found = raw_fields(message)
        .filter_map(Result::ok)
        .filter_map(|field| any_value(field.message(1)?, 0).ok());
    items
        .iter()
        .all(|item| found.next().is_some_and(|value| item.is(value)))
        && found.next().is_none()
}

/// The order of keys does not count.
fn is_map(pairs: &[(String, Literal)], message: &[u8]) -> bool {
    let entries: Vec<_> = raw_fields(message)
        .filter_map(Result::ok)
        .filter_map(|field| key_value(field.message(1)?, 0).ok())
        .collect();
    let has = |(key, literal): &(String, Literal)| {
        let mut entries = entries.iter();
        entries.any(|(other, value)| *other == key.as_bytes() && literal.is(*value))
    };
    entries.len() == pairs.len() && pairs.iter().all(has)
}

/// A `KeyValue` message.
pub(super) fn pair(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(key.len() + value.len() + 8);
    put(&mut out, 1, key);
    put(&mut out, 2, value);
    out
}

/// An `AnyValue` message with a text.
pub(super) fn text_value(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 6);
    put(&mut out, 1, text);
    out
}

/// An `AnyValue` message with an int.
pub(super) fn int_value(value: i64) -> Vec<u8> {
    let (mut out, mut rest) = (vec![3 << 3], value.cast_unsigned());
    while rest >= 0x80 {
        #[allow(clippy::cast_possible_truncation, reason = "the low seven bits")]
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    #[allow(clippy::cast_possible_truncation, reason = "below 128")]
    out.push(rest as u8);
    out
}

/// An `AnyValue` message with a double.
pub(super) fn double_value(value: f64) -> Vec<u8> {
    let mut out = vec![4 << 3 | 1];
    out.extend_from_slice(&value.to_le_bytes());
    out
}

fn put(out: &mut Vec<u8>, number: u8, body: &[u8]) {
    put_field_header(out, number, body.len());
    out.extend_from_slice(body);
}

impl fmt::Debug for Literal {
    /// The kind only: a value may be one that must not be shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "Empty",
            Self::Text(_) => "Text",
            Self::Flag(_) => "Flag",
            Self::Int(_) => "Int",
            Self::Double(_) => "Double",
            Self::List(_) => "List",
            Self::Map(_) => "Map",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::common::v1::{
        AnyValue as Message, ArrayValue, KeyValue, KeyValueList, any_value::Value,
    };
    use proptest::prelude::*;
    use prost::Message as _;

    fn literals() -> impl Strategy<Value = Literal> {
        let leaf = prop_oneof![
            Just(Literal::Empty),
            ".{0,5}".prop_map(Literal::Text),
            any::<bool>().prop_map(Literal::Flag),
            any::<i64>().prop_map(Literal::Int),
            any::<i32>().prop_map(|value| Literal::Double(f64::from(value) / 8.0)),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Literal::List),
                proptest::collection::btree_map("[a-c]{1,2}", inner, 0..4)
                    .prop_map(|map| Literal::Map(map.into_iter().collect())),
            ]
        })
    }

    fn expected(literal: &Literal) -> Message {
        let value = match literal {
            Literal::Empty => None,
            Literal::Text(text) => Some(Value::StringValue(text.clone())),
            Literal::Flag(flag) => Some(Value::BoolValue(*flag)),
            Literal::Int(value) => Some(Value::IntValue(*value)),
            Literal::Double(value) => Some(Value::DoubleValue(*value)),
            Literal::List(items) => Some(Value::ArrayValue(ArrayValue {
                values: items.iter().map(expected).collect(),
            })),
            Literal::Map(pairs) => Some(Value::KvlistValue(KeyValueList {
                values: pairs
                    .iter()
                    .map(|(key, value)| KeyValue {
                        key: key.clone(),
                        value: Some(expected(value)),
                        ..KeyValue::default()
                    })
                    .collect(),
            })),
        };
        Message { value }
    }

    proptest! {
        #[test]
        fn is_what_prost_reads(literal in literals(), other in literals()) {
            let bytes = literal.encode();
            prop_assert_eq!(Message::decode(&bytes[..]).unwrap(), expected(&literal));
            let read = any_value(&bytes, 0).unwrap();
            prop_assert!(literal.is(read));
            prop_assert_eq!(other.is(read), other == literal);
        }
    }

    #[test]
    fn types_count() {
        let check = |literal: Literal, other: &Literal, same: bool| {
            assert_eq!(literal.is(any_value(&other.encode(), 0).unwrap()), same);
        };
        check(Literal::Int(1), &Literal::Double(1.0), false);
        check(Literal::Text("1".into()), &Literal::Int(1), false);
        check(Literal::Double(0.0), &Literal::Double(-0.0), true);
        check(Literal::Double(f64::NAN), &Literal::Double(f64::NAN), false);
        let map =
            |keys: [&str; 2]| Literal::Map(keys.map(|key| (key.to_owned(), Literal::Empty)).into());
        check(map(["a", "b"]), &map(["b", "a"]), true);
    }
}
