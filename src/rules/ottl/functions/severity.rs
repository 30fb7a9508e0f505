//! `ParseSeverity`: which level's criteria take a value. The mapping is a literal.
//!
//! Where several levels take a value the Collector picks one at random; here the first in the mapping does.

use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::Call;
use super::super::value::{Map, Out, Value};
use super::Prepared;

/// Levels in the order of the mapping.
pub(in super::super) type Levels = Vec<(Vec<u8>, Vec<Criterion>)>;

pub(in super::super) struct Criterion {
    equals: Vec<Vec<u8>>,
    range: Option<(i64, i64)>,
}

/// A broken mapping is no error at load but one at every evaluation, as in the Collector.
pub(super) fn prepare(call: &mut Call) -> Result<(), String> {
    if let Some(levels) = call.literal(1).and_then(levels) {
        call.prepared = Prepared::Severities(levels);
    }
    Ok(())
}

fn levels(mapping: &Value<'_>) -> Option<Levels> {
    let Value::Map(mapping) = mapping else {
        return None;
    };
    let mut levels = Levels::new();
    for (name, criteria) in mapping.entries().ok()?.iter() {
        let Value::List(list) = criteria else {
            return None;
        };
        let criteria: Option<Vec<_>> = list.items().ok()?.iter().map(criterion).collect();
        levels.push((name.to_vec(), criteria?));
    }
    Some(levels)
}

fn criterion(item: &Value<'_>) -> Option<Criterion> {
    let Value::Map(map) = item else {
        return None;
    };
    let equals = match map.get(b"equals").ok()? {
        None => Vec::new(),
        Some(Value::List(list)) => {
            let items = list.items().ok()?;
            let texts: Option<Vec<_>> = items
                .iter()
                .map(|item| match item {
                    Value::Text(text) => Some(text.to_vec()),
                    _ => None,
                })
                .collect();
            texts?
        }
        Some(_) => return None,
    };
    let range = match map.get(b"range").ok()? {
        None => None,
        Some(Value::Map(range)) => Some((bound(&range, b"min")?, bound(&range, b"max")?)),
        Some(Value::Text(class)) => Some(match &*class {
            b"2xx" => (200, 299),
            b"3xx" => (300, 399),
            b"4xx" => (400, 499),
            b"5xx" => (500, 599),
            _ => return None,
        }),
        Some(_) => return None,
    };
    Some(Criterion { equals, range })
}

fn bound(range: &Map<'_>, name: &[u8]) -> Option<i64> {
    match range.get(name) {
        Ok(Some(Value::Int(value))) => Some(value),
        _ => None,
    }
}

pub(super) fn parse<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let value = call.value(scene, 0)?;
    let Prepared::Severities(levels) = &call.prepared else {
        return Err(EvalError::Invalid(
            "a severity mapping is no literal map of lists of criteria",
        ));
    };
    for (name, criteria) in levels {
        for criterion in criteria {
            let takes = match &value {
                Value::Text(text) => criterion.equals.iter().any(|known| **known == **text),
                Value::Int(value) => criterion
                    .range
                    .is_some_and(|(min, max)| (min..=max).contains(value)),
                other => return Err(other.wrong("a string or an int")),
            };
            if takes {
                return Ok(Value::text(name.clone()));
            }
        }
    }
    Err(EvalError::Invalid("no level takes this severity"))
}
