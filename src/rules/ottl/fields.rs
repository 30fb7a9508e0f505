//! Reads what a path stands for. Field numbers are those of OTLP's `trace.proto`, `resource.proto` and `common.proto`.

use super::error::EvalError;
use super::evaluate::Scene;
use super::expression::Key;
use super::index;
use super::paths::{Context, Field};
use super::time::Time;
use super::trace_state;
use super::value::{Id, Map, Out, Value, Whole};
use super::view::SpanView;
use super::wire;
use std::borrow::Cow;

/// The message that holds a context's attributes, and their field.
#[inline]
pub(super) fn attributes<'a>(view: &SpanView<'a>, context: Context) -> (&'a [u8], u32) {
    match context {
        Context::Resource => (view.resource, 1),
        Context::Scope => (view.scope, 3),
        Context::Span => (view.span, 9),
        Context::SpanEvent => (view.event, 3),
    }
}

fn dropped(view: &SpanView<'_>, context: Context) -> Result<u32, EvalError> {
    match context {
        Context::Resource => wire::varint32(view.resource, 2),
        Context::Scope => wire::varint32(view.scope, 4),
        Context::Span => wire::varint32(view.span, 10),
        Context::SpanEvent => wire::varint32(view.event, 4),
    }
}

#[allow(clippy::too_many_lines, reason = "a table of fields")]
pub(super) fn read<'a>(scene: &Scene<'a>, field: Field, keys: &'a [Key]) -> Out<'a> {
    let view = &scene.view;
    let text = |bytes: &'a [u8]| Value::Text(Cow::Borrowed(bytes));
    let number = |value: u32| Value::Int(i64::from(value));
    let nanos = |message, field| wire::fixed64(message, field).map(u64::cast_signed);
    let time = |message, field| Ok(Value::Time(Time::of_nanos(nanos(message, field)?)));
    Ok(match field {
        Field::Attributes(context) => {
            let (message, field) = attributes(view, context);
            return index::of_attributes(scene, &Map::Wire(message, field), keys);
        }
        Field::Cache => {
            return match Value::map(Vec::new(), false) {
                Value::Map(empty) => index::of_attributes(scene, &empty, keys),
                other => Ok(other),
            };
        }
        Field::TraceState => return trace_state(scene, keys),
        Field::Dropped(context) => number(dropped(view, context)?),
        Field::SchemaUrl(Context::Resource) => text(view.resource_schema_url),
        Field::SchemaUrl(_) => text(view.scope_schema_url),
        Field::ScopeName => text(wire::bytes(view.scope, 1)?),
        Field::ScopeVersion => text(wire::bytes(view.scope, 2)?),
        Field::TraceId => Value::Id(Id::Trace(id(view.span, 1)?)),
        Field::TraceIdText => Value::text(super::functions::hex(&id::<16>(view.span, 1)?)),
        Field::SpanId => Value::Id(Id::Span(id(view.span, 2)?)),
        Field::SpanIdText => Value::text(super::functions::hex(&id::<8>(view.span, 2)?)),
        Field::Parent => Value::Id(Id::Span(id(view.span, 4)?)),
        Field::ParentText => Value::text(super::functions::hex(&id::<8>(view.span, 4)?)),
        Field::Name => text(wire::bytes(view.span, 5)?),
        Field::Kind => Value::Int(i64::from(wire::varint32(view.span, 6)?.cast_signed())),
        Field::KindText => text(kind(view, 0)?),
        Field::KindConstant => text(kind(view, 1)?),
        Field::Start => return time(view.span, 7),
        Field::StartNano => Value::Int(nanos(view.span, 7)?),
        Field::End => return time(view.span, 8),
        Field::EndNano => Value::Int(nanos(view.span, 8)?),
        Field::Events => Value::Whole(Whole::Events(wire::count(view.span, 11)?)),
        Field::DroppedEvents => number(wire::varint32(view.span, 12)?),
        Field::Links => Value::Whole(Whole::Links(wire::count(view.span, 13)?)),
        Field::DroppedLinks => number(wire::varint32(view.span, 14)?),
        Field::Status => Value::Whole(Whole::Status),
        Field::StatusCode => Value::Int(i64::from(status(view)?.0.cast_signed())),
        Field::StatusMessage => text(status(view)?.1),
        Field::Flags => number(wire::fixed32(view.span, 16)?),
        Field::EventName => text(wire::bytes(view.event, 2)?),
        Field::EventTime => return time(view.event, 1),
        Field::EventTimeNano => Value::Int(nanos(view.event, 1)?),
        Field::EventIndex => return Err(EvalError::NotSet),
    })
}

/// An id; zeros where there is none.
pub(super) fn id<const N: usize>(message: &[u8], field: u32) -> Result<[u8; N], EvalError> {
    let bytes = wire::bytes(message, field)?;
    if bytes.is_empty() {
        return Ok([0; N]);
    }
    bytes.try_into().map_err(|_| EvalError::Wire)
}

fn kind(view: &SpanView<'_>, column: usize) -> Result<&'static [u8], EvalError> {
    const NAMES: [[&[u8]; 2]; 6] = [
        [b"Unspecified", b"SPAN_KIND_UNSPECIFIED"],
        [b"Internal", b"SPAN_KIND_INTERNAL"],
        [b"Server", b"SPAN_KIND_SERVER"],
        [b"Client", b"SPAN_KIND_CLIENT"],
        [b"Producer", b"SPAN_KIND_PRODUCER"],
        [b"Consumer", b"SPAN_KIND_CONSUMER"],
    ];
    let kind = wire::varint32(view.span, 6)?;
    let names = usize::try_from(kind).ok().and_then(|kind| NAMES.get(kind));
    Ok(names
        .and_then(|names| names.get(column))
        .copied()
        .unwrap_or_default())
}

/// Code and message; repeated `Status` messages merge.
fn status<'a>(view: &SpanView<'a>) -> Result<(u32, &'a [u8]), EvalError> {
    let (mut code, mut text): (u32, &[u8]) = (0, &[]);
    wire::each(view.span, 15, |value| {
        let message = value.bytes().map_err(|_| EvalError::Wire)?;
        if wire::count(message, 3)? > 0 {
            code = wire::varint32(message, 3)?;
        }
        if wire::count(message, 2)? > 0 {
            text = wire::bytes(message, 2)?;
        }
        Ok(true)
    })?;
    Ok((code, text))
}

/// The whole text, or the value of one key: empty when it is missing, nil when the text is not W3C's.
fn trace_state<'a>(scene: &Scene<'a>, keys: &'a [Key]) -> Out<'a> {
    let text = wire::bytes(scene.view.span, 3)?;
    let Some(key) = keys.first() else {
        return Ok(Value::Text(Cow::Borrowed(text)));
    };
    let Some(members) = trace_state::members(text) else {
        return Ok(Value::Nil);
    };
    let Key::Text(key) = key else {
        return Err(EvalError::Invalid(
            "a key of `trace_state` is a text in quotes",
        ));
    };
    let value = members.iter().find(|(name, _)| *name == &**key);
    Ok(Value::Text(Cow::Borrowed(
        value.map_or(&[], |(_, value)| value),
    )))
}
