//! Functions that run a lambda over a list or a map. In a list the first parameter is the place, in a map the key.
//!
//! The Collector has them behind the gate `ottl.functions.enableLambda`; here they always work.

use super::super::convert;
use super::super::error::EvalError;
use super::super::evaluate::{Scene, checked};
use super::super::expression::{Call, Lambda};
use super::super::value::{Entries as Pairs, Items, ListKind, Out, Value};
use super::entries::Entries;

/// What a lambda runs over.
enum Source<'a> {
    Items(Items<'a>),
    Entries(Pairs<'a>),
}

impl<'a> Source<'a> {
    fn of(value: &Value<'a>) -> Result<Self, EvalError> {
        match value {
            Value::Map(_) => Ok(Self::Entries(convert::map(value)?.entries()?)),
            Value::List(_) => Ok(Self::Items(convert::list(value)?.items()?)),
            other => Err(other.wrong("a list or a map")),
        }
    }

    /// Calls `each` with key and value until it says stop.
    fn each(
        &self,
        mut each: impl FnMut(Value<'a>, &Value<'a>) -> Result<bool, EvalError>,
    ) -> Result<(), EvalError> {
        match self {
            Self::Items(items) => {
                for (place, item) in (0_i64..).zip(items.iter()) {
                    if !each(Value::Int(place), item)? {
                        break;
                    }
                }
            }
            Self::Entries(entries) => {
                for (key, value) in entries.iter() {
                    if !each(Value::Text(key.clone()), value)? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

fn holds<'a>(
    scene: &Scene<'a>,
    lambda: &'a Lambda,
    key: Value<'a>,
    value: &Value<'a>,
) -> Result<bool, EvalError> {
    convert::bool(&lambda.eval(scene, [key, value.clone()])?)
}

/// The result of a lambda that must have one: nil is an error, as in the Collector.
fn given<'a, const N: usize>(
    scene: &Scene<'a>,
    lambda: &'a Lambda,
    arguments: [Value<'a>; N],
) -> Out<'a> {
    match lambda.eval(scene, arguments)? {
        Value::Nil => Err(Value::Nil.wrong("a lambda's result")),
        value => Ok(value),
    }
}

/// Whether any item answers as `wanted`.
fn some<'a>(scene: &Scene<'a>, call: &'a Call, wanted: bool) -> Result<bool, EvalError> {
    let lambda = call.lambda(1)?;
    let mut found = false;
    Source::of(&call.value(scene, 0)?)?.each(|key, value| {
        found = holds(scene, lambda, key, value)? == wanted;
        Ok(!found)
    })?;
    Ok(found)
}

pub(super) fn all<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    some(scene, call, false).map(|found| Value::Bool(!found))
}

pub(super) fn any<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    some(scene, call, true).map(Value::Bool)
}

/// Builds a list or a map, as the source is one, of what `map` gives.
fn built<'a>(
    source: &Source<'a>,
    mut map: impl FnMut(Value<'a>, &Value<'a>) -> Result<Option<Value<'a>>, EvalError>,
) -> Out<'a> {
    let (mut items, mut entries) = (Vec::new(), Vec::new());
    source.each(|key, value| {
        if let Some(result) = map(key.clone(), value)? {
            match key {
                Value::Text(key) => entries.push((key, result)),
                _ => items.push(result),
            }
        }
        Ok(true)
    })?;
    checked(match source {
        Source::Items(_) => Value::list(items, ListKind::Plain),
        Source::Entries(_) => Value::map(entries, false),
    })
}

pub(super) fn filter<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let lambda = call.lambda(1)?;
    built(&Source::of(&call.value(scene, 0)?)?, |key, value| {
        Ok(holds(scene, lambda, key, value)?.then(|| value.clone()))
    })
}

pub(super) fn map_each<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let lambda = call.lambda(1)?;
    built(&Source::of(&call.value(scene, 0)?)?, |key, value| {
        let result = given(scene, lambda, [key, value.clone()])?;
        convert::stored(&result).map(Some)
    })
}

/// Of keys that become the same the last value counts.
pub(super) fn map_keys<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let lambda = call.lambda(1)?;
    let mut entries = Entries::default();
    for (key, value) in call.map(scene, 0)?.entries()?.iter() {
        let key = Value::Text(key.clone());
        let key = convert::text(&lambda.eval(scene, [key, value.clone()])?)?;
        entries.put(key, value.clone());
    }
    Ok(entries.into_map(false))
}

/// The first item that the predicate takes, as it is or through the mapper; nil when there is none.
pub(super) fn find<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let lambda = call.lambda(1)?;
    let mut found = Value::Nil;
    Source::of(&call.value(scene, 0)?)?.each(|key, value| {
        if !holds(scene, lambda, key.clone(), value)? {
            return Ok(true);
        }
        found = if call.has(2) {
            given(scene, call.lambda(2)?, [key, value.clone()])?
        } else {
            value.clone()
        };
        Ok(false)
    })?;
    Ok(found)
}

pub(super) fn reduce<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let lambda = call.lambda(2)?;
    let source = Source::of(&call.value(scene, 0)?)?;
    let mut result = call.value(scene, 1)?;
    source.each(|key, value| {
        let before = std::mem::replace(&mut result, Value::Nil);
        result = given(scene, lambda, [before, key, value.clone()])?;
        Ok(true)
    })?;
    Ok(result)
}

pub(super) fn when<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let condition = call.lambda(0)?.eval::<0>(scene, [])?;
    let chosen = if convert::bool(&condition)? { 1 } else { 2 };
    call.value(scene, chosen)
}
