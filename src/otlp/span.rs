//! One span: the fields that every rule may need, and its attributes shown to a visitor.

use super::TraceId;
use super::value::{AnyValue, key_value, plain_text};
use super::wire::{Cursor, WireError};

/// `Status.code` as OTLP numbers it.
pub const STATUS_ERROR: u32 = 2;

/// The fixed fields of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanHead {
    /// The trace that the span belongs to.
    pub trace: TraceId,
    /// The span's id, big-endian.
    pub span: u64,
    /// `start_time_unix_nano`.
    pub start: u64,
    /// `end_time_unix_nano`.
    pub end: u64,
    /// `Status.code`: 0 UNSET, 1 OK, 2 ERROR; other numbers as they came.
    pub status: u32,
    /// `kind`, as it came.
    pub kind: u32,
    /// `flags`.
    pub flags: u32,
    /// The parent id is empty or all zero.
    pub root: bool,
}

/// Where a sound span's bytes lie, and those around it that a condition may ask for.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpanBytes<'a> {
    /// The `Span` message.
    pub span: &'a [u8],
    /// `name`.
    pub name: &'a [u8],
    /// `trace_state`.
    pub trace_state: &'a [u8],
    /// The `ResourceSpans` message that the span is in.
    pub resource_spans: &'a [u8],
    /// The `ScopeSpans` message that the span is in.
    pub scope_spans: &'a [u8],
}

/// Why one span of a sound request is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// Not 16 bytes.
    #[error("a trace id is not 16 bytes long")]
    TraceIdLength,
    /// 16 zero bytes.
    #[error("a trace id is all zero")]
    TraceIdZero,
    /// Not 8 bytes.
    #[error("a span id is not 8 bytes long")]
    SpanIdLength,
    /// 8 zero bytes.
    #[error("a span id is all zero")]
    SpanIdZero,
    /// Neither empty nor 8 bytes.
    #[error("a parent span id is neither empty nor 8 bytes long")]
    ParentIdLength,
    /// Broken inside.
    #[error("a span is malformed: {0}")]
    Wire(#[from] WireError),
}

/// Sees what a scan passes. All methods are called in wire order within their message.
pub trait Visitor {
    /// Whether ids of zeros, or none, are sound: as the Collector has it.
    fn takes_zero_ids(&self) -> bool {
        false
    }
    /// A resource begins; its attributes follow, before any of its spans.
    fn begin_resource(&mut self);
    /// An attribute of the present resource.
    fn resource_attribute(&mut self, key: &[u8], value: AnyValue<'_>);
    /// A span begins.
    fn begin_span(&mut self);
    /// An attribute of the present span.
    fn span_attribute(&mut self, key: &[u8], value: AnyValue<'_>);
    /// An attribute of an event of the present span.
    fn event_attribute(&mut self, key: &[u8], value: AnyValue<'_>);
    /// The body of the present log record.
    fn record_body(&mut self, _: AnyValue<'_>) {}
    /// The present log record is sound: its attributes were shown as a span's. Not called for a rejected one.
    fn end_record(&mut self, _: &SpanBytes<'_>) {}
    /// The present span is sound. Not called for a rejected one.
    fn end_span(&mut self, head: &SpanHead, bytes: &SpanBytes<'_>);
}

/// Sees nothing: for scans that only need the places.
#[derive(Debug, Clone, Copy)]
pub struct Blind;

/// Sees nothing and takes ids of zeros: for pieces that were taken into the log before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trusting;

impl Visitor for Blind {
    fn begin_resource(&mut self) {}
    fn resource_attribute(&mut self, _: &[u8], _: AnyValue<'_>) {}
    fn begin_span(&mut self) {}
    fn span_attribute(&mut self, _: &[u8], _: AnyValue<'_>) {}
    fn event_attribute(&mut self, _: &[u8], _: AnyValue<'_>) {}
    fn end_span(&mut self, _: &SpanHead, _: &SpanBytes<'_>) {}
}

impl Visitor for Trusting {
    fn takes_zero_ids(&self) -> bool {
        true
    }
    fn begin_resource(&mut self) {}
    fn resource_attribute(&mut self, _: &[u8], _: AnyValue<'_>) {}
    fn begin_span(&mut self) {}
    fn span_attribute(&mut self, _: &[u8], _: AnyValue<'_>) {}
    fn event_attribute(&mut self, _: &[u8], _: AnyValue<'_>) {}
    fn end_span(&mut self, _: &SpanHead, _: &SpanBytes<'_>) {}
}

/// Reads a span message; fields come in any order, the last of a repeated scalar wins.
#[inline]
pub(crate) fn scan_span<'a>(
    bytes: &SpanBytes<'a>,
    visitor: &mut impl Visitor,
) -> Result<SpanHead, SpanError> {
    visitor.begin_span();
    let mut cursor = Cursor::new(bytes.span);
    let (mut trace, mut span, mut parent) = (&[][..], &[][..], &[][..]);
    let (mut trace_state, mut name): (&'a [u8], &'a [u8]) = (&[], &[]);
    let (mut start, mut end, mut status, mut kind, mut flags) = (0, 0, 0, 0, 0);
    while let Some((number, field)) = cursor.next()? {
        match number {
            9 => {
                let pair = field.bytes()?;
                if let Some((key, text)) = plain_text(pair) {
                    visitor.span_attribute(key, AnyValue::Str(text));
                } else {
                    let (key, value) = key_value(pair, 0)?;
                    visitor.span_attribute(key, value);
                }
            }
            1 => trace = field.bytes()?,
            2 => span = field.bytes()?,
            4 => parent = field.bytes()?,
            3 => trace_state = field.bytes()?,
            5 => name = field.bytes()?,
            6 => kind = low32(field.varint()?),
            7 => start = field.fixed64()?,
            8 => end = field.fixed64()?,
            10 | 12 | 14 => _ = field.varint()?,
            11 => scan_event(field.bytes()?, visitor)?,
            13 => check_link(field.bytes()?)?,
            15 => status = status_code(field.bytes()?, status)?,
            16 => flags = field.fixed32()?,
            _ => {}
        }
    }
    if let Some(error) = id_error(trace, span, parent, visitor.takes_zero_ids()) {
        return Err(error);
    }
    let head = SpanHead {
        trace: TraceId(trace.first_chunk().map_or(0, |id| u128::from_be_bytes(*id))),
        span: number(span),
        start,
        end,
        status,
        kind,
        flags,
        root: number(parent) == 0,
    };
    visitor.end_span(
        &head,
        &SpanBytes {
            name,
            trace_state,
            ..*bytes
        },
    );
    Ok(head)
}

/// What is wrong with the ids.
#[inline]
fn id_error(trace: &[u8], span: &[u8], parent: &[u8], zero_ids: bool) -> Option<SpanError> {
    // The Collector takes an empty id for 16 or 8 zero bytes.
    let none = |id: &[u8]| zero_ids && id.is_empty();
    if trace.len() != 16 && !none(trace) {
        Some(SpanError::TraceIdLength)
    } else if trace == [0; 16] && !zero_ids {
        Some(SpanError::TraceIdZero)
    } else if span.len() != 8 && !none(span) {
        Some(SpanError::SpanIdLength)
    } else if number(span) == 0 && !zero_ids {
        Some(SpanError::SpanIdZero)
    } else if parent.len() != 8 && !parent.is_empty() {
        Some(SpanError::ParentIdLength)
    } else {
        None
    }
}

/// A span id; 0 when there is none.
#[inline]
fn number(id: &[u8]) -> u64 {
    id.first_chunk().map_or(0, |id| u64::from_be_bytes(*id))
}

/// Protobuf reads a 32-bit enum or integer from the low half of the varint.
#[allow(
    clippy::cast_possible_truncation,
    reason = "what every protobuf reader does with a 32-bit field"
)]
fn low32(varint: u64) -> u32 {
    varint as u32
}

fn scan_event(message: &[u8], visitor: &mut impl Visitor) -> Result<(), WireError> {
    let mut cursor = Cursor::new(message);
    while let Some((number, field)) = cursor.next()? {
        match number {
            1 => _ = field.fixed64()?,
            2 => _ = field.bytes()?,
            3 => {
                let (key, value) = key_value(field.bytes()?, 0)?;
                visitor.event_attribute(key, value);
            }
            4 => _ = field.varint()?,
            _ => {}
        }
    }
    Ok(())
}

fn check_link(message: &[u8]) -> Result<(), WireError> {
    let mut cursor = Cursor::new(message);
    while let Some((number, field)) = cursor.next()? {
        match number {
            1..=3 => _ = field.bytes()?,
            4 => _ = key_value(field.bytes()?, 0)?,
            5 => _ = field.varint()?,
            6 => _ = field.fixed32()?,
            _ => {}
        }
    }
    Ok(())
}

/// The code of one `Status` message; repeated messages merge, so one without a code leaves `before` as it is.
fn status_code(message: &[u8], before: u32) -> Result<u32, WireError> {
    let mut cursor = Cursor::new(message);
    let mut code = before;
    while let Some((number, field)) = cursor.next()? {
        match number {
            2 => _ = field.bytes()?,
            3 => code = low32(field.varint()?),
            _ => {}
        }
    }
    Ok(code)
}
