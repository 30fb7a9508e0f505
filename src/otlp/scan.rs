//! One strict pass over an `ExportTraceServiceRequest` (or `TracesData`: the same bytes).
//!
//! Fields come in any order: the Collector writes messages backwards, a resource behind its spans. A resource's fields
//! are therefore walked first, its spans after it. Broken framing outside a span fails the request; a span that is
//! broken inside is rejected alone.

use super::TraceId;
use super::log_record::scan_record;
use super::signal::Signal;
use super::span::{SpanBytes, SpanError, Visitor, scan_span};
use super::value::{AnyValue, key_value};
use super::wire::{Cursor, Value, WireError, offset_in};
use std::ops::Range;

/// Where a span lies and whose it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpanPlace {
    pub(crate) trace: TraceId,
    pub(crate) span: u64,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Index into [`Scan::scopes`].
    pub(crate) scope: u32,
}

/// A resource or scope: the fields around its children, as they stood, unknown ones included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Envelope {
    /// Index of the resource (of a scope), or its own index.
    pub(crate) resource: u32,
    /// Range of [`Scan::parts`].
    parts: Range<u32>,
    /// Sum of the parts' lengths.
    pub(crate) len: usize,
}

/// The places of all spans of one request.
#[derive(Debug, Default)]
pub struct Scan {
    pub(crate) spans: Vec<SpanPlace>,
    pub(crate) scopes: Vec<Envelope>,
    pub(crate) resources: Vec<Envelope>,
    /// `service.name` of each resource, when it is a string.
    pub(crate) services: Vec<Option<Range<usize>>>,
    parts: Vec<Range<u32>>,
    /// Spans left out.
    pub rejected: u64,
    /// Why the first of them was.
    pub reason: Option<SpanError>,
}

/// Reads a request whole. Over 4 GiB is refused as truncated: positions are 32 bits.
///
/// # Errors
/// When the framing outside spans is broken; `visitor` has then seen a part of the request.
pub fn scan(request: &[u8], visitor: &mut impl Visitor) -> Result<Scan, WireError> {
    scan_leaves::<Spans>(request, visitor)
}

/// Reads a request of spans, or of log records, which are then the scan's spans.
///
/// # Errors
/// As [`scan`].
pub fn scan_as(
    signal: Signal,
    request: &[u8],
    visitor: &mut impl Visitor,
) -> Result<Scan, WireError> {
    match signal {
        Signal::Traces => scan_leaves::<Spans>(request, visitor),
        Signal::Logs => scan_leaves::<Records>(request, visitor),
    }
}

/// What the innermost messages are: the levels around them have the same field numbers.
trait Leaf {
    fn scan(bytes: &SpanBytes<'_>, visitor: &mut impl Visitor)
    -> Result<(TraceId, u64), SpanError>;
}

struct Spans;
struct Records;

impl Leaf for Spans {
    #[inline]
    fn scan(
        bytes: &SpanBytes<'_>,
        visitor: &mut impl Visitor,
    ) -> Result<(TraceId, u64), SpanError> {
        scan_span(bytes, visitor).map(|head| (head.trace, head.span))
    }
}

impl Leaf for Records {
    fn scan(
        bytes: &SpanBytes<'_>,
        visitor: &mut impl Visitor,
    ) -> Result<(TraceId, u64), SpanError> {
        scan_record(bytes, visitor).map(|ids| (ids.trace, ids.span))
    }
}

fn scan_leaves<L: Leaf>(request: &[u8], visitor: &mut impl Visitor) -> Result<Scan, WireError> {
    u32::try_from(request.len()).map_err(|_| WireError::Truncated)?;
    let mut scan = Scan::default();
    // A span takes about this much; the list grows where spans are smaller.
    scan.spans.reserve(request.len() / 400);
    let mut cursor = Cursor::new(request);
    while let Some((number, field)) = cursor.next()? {
        if number == 1 {
            scan.resource_spans::<L>(request, field.bytes()?, visitor)?;
        }
    }
    Ok(scan)
}

impl Scan {
    /// Sound spans.
    #[must_use]
    pub fn spans(&self) -> usize {
        self.spans.len()
    }

    /// `service.name` of each resource, where it is a text.
    pub fn service_names<'a>(
        &'a self,
        request: &'a [u8],
    ) -> impl Iterator<Item = Option<&'a [u8]>> {
        self.services
            .iter()
            .map(|range| request.get(range.clone()?))
    }

    /// The trace of each sound span, in wire order.
    pub fn traces(&self) -> impl Iterator<Item = TraceId> {
        self.spans.iter().map(|place| place.trace)
    }

    /// Appends the envelope's fields to `out`.
    pub(crate) fn write_envelope(&self, request: &[u8], envelope: &Envelope, out: &mut Vec<u8>) {
        for part in self.parts_of(envelope) {
            out.extend_from_slice(request.get(wide(part)).unwrap_or_default());
        }
    }

    fn parts_of(&self, envelope: &Envelope) -> &[Range<u32>] {
        self.parts.get(wide(&envelope.parts)).unwrap_or_default()
    }

    fn resource_spans<L: Leaf>(
        &mut self,
        request: &[u8],
        message: &[u8],
        visitor: &mut impl Visitor,
    ) -> Result<(), WireError> {
        let resource = index(self.resources.len());
        let envelope = self.envelope(request, message, resource, |number, value| match number {
            1 | 3 => value.bytes().map(drop),
            _ => Ok(()),
        })?;
        visitor.begin_resource();
        let mut service = None;
        self.resources.push(envelope);
        let mut cursor = Cursor::new(message);
        while let Some((number, field)) = cursor.next()? {
            if number == 1 {
                resource_attributes(request, field.bytes()?, visitor, &mut service)?;
            }
        }
        self.services.push(service);
        let mut cursor = Cursor::new(message);
        while let Some((number, field)) = cursor.next()? {
            if number == 2 {
                let scope_spans = field.bytes()?;
                self.scope_spans::<L>(request, (message, scope_spans), resource, visitor)?;
            }
        }
        Ok(())
    }

    fn scope_spans<L: Leaf>(
        &mut self,
        request: &[u8],
        (resource_spans, message): (&[u8], &[u8]),
        resource: u32,
        visitor: &mut impl Visitor,
    ) -> Result<(), WireError> {
        let scope = index(self.scopes.len());
        let envelope = self.envelope(request, message, resource, |number, value| match number {
            1 => check_scope(value.bytes()?),
            3 => value.bytes().map(drop),
            _ => Ok(()),
        })?;
        self.scopes.push(envelope);
        let mut cursor = Cursor::new(message);
        while let Some((number, field)) = cursor.next()? {
            if number == 2 {
                let bytes = SpanBytes {
                    span: field.bytes()?,
                    name: &[],
                    trace_state: &[],
                    resource_spans,
                    scope_spans: message,
                };
                self.span::<L>(request, &bytes, scope, visitor);
            }
        }
        Ok(())
    }

    #[inline]
    fn span<L: Leaf>(
        &mut self,
        request: &[u8],
        bytes: &SpanBytes<'_>,
        scope: u32,
        visitor: &mut impl Visitor,
    ) {
        let start = offset_in(request, bytes.span);
        let (start, end) = (index(start), index(start + bytes.span.len()));
        match L::scan(bytes, visitor) {
            Ok((trace, span)) => self.spans.push(SpanPlace {
                trace,
                span,
                start,
                end,
                scope,
            }),
            Err(error) => {
                self.rejected += 1;
                self.reason.get_or_insert(error);
            }
        }
    }

    /// Collects the fields of a message other than its children (field 2), merging neighbours.
    fn envelope(
        &mut self,
        request: &[u8],
        message: &[u8],
        resource: u32,
        check: impl Fn(u32, Value<'_>) -> Result<(), WireError>,
    ) -> Result<Envelope, WireError> {
        let first = self.parts.len();
        let (end, mut len) = (offset_in(request, message) + message.len(), 0);
        let mut cursor = Cursor::new(message);
        let mut at = end - message.len();
        while let Some((number, field)) = cursor.next()? {
            let start = std::mem::replace(&mut at, end - cursor.rest().len());
            if number == 2 {
                field.bytes()?;
                continue;
            }
            check(number, field)?;
            len += at - start;
            match self
                .parts
                .get_mut(first..)
                .and_then(|parts| parts.last_mut())
            {
                Some(last) if last.end == index(start) => last.end = index(at),
                _ => self.parts.push(index(start)..index(at)),
            }
        }
        Ok(Envelope {
            resource,
            parts: index(first)..index(self.parts.len()),
            len,
        })
    }
}

fn resource_attributes(
    request: &[u8],
    message: &[u8],
    visitor: &mut impl Visitor,
    service: &mut Option<Range<usize>>,
) -> Result<(), WireError> {
    let mut cursor = Cursor::new(message);
    while let Some((number, field)) = cursor.next()? {
        match number {
            1 => {
                let (key, value) = key_value(field.bytes()?, 0)?;
                if let AnyValue::Str(name) = value
                    && key == b"service.name"
                    && service.is_none()
                {
                    let start = offset_in(request, name);
                    *service = Some(start..start + name.len());
                }
                visitor.resource_attribute(key, value);
            }
            2 => _ = field.varint()?,
            _ => {}
        }
    }
    Ok(())
}

fn check_scope(message: &[u8]) -> Result<(), WireError> {
    let mut cursor = Cursor::new(message);
    while let Some((number, field)) = cursor.next()? {
        match number {
            1 | 2 => _ = field.bytes()?,
            3 => _ = key_value(field.bytes()?, 0)?,
            4 => _ = field.varint()?,
            _ => {}
        }
    }
    Ok(())
}

/// Positions and counts inside one request fit: its length was checked.
#[allow(
    clippy::cast_possible_truncation,
    reason = "checked at the entry of `scan`"
)]
pub(crate) fn index(position: usize) -> u32 {
    position as u32
}

pub(crate) fn wide(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}
