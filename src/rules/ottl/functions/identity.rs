//! Ids: sixteen or eight bytes, or twice as many hexadecimal digits.

use super::super::convert;
use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::Call;
use super::super::fields;
use super::super::value::{Id, Out, Value};
use super::Prepared;

pub(super) fn is_root<'a>(scene: &Scene<'a>, _: &'a Call) -> Out<'a> {
    Ok(Value::Bool(fields::id::<8>(scene.view.span, 4)? == [0; 8]))
}

fn id_of<const N: usize>(value: &Value<'_>) -> Result<[u8; N], EvalError> {
    let bytes = convert::bytes_like(value)?.unwrap_or_default();
    if let Ok(id) = <[u8; N]>::try_from(&*bytes) {
        return Ok(id);
    }
    let wrong = EvalError::Invalid("an id has another length, or digits that are not hexadecimal");
    let mut id = [0; N];
    if bytes.len() != 2 * N {
        return Err(wrong);
    }
    for (byte, pair) in id.iter_mut().zip(bytes.chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).map_err(|_| wrong)?;
        if pair.starts_with('+') {
            return Err(wrong);
        }
        *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong)?;
    }
    Ok(id)
}

/// A literal is turned into the id at load, and refused there.
fn prepare(call: &mut Call, of: fn(&Value<'_>) -> Result<Id, EvalError>) -> Result<(), String> {
    if let Some(value) = call.literal(0) {
        let id = of(value).map_err(|error| error.to_string())?;
        call.prepared = Prepared::Value(Value::Id(id));
    }
    Ok(())
}

fn id<'a>(
    scene: &Scene<'a>,
    call: &'a Call,
    of: fn(&Value<'_>) -> Result<Id, EvalError>,
) -> Out<'a> {
    match &call.prepared {
        Prepared::Value(value) => Ok(value.borrowed()),
        _ => of(&call.value(scene, 0)?).map(Value::Id),
    }
}

fn trace_of(value: &Value<'_>) -> Result<Id, EvalError> {
    id_of(value).map(Id::Trace)
}

fn span_of(value: &Value<'_>) -> Result<Id, EvalError> {
    id_of(value).map(Id::Span)
}

fn profile_of(value: &Value<'_>) -> Result<Id, EvalError> {
    id_of(value).map(Id::Profile)
}

pub(super) fn prepare_trace(call: &mut Call) -> Result<(), String> {
    prepare(call, trace_of)
}

pub(super) fn prepare_span(call: &mut Call) -> Result<(), String> {
    prepare(call, span_of)
}

pub(super) fn prepare_profile(call: &mut Call) -> Result<(), String> {
    prepare(call, profile_of)
}

pub(super) fn trace<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    id(scene, call, trace_of)
}

pub(super) fn span<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    id(scene, call, span_of)
}

pub(super) fn profile<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    id(scene, call, profile_of)
}
