//! A second evaluator, as plain as can be: a tree of its own over decoded prost types. Shares nothing with the first.

use opentelemetry_proto::tonic::common::v1::any_value::Value as Proto;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use std::cmp::Ordering;
use std::fmt;

#[derive(Debug, Clone)]
pub(super) enum Test {
    Const(bool),
    Not(Box<Test>),
    And(Vec<Test>),
    Or(Vec<Test>),
    Compare(Node, &'static str, Node),
    /// `IsString` and the like.
    Is(&'static str, Node),
    HasPrefix(Node, Node),
}

#[derive(Debug, Clone)]
pub(super) enum Node {
    Nil,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Path(&'static str),
    /// `attributes` of `span`, `resource` or `scope`, with keys.
    Attribute(&'static str, Vec<Key>),
    Math(Box<Node>, char, Box<Node>),
    Len(Box<Node>),
    Int64(Box<Node>),
    Text64(Box<Node>),
}

#[derive(Debug, Clone)]
pub(super) enum Key {
    Name(String),
    Index(i64),
}

/// What is looked at.
pub(super) struct Sight {
    pub(super) span: Span,
    pub(super) resource: Resource,
    pub(super) scope: InstrumentationScope,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Any(Option<Proto>),
    Id(Vec<u8>),
}

type Answer<T> = Result<T, ()>;

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |parts: &[Self], by: &str| {
            parts
                .iter()
                .map(|part| format!("({part})"))
                .collect::<Vec<_>>()
                .join(by)
        };
        match self {
            Self::Const(value) => write!(f, "{value}"),
            Self::Not(inner) => write!(f, "not ({inner})"),
            Self::And(parts) => f.write_str(&join(parts, " and ")),
            Self::Or(parts) => f.write_str(&join(parts, " or ")),
            Self::Compare(left, operator, right) => write!(f, "{left} {operator} {right}"),
            Self::Is(name, node) => write!(f, "{name}({node})"),
            Self::HasPrefix(text, prefix) => write!(f, "HasPrefix({text}, {prefix})"),
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("nil"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Double(value) => write!(f, "{value:?}"),
            Self::Text(text) => {
                write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
            }
            Self::Bytes(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Self::Path(path) => f.write_str(path),
            Self::Attribute(home, keys) => {
                write!(f, "{home}.attributes")?;
                keys.iter().try_for_each(|key| match key {
                    Key::Name(name) => write!(f, "[\"{name}\"]"),
                    Key::Index(index) => write!(f, "[{index}]"),
                })
            }
            Self::Math(left, operator, right) => write!(f, "({left}) {operator} ({right})"),
            Self::Len(node) => write!(f, "Len({node})"),
            Self::Int64(node) => write!(f, "Int({node})"),
            Self::Text64(node) => write!(f, "String({node})"),
        }
    }
}

impl Test {
    /// Constants decide where they stand in a list, before anything is evaluated.
    fn constant(&self) -> Option<bool> {
        match self {
            Self::Const(value) => Some(*value),
            Self::Not(inner) => inner.constant().map(|value| !value),
            Self::And(parts) => fold(parts, false),
            Self::Or(parts) => fold(parts, true),
            Self::Compare(left, operator, right) => {
                let (left, right) = (left.literal()?, right.literal()?);
                Some(compare(&left, operator, &right))
            }
            Self::Is(..) | Self::HasPrefix(..) => None,
        }
    }

    pub(super) fn eval(&self, sight: &Sight) -> Answer<bool> {
        if let Some(value) = self.constant() {
            return Ok(value);
        }
        match self {
            Self::Const(value) => Ok(*value),
            Self::Not(inner) => Ok(!inner.eval(sight)?),
            Self::And(parts) => {
                for part in parts {
                    if !part.eval(sight)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Or(parts) => {
                for part in parts {
                    if part.eval(sight)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::Compare(left, operator, right) => {
                let left = left.eval(sight)?;
                Ok(compare(&left, operator, &right.eval(sight)?))
            }
            Self::Is(name, node) => Ok(matches!(
                (*name, node.eval(sight)?),
                ("IsString", Value::Any(Some(Proto::StringValue(_))))
                    | ("IsInt", Value::Any(Some(Proto::IntValue(_))))
                    | ("IsDouble", Value::Any(Some(Proto::DoubleValue(_))))
                    | ("IsBool", Value::Any(Some(Proto::BoolValue(_))))
                    | ("IsMap", Value::Any(Some(Proto::KvlistValue(_))))
                    | ("IsList", Value::Any(Some(Proto::ArrayValue(_))))
            )),
            Self::HasPrefix(text, prefix) => match (text.eval(sight)?, prefix.eval(sight)?) {
                (
                    Value::Any(Some(Proto::StringValue(text))),
                    Value::Any(Some(Proto::StringValue(prefix))),
                ) => Ok(text.starts_with(&prefix)),
                _ => Err(()),
            },
        }
    }
}

fn fold(parts: &[Test], decisive: bool) -> Option<bool> {
    let values: Vec<_> = parts.iter().map(Test::constant).collect();
    if values.contains(&Some(decisive)) {
        return Some(decisive);
    }
    values.iter().all(Option::is_some).then_some(!decisive)
}

impl Node {
    fn literal(&self) -> Option<Value> {
        Some(Value::Any(match self {
            Self::Nil => None,
            Self::Bool(value) => Some(Proto::BoolValue(*value)),
            Self::Int(value) => Some(Proto::IntValue(*value)),
            Self::Double(value) => Some(Proto::DoubleValue(*value)),
            Self::Text(text) => Some(Proto::StringValue(text.clone())),
            Self::Bytes(bytes) => Some(Proto::BytesValue(bytes.clone())),
            _ => return None,
        }))
    }

    fn eval(&self, sight: &Sight) -> Answer<Value> {
        if let Some(value) = self.literal() {
            return Ok(value);
        }
        match self {
            Self::Path(path) => Ok(read(path, sight)),
            Self::Attribute(home, keys) => {
                let attributes = match *home {
                    "span" => &sight.span.attributes,
                    "resource" => &sight.resource.attributes,
                    _ => &sight.scope.attributes,
                };
                inside(attributes, keys).map(Value::Any)
            }
            Self::Math(left, operator, right) => {
                let left = left.eval(sight)?;
                math(left, *operator, right.eval(sight)?)
            }
            Self::Len(node) => {
                let length = match node.eval(sight)? {
                    Value::Any(Some(Proto::StringValue(text))) => text.len(),
                    Value::Any(Some(Proto::BytesValue(bytes))) => bytes.len(),
                    Value::Any(Some(Proto::ArrayValue(list))) => list.values.len(),
                    Value::Any(Some(Proto::KvlistValue(map))) => map.values.len(),
                    _ => return Err(()),
                };
                Ok(int(i64::try_from(length).unwrap()))
            }
            Self::Int64(node) => match node.eval(sight)? {
                Value::Any(None) => Ok(Value::Any(None)),
                Value::Any(Some(Proto::IntValue(value))) => Ok(int(value)),
                Value::Any(Some(Proto::BoolValue(value))) => Ok(int(i64::from(value))),
                Value::Any(Some(Proto::DoubleValue(value))) => Ok(int(value as i64)),
                Value::Any(Some(Proto::StringValue(text))) => text.parse().map(int).map_err(|_| ()),
                _ => Err(()),
            },
            Self::Text64(node) => Ok(Value::Any(match node.eval(sight)? {
                Value::Any(None) => None,
                Value::Any(Some(Proto::StringValue(text))) => Some(Proto::StringValue(text)),
                Value::Any(Some(Proto::IntValue(value))) => {
                    Some(Proto::StringValue(value.to_string()))
                }
                Value::Any(Some(Proto::BoolValue(value))) => {
                    Some(Proto::StringValue(value.to_string()))
                }
                // What the generator does not ask for.
                _ => return Err(()),
            })),
            _ => unreachable!("literals are done"),
        }
    }
}

fn int(value: i64) -> Value {
    Value::Any(Some(Proto::IntValue(value)))
}

fn text(text: &str) -> Value {
    Value::Any(Some(Proto::StringValue(text.into())))
}

fn read(path: &str, sight: &Sight) -> Value {
    let span = &sight.span;
    let status = span.status.clone().unwrap_or_default();
    let id = |bytes: &[u8], length: usize| {
        if bytes.is_empty() {
            vec![0; length]
        } else {
            bytes.to_vec()
        }
    };
    let hex = |bytes: Vec<u8>| {
        text(
            &bytes
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>(),
        )
    };
    match path {
        "name" => text(&span.name),
        "kind" => int(i64::from(span.kind)),
        "kind.string" => text(match span.kind {
            0 => "Unspecified",
            1 => "Internal",
            2 => "Server",
            3 => "Client",
            4 => "Producer",
            5 => "Consumer",
            _ => "",
        }),
        "status.code" => int(i64::from(status.code)),
        "status.message" => text(&status.message),
        "start_time_unix_nano" => int(span.start_time_unix_nano as i64),
        "end_time_unix_nano" => int(span.end_time_unix_nano as i64),
        "flags" => int(i64::from(span.flags)),
        "trace_state" => text(&span.trace_state),
        "dropped_attributes_count" => int(i64::from(span.dropped_attributes_count)),
        "trace_id" => Value::Id(id(&span.trace_id, 16)),
        "span_id" => Value::Id(id(&span.span_id, 8)),
        "parent_span_id" => Value::Id(id(&span.parent_span_id, 8)),
        "parent_span_id.string" => hex(id(&span.parent_span_id, 8)),
        "trace_id.string" => hex(id(&span.trace_id, 16)),
        "scope.name" => text(&sight.scope.name),
        "resource.dropped_attributes_count" => {
            int(i64::from(sight.resource.dropped_attributes_count))
        }
        other => panic!("{other}"),
    }
}

fn inner(value: Option<&AnyValue>) -> Option<Proto> {
    value.and_then(|value| value.value.clone())
}

fn inside(attributes: &[KeyValue], keys: &[Key]) -> Answer<Option<Proto>> {
    let get = |pairs: &[KeyValue], name: &str| {
        pairs
            .iter()
            .find(|pair| pair.key == name)
            .map(|pair| inner(pair.value.as_ref()))
    };
    let Key::Name(first) = &keys[0] else {
        return Err(());
    };
    let Some(mut value) = get(attributes, first) else {
        return Ok(None);
    };
    for key in &keys[1..] {
        value = match (value, key) {
            (Some(Proto::KvlistValue(map)), Key::Name(name)) => match get(&map.values, name) {
                Some(value) => value,
                None => return Ok(None),
            },
            (Some(Proto::ArrayValue(list)), Key::Index(index)) => {
                let index = usize::try_from(*index).map_err(|_| ())?;
                inner(Some(list.values.get(index).ok_or(())?))
            }
            _ => return Err(()),
        };
    }
    Ok(value)
}

fn math(left: Value, operator: char, right: Value) -> Answer<Value> {
    let (Value::Any(Some(left)), Value::Any(Some(right))) = (left, right) else {
        return Err(());
    };
    let double = |value: &Proto| match value {
        Proto::IntValue(value) => Ok(*value as f64),
        Proto::DoubleValue(value) => Ok(*value),
        _ => Err(()),
    };
    if let (Proto::IntValue(a), Proto::IntValue(b)) = (&left, &right) {
        return Ok(int(match operator {
            '+' => a.wrapping_add(*b),
            '-' => a.wrapping_sub(*b),
            '*' => a.wrapping_mul(*b),
            _ if *b == 0 => return Err(()),
            _ => a.wrapping_div(*b),
        }));
    }
    let (a, b) = (double(&left)?, double(&right)?);
    Ok(Value::Any(Some(Proto::DoubleValue(match operator {
        '+' => a + b,
        '-' => a - b,
        '*' => a * b,
        _ if b == 0.0 => return Err(()),
        _ => a / b,
    }))))
}

fn compare(left: &Value, operator: &str, right: &Value) -> bool {
    let order = match (left, right) {
        (Value::Id(a), Value::Id(b)) => {
            return match operator {
                "==" => a == b,
                "!=" => a != b,
                _ => false,
            };
        }
        (Value::Any(a), Value::Any(b)) => order(a.as_ref(), b.as_ref()),
        _ => None,
    };
    match (operator, order) {
        ("!=", Some(Order::Sorted(order))) => order != Some(Ordering::Equal),
        ("!=", Some(Order::Same(same))) => !same,
        ("!=", None) => true,
        (_, None) => false,
        ("==", Some(Order::Same(same))) => same,
        (_, Some(Order::Same(_))) => false,
        ("==", Some(Order::Sorted(order))) => order == Some(Ordering::Equal),
        ("<", Some(Order::Sorted(order))) => order == Some(Ordering::Less),
        (">", Some(Order::Sorted(order))) => order == Some(Ordering::Greater),
        ("<=", Some(Order::Sorted(order))) => order.is_some_and(Ordering::is_le),
        (_, Some(Order::Sorted(order))) => order.is_some_and(Ordering::is_ge),
    }
}

enum Order {
    Sorted(Option<Ordering>),
    Same(bool),
}

fn order(left: Option<&Proto>, right: Option<&Proto>) -> Option<Order> {
    use Proto::{
        ArrayValue, BoolValue, BytesValue, DoubleValue, IntValue, KvlistValue, StringValue,
    };
    let full = |value: &&Proto| !matches!(value, BytesValue(bytes) if bytes.is_empty());
    Some(match (left.filter(full), right.filter(full)) {
        (None, None) => Order::Sorted(Some(Ordering::Equal)),
        (Some(BoolValue(a)), Some(BoolValue(b))) => Order::Sorted(Some(a.cmp(b))),
        (Some(IntValue(a)), Some(IntValue(b))) => Order::Sorted(Some(a.cmp(b))),
        (Some(IntValue(a)), Some(DoubleValue(b))) => Order::Sorted((*a as f64).partial_cmp(b)),
        (Some(DoubleValue(a)), Some(IntValue(b))) => Order::Sorted(a.partial_cmp(&(*b as f64))),
        (Some(DoubleValue(a)), Some(DoubleValue(b))) => Order::Sorted(a.partial_cmp(b)),
        (Some(StringValue(a)), Some(StringValue(b))) => Order::Sorted(Some(a.cmp(b))),
        (Some(BytesValue(a)), Some(BytesValue(b))) => Order::Sorted(Some(a.cmp(b))),
        (Some(ArrayValue(a)), Some(ArrayValue(b))) => Order::Same(same_lists(&a.values, &b.values)),
        (Some(KvlistValue(a)), Some(KvlistValue(b))) => {
            Order::Same(same_maps(&a.values, &b.values))
        }
        _ => return None,
    })
}

fn same_lists(a: &[AnyValue], b: &[AnyValue]) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| same(&inner(Some(a)), &inner(Some(b))))
}

fn same_maps(a: &[KeyValue], b: &[KeyValue]) -> bool {
    let get = |pair: &KeyValue| {
        b.iter()
            .find(|other| other.key == pair.key)
            .map(|other| inner(other.value.as_ref()))
    };
    a.len() == b.len()
        && a.iter()
            .all(|pair| get(pair).is_some_and(|value| same(&inner(pair.value.as_ref()), &value)))
}

fn same(a: &Option<Proto>, b: &Option<Proto>) -> bool {
    match (a, b) {
        (Some(Proto::ArrayValue(a)), Some(Proto::ArrayValue(b))) => {
            same_lists(&a.values, &b.values)
        }
        (Some(Proto::KvlistValue(a)), Some(Proto::KvlistValue(b))) => {
            same_maps(&a.values, &b.values)
        }
        (a, b) => a == b,
    }
}
