//! `Sort`: numbers by size, mixed scalars by their text; lists with anything else in them stay as they are.

use super::super::compare::as_double;
use super::super::convert;
use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::Call;
use super::super::json_text::item_text;
use super::super::value::{List, ListKind, Out, Value};
use std::cmp::Ordering;
use std::sync::Arc;

pub(super) fn prepare(call: &mut Call) -> Result<(), String> {
    match call.literal_str(1) {
        None | Some("asc" | "desc") => Ok(()),
        _ => Err("the order is asc or desc".into()),
    }
}

pub(super) fn sort<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let descending = call.literal_str(1) == Some("desc");
    let Value::List(list) = call.value(scene, 0)? else {
        return Err(call.value(scene, 0)?.wrong("a list"));
    };
    if list.kind() == ListKind::Texts {
        let mut items = Arc::unwrap_or_clone(list.items()?).into_items();
        items.sort_by(|a, b| directed(descending, by_text(a, b)));
        return Ok(Value::list(items, ListKind::Texts));
    }
    let list = convert::list(&Value::List(list))?;
    let items = list.items()?;
    match order_of(&items) {
        Some(order) if !items.is_empty() => sorted(&items, order, descending),
        _ => Ok(Value::List(List::Built(items, ListKind::Plain))),
    }
}

#[derive(Clone, Copy)]
enum Order {
    Ints,
    Numbers,
    Texts,
}

fn order_of(items: &[Value<'_>]) -> Option<Order> {
    let (mut ints, mut doubles, mut others) = (false, false, false);
    for item in items {
        match item {
            Value::Int(_) => ints = true,
            Value::Double(_) => doubles = true,
            Value::Text(_) | Value::Bool(_) | Value::Nil => others = true,
            _ => return None,
        }
    }
    Some(match (others, doubles, ints) {
        (true, ..) => Order::Texts,
        (_, true, _) => Order::Numbers,
        _ => Order::Ints,
    })
}

fn sorted<'a>(items: &[Value<'a>], order: Order, descending: bool) -> Out<'a> {
    let mut items = items.to_vec();
    match order {
        Order::Ints => items.sort_by(|a, b| directed(descending, by_int(a, b))),
        Order::Numbers => items.sort_by(|a, b| directed(descending, by_number(a, b))),
        Order::Texts => {
            let texts: Result<Vec<Vec<u8>>, EvalError> = items.iter().map(item_text).collect();
            let mut pairs: Vec<_> = texts?.into_iter().zip(items).collect();
            pairs.sort_by(|(a, _), (b, _)| directed(descending, a.cmp(b)));
            items = pairs.into_iter().map(|(_, item)| item).collect();
        }
    }
    Ok(Value::list(items, ListKind::Raw))
}

fn directed(descending: bool, order: Ordering) -> Ordering {
    if descending { order.reverse() } else { order }
}

fn by_text(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

fn by_int(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

/// What is no number comes first.
fn by_number(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    let number = |value: &Value<'_>| match value {
        Value::Int(value) => as_double(*value),
        Value::Double(value) => *value,
        _ => f64::NAN,
    };
    let (a, b) = (number(a), number(b));
    a.partial_cmp(&b)
        .unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}
