//! Comparison across kinds.
//!
//! Numbers compare as numbers, texts and bytes by bytes, `false < true`. Whatever else differs in kind is unequal and in no
//! order; that is never an error. nil equals nil, and empty bytes are nil too (they are a nil slice in the Collector).

use super::error::EvalError;
use super::lexer::Comparison;
use super::value::{List, ListKind, Map, Value};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

type Answer = Result<bool, EvalError>;

pub(super) fn compare(left: &Value<'_>, right: &Value<'_>, operator: Comparison) -> Answer {
    use Value::{Bool, Bytes, Double, Duration, Id, Int, List, Map, Nil, Port, Text, Time, Whole};
    let empty = |value: &Value<'_>| matches!(value, Bytes(bytes) if bytes.is_empty());
    let ordered = |ordering| Ok(holds(operator, Some(ordering)));
    match (left, right) {
        (Nil, Nil) => ordered(Ordering::Equal),
        _ if empty(left) => compare(&Nil, right, operator),
        _ if empty(right) => compare(left, &Nil, operator),
        (Bool(a), Bool(b)) => ordered(a.cmp(b)),
        (Int(a), Int(b)) | (Duration(a), Duration(b)) => ordered(a.cmp(b)),
        (Int(a), Double(b)) => Ok(holds_double(operator, as_double(*a), *b)),
        (Double(a), Int(b)) => Ok(holds_double(operator, *a, as_double(*b))),
        (Double(a), Double(b)) => Ok(holds_double(operator, *a, *b)),
        (Text(a), Text(b)) | (Bytes(a), Bytes(b)) => ordered(a.cmp(b)),
        (Time(a), Time(b)) => ordered(a.instant().cmp(&b.instant())),
        (Map(a), Map(b)) => equality(operator, || equal_maps(a, b)),
        (List(a), List(b)) => equality(operator, || equal_lists(a, b)),
        (Id(a), Id(b)) => equality(operator, || Ok(a == b)),
        (Whole(a), Whole(b)) => equality(operator, || Ok(a == b)),
        (Port(a), Port(b)) => equality(operator, || Ok(a == b)),
        _ => Ok(operator == Comparison::Ne),
    }
}

/// Equality by the rules of comparison, for functions that look for a value.
pub(super) fn equal(left: &Value<'_>, right: &Value<'_>) -> Answer {
    compare(left, right, Comparison::Eq)
}

fn holds(operator: Comparison, ordering: Option<Ordering>) -> bool {
    match operator {
        Comparison::Eq => ordering == Some(Ordering::Equal),
        Comparison::Ne => ordering != Some(Ordering::Equal),
        Comparison::Lt => ordering == Some(Ordering::Less),
        Comparison::Le => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
        Comparison::Ge => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
        Comparison::Gt => ordering == Some(Ordering::Greater),
    }
}

fn holds_double(operator: Comparison, left: f64, right: f64) -> bool {
    holds(operator, left.partial_cmp(&right))
}

/// Go's conversion, which rounds as this does.
#[allow(
    clippy::cast_precision_loss,
    reason = "the rounding is part of the rule"
)]
pub(super) fn as_double(value: i64) -> f64 {
    value as f64
}

fn equality(operator: Comparison, equal: impl FnOnce() -> Answer) -> Answer {
    match operator {
        Comparison::Eq => equal(),
        Comparison::Ne => equal().map(|equal| !equal),
        _ => Ok(false),
    }
}

fn equal_maps(left: &Map<'_>, right: &Map<'_>) -> Answer {
    match (left.is_raw(), right.is_raw()) {
        (false, false) => plain_maps(left, right),
        (left_raw, right_raw) => deep_maps(left, !left_raw, right, !right_raw),
    }
}

fn equal_lists(left: &List<'_>, right: &List<'_>) -> Answer {
    match (left.kind(), right.kind()) {
        (ListKind::Texts, ListKind::Texts) => Err(EvalError::Incomparable),
        (ListKind::Texts, _) | (_, ListKind::Texts) => Ok(false),
        (ListKind::Plain, ListKind::Plain) => plain_lists(left, right),
        (left_kind, right_kind) => deep_lists(
            left,
            left_kind == ListKind::Plain,
            right,
            right_kind == ListKind::Plain,
        ),
    }
}

/// The Collector's own maps: as many entries, and the first of each key equal.
fn plain_maps(left: &Map<'_>, right: &Map<'_>) -> Answer {
    if left.len()? != right.len()? {
        return Ok(false);
    }
    let (left, right) = (left.entries()?, right.entries()?);
    let mut firsts: HashMap<&[u8], &Value<'_>> = HashMap::with_capacity(right.len());
    for (key, value) in right.iter() {
        firsts.entry(key).or_insert(value);
    }
    for (key, value) in left.iter() {
        match firsts.get(&**key) {
            Some(other) if plain(value, other)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn plain_lists(left: &List<'_>, right: &List<'_>) -> Answer {
    pairwise(left, right, plain)
}

fn pairwise(
    left: &List<'_>,
    right: &List<'_>,
    same: impl Fn(&Value<'_>, &Value<'_>) -> Answer,
) -> Answer {
    let (left, right) = (left.items()?, right.items()?);
    if left.len() != right.len() {
        return Ok(false);
    }
    for (a, b) in left.iter().zip(right.iter()) {
        if !same(a, b)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The same kind and the same value.
fn plain(left: &Value<'_>, right: &Value<'_>) -> Answer {
    match (left, right) {
        (Value::Map(a), Value::Map(b)) => plain_maps(a, b),
        (Value::List(a), Value::List(b)) => plain_lists(a, b),
        _ => Ok(same_scalar(left, right)),
    }
}

fn same_scalar(left: &Value<'_>, right: &Value<'_>) -> bool {
    use Value::{Bool, Bytes, Double, Duration, Id, Int, Nil, Port, Text, Time, Whole};
    match (left, right) {
        (Nil, Nil) => true,
        (Bool(a), Bool(b)) => a == b,
        (Int(a), Int(b)) | (Duration(a), Duration(b)) | (Port(a), Port(b)) => a == b,
        (Double(a), Double(b)) => a == b,
        (Text(a), Text(b)) | (Bytes(a), Bytes(b)) => a == b,
        (Time(a), Time(b)) => a == b,
        (Id(a), Id(b)) => a == b,
        (Whole(a), Whole(b)) => a == b,
        _ => false,
    }
}

/// Go's deep equality of raw values; `unfold` says that the Collector's own containers were made Go's first.
fn deep(left: &Value<'_>, unfold_left: bool, right: &Value<'_>, unfold_right: bool) -> Answer {
    match (left, right) {
        (Value::Map(a), Value::Map(b)) => {
            let (raw_a, raw_b) = (unfold_left || a.is_raw(), unfold_right || b.is_raw());
            match (raw_a, raw_b) {
                (true, true) => deep_maps(a, unfold_left, b, unfold_right),
                (false, false) => plain_maps(a, b),
                _ => Ok(false),
            }
        }
        (Value::List(a), Value::List(b)) => {
            let kind = |list: &List<'_>, unfold| match list.kind() {
                ListKind::Plain if unfold => ListKind::Raw,
                kind => kind,
            };
            let (kind_a, kind_b) = (kind(a, unfold_left), kind(b, unfold_right));
            if kind_a != kind_b {
                return Ok(false);
            }
            match kind_a {
                ListKind::Plain => plain_lists(a, b),
                ListKind::Raw | ListKind::Texts => deep_lists(a, unfold_left, b, unfold_right),
            }
        }
        _ => Ok(same_scalar(left, right)),
    }
}

fn deep_lists(left: &List<'_>, unfold_left: bool, right: &List<'_>, unfold_right: bool) -> Answer {
    pairwise(left, right, |a, b| deep(a, unfold_left, b, unfold_right))
}

/// Of a repeated key the last value counts, as when the Collector makes a Go map of its own.
fn deep_maps(left: &Map<'_>, unfold_left: bool, right: &Map<'_>, unfold_right: bool) -> Answer {
    let (left, right) = (left.entries()?, right.entries()?);
    let left: BTreeMap<&[u8], &Value<'_>> =
        left.iter().map(|(key, value)| (&**key, value)).collect();
    let right: BTreeMap<&[u8], &Value<'_>> =
        right.iter().map(|(key, value)| (&**key, value)).collect();
    if left.len() != right.len() {
        return Ok(false);
    }
    for ((key, a), (other, b)) in left.iter().zip(right.iter()) {
        if key != other || !deep(a, unfold_left, b, unfold_right)? {
            return Ok(false);
        }
    }
    Ok(true)
}
