//! A value of any type, as it stands in the file.

use super::super::item::Item;
use super::super::node::{Node, Value};
use crate::processors::Literal;

/// Deeper than anyone writes, and less than what readers of OTLP take (30).
const MAX_DEPTH: u32 = 16;

pub(super) fn decode(item: &Item<'_>) -> Option<Literal> {
    literal(item, item.node, 0)
}

fn literal(item: &Item<'_>, node: &Node, depth: u32) -> Option<Literal> {
    if depth > MAX_DEPTH {
        item.error("the value is nested too deep");
        return None;
    }
    Some(match &node.value {
        Value::Null => Literal::Empty,
        Value::Bool(flag) => Literal::Flag(*flag),
        Value::Int(value) => match i64::try_from(*value) {
            Ok(value) => Literal::Int(value),
            Err(_) => {
                item.error("out of range: an int has 64 bits");
                return None;
            }
        },
        Value::Float(value) => Literal::Double(*value),
        Value::Str(text) => Literal::Text(text.clone()),
        Value::Seq(items) => {
            let items = items.iter().map(|node| literal(item, node, depth + 1));
            Literal::List(items.collect::<Option<_>>()?)
        }
        Value::Map(entries) => {
            let pairs = entries.iter().map(|entry| {
                let value = literal(item, &entry.node, depth + 1)?;
                Some((entry.key.clone(), value))
            });
            Literal::Map(pairs.collect::<Option<_>>()?)
        }
        Value::Faulty => return None,
    })
}
