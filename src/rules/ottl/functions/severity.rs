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

/// The Collector starts with a broken mapping and fails at every span; here it is refused.
pub(super) fn prepare(call: &mut Call) -> Result<(), String> {
    let Some(Value::Map(mapping)) = call.literal(1) else {
        return Err("the mapping must be a literal map".into());
    };
    let entries = mapping.entries().map_err(|error| error.to_string())?;
    let mut levels = Levels::new();
    for (name, criteria) in entries.iter() {
        let Value::List(list) = criteria else {
            return Err("a level's criteria are a list of maps".into());
        };
        let items = list.items().map_err(|error| error.to_string())?;
        let criteria: Result<Vec<_>, String> = items.iter().map(criterion).collect();
        levels.push((name.to_vec(), criteria?));
    }
    call.prepared = Prepared::Severities(levels);
    Ok(())
}

fn criterion(item: &Value<'_>) -> Result<Criterion, String> {
    let Value::Map(map) = item else {
        return Err("a level's criteria are a list of maps".into());
    };
    let part = |name: &str| map.get(name.as_bytes()).map_err(|error| error.to_string());
    let equals = match part("equals")? {
        None => Vec::new(),
        Some(Value::List(list)) => {
            let items = list.items().map_err(|error| error.to_string())?;
            let texts: Option<Vec<_>> = items
                .iter()
                .map(|item| match item {
                    Value::Text(text) => Some(text.to_vec()),
                    _ => None,
                })
                .collect();
            texts.ok_or("`equals` holds texts")?
        }
        Some(_) => return Err("`equals` is a list".into()),
    };
    let range = match part("range")? {
        None => None,
        Some(Value::Map(range)) => Some((bound(&range, "min")?, bound(&range, "max")?)),
        Some(Value::Text(class)) => Some(match &*class {
            b"2xx" => (200, 299),
            b"3xx" => (300, 399),
            b"4xx" => (400, 499),
            b"5xx" => (500, 599),
            _ => return Err("a range is 2xx, 3xx, 4xx, 5xx or a map with min and max".into()),
        }),
        Some(_) => return Err("a range is 2xx, 3xx, 4xx, 5xx or a map with min and max".into()),
    };
    Ok(Criterion { equals, range })
}

fn bound(range: &Map<'_>, name: &str) -> Result<i64, String> {
    match range.get(name.as_bytes()) {
        Ok(Some(Value::Int(value))) => Ok(value),
        _ => Err(format!("a range needs an int `{name}`")),
    }
}

pub(super) fn parse<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let value = call.value(scene, 0)?;
    let Prepared::Severities(levels) = &call.prepared else {
        return Err(EvalError::Invalid("a severity mapping is missing"));
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
