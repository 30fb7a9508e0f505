//! Functions on lists and maps.

use super::super::compare::equal;
use super::super::convert;
use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::Call;
use super::super::value::{ListKind, Map, Out, Value};
use super::entries::Entries;
use memchr::memmem;
use std::borrow::Cow;

pub(super) fn prepare_coalesce(call: &mut Call) -> Result<(), String> {
    if call.exprs(0).is_empty() {
        return Err("it needs at least one value".into());
    }
    Ok(())
}

/// The first that is not nil.
pub(super) fn coalesce<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    for expr in call.exprs(0) {
        match expr.eval(scene)? {
            Value::Nil => {}
            value => return Ok(value),
        }
    }
    Ok(Value::Nil)
}

pub(super) fn contains<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let (list, wanted) = (call.list(scene, 0)?, call.value(scene, 1)?);
    for item in list.items()?.iter() {
        if equal(item, &wanted)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

/// Where a text or an item begins; -1 when it is not there.
pub(super) fn index<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let (target, wanted) = (call.value(scene, 0)?, call.value(scene, 1)?);
    let place = match &target {
        Value::Text(text) => memmem::find(text, &convert::text(&wanted)?),
        other => {
            let mut place = None;
            for (at, item) in convert::list(other)?.items()?.iter().enumerate() {
                if equal(item, &wanted)? {
                    place = Some(at);
                    break;
                }
            }
            place
        }
    };
    let place = place.and_then(|at| i64::try_from(at).ok());
    Ok(Value::Int(place.unwrap_or(-1)))
}

pub(super) fn keys<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let entries = call.map(scene, 0)?.entries()?;
    let keys = entries.iter().map(|(key, _)| Value::Text(key.clone()));
    Ok(Value::list(keys.collect(), ListKind::Plain))
}

pub(super) fn values<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let entries = call.map(scene, 0)?.entries()?;
    let values = entries.iter().map(|(_, value)| value.clone());
    Ok(Value::list(values.collect(), ListKind::Plain))
}

/// A map of a list's items, by their place or by a key inside them; of a repeated key the last counts.
pub(super) fn slice_to_map<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let items = call.list(scene, 0)?.items()?;
    let (key_path, value_path) = (call.literal_texts(1), call.literal_texts(2));
    let mut entries = Entries::default();
    for (place, item) in items.iter().enumerate() {
        let map = match item {
            Value::Map(map) => Some(map),
            _ if call.has(1) || call.has(2) => return Err(item.wrong("a map")),
            _ => None,
        };
        let at = |path: &[&[u8]]| map.map_or(Err(EvalError::NoSuchKey), |map| inside(map, path));
        let key = match call.has(1) {
            true => convert::text(&at(&key_path)?)?,
            false => Cow::Owned(place.to_string().into_bytes()),
        };
        let value = match call.has(2) {
            true => at(&value_path)?,
            false => item.clone(),
        };
        entries.put(key, value);
    }
    Ok(entries.into_map(false))
}

fn inside<'a>(map: &Map<'a>, path: &[&[u8]]) -> Out<'a> {
    let (first, rest) = path.split_first().ok_or(EvalError::NoSuchKey)?;
    let value = map.get(first)?.ok_or(EvalError::NoSuchKey)?;
    match (&value, rest.is_empty()) {
        (_, true) => Ok(value),
        (Value::Map(map), false) => inside(map, rest),
        _ => Err(EvalError::NoSuchKey),
    }
}
