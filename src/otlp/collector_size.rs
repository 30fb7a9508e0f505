//! How many bytes the Collector would need for spans that it has taken apart and encodes again.
//!
//! Its size rules count these, not the bytes on the wire (observed at v0.161.0): resource, scope, status, ids and values
//! are always written, two bytes each when they are empty; other fields only when they are not their default; unknown
//! fields are gone. Merged occurrences of a singular message count as the last one.

use super::value::MAX_DEPTH;
use super::wire::{Cursor, Value, WireError};

/// How a field is written.
#[derive(Clone, Copy)]
enum Kind {
    /// A varint, left out when it is 0.
    Number,
    /// 8 bytes, left out when they are 0.
    Wide,
    /// 4 bytes, left out when they are 0.
    Narrow,
    /// Text or bytes, left out when empty.
    Text,
    /// Always written; all zeros are written as empty.
    Id,
    /// A singular message, always written.
    One(&'static [Field]),
    /// Repeated messages.
    Many(&'static [Field]),
    /// Repeated text.
    Texts,
    /// A member of a oneof, written also when it is its default.
    Chosen(Choice),
}

#[derive(Clone, Copy)]
enum Choice {
    Flag,
    Number,
    Wide,
    Text,
    Message(&'static [Field]),
}

/// Field number and kind.
type Field = (u32, Kind);

static ANY_VALUE: [Field; 7] = [
    (1, Kind::Chosen(Choice::Text)),
    (2, Kind::Chosen(Choice::Flag)),
    (3, Kind::Chosen(Choice::Number)),
    (4, Kind::Chosen(Choice::Wide)),
    (5, Kind::Chosen(Choice::Message(&ARRAY))),
    (6, Kind::Chosen(Choice::Message(&KEY_VALUES))),
    (7, Kind::Chosen(Choice::Text)),
];
static ARRAY: [Field; 1] = [(1, Kind::Many(&ANY_VALUE))];
static KEY_VALUES: [Field; 1] = [(1, Kind::Many(&KEY_VALUE))];
static KEY_VALUE: [Field; 2] = [(1, Kind::Text), (2, Kind::One(&ANY_VALUE))];
static ENTITY_REF: [Field; 4] = [
    (1, Kind::Text),
    (2, Kind::Text),
    (3, Kind::Texts),
    (4, Kind::Texts),
];
static RESOURCE: [Field; 3] = [
    (1, Kind::Many(&KEY_VALUE)),
    (2, Kind::Number),
    (3, Kind::Many(&ENTITY_REF)),
];
static SCOPE: [Field; 4] = [
    (1, Kind::Text),
    (2, Kind::Text),
    (3, Kind::Many(&KEY_VALUE)),
    (4, Kind::Number),
];
static STATUS: [Field; 2] = [(2, Kind::Text), (3, Kind::Number)];
static EVENT: [Field; 4] = [
    (1, Kind::Wide),
    (2, Kind::Text),
    (3, Kind::Many(&KEY_VALUE)),
    (4, Kind::Number),
];
static LINK: [Field; 6] = [
    (1, Kind::Id),
    (2, Kind::Id),
    (3, Kind::Text),
    (4, Kind::Many(&KEY_VALUE)),
    (5, Kind::Number),
    (6, Kind::Narrow),
];
static SPAN: [Field; 16] = [
    (1, Kind::Id),
    (2, Kind::Id),
    (3, Kind::Text),
    (4, Kind::Id),
    (5, Kind::Text),
    (6, Kind::Number),
    (7, Kind::Wide),
    (8, Kind::Wide),
    (9, Kind::Many(&KEY_VALUE)),
    (10, Kind::Number),
    (11, Kind::Many(&EVENT)),
    (12, Kind::Number),
    (13, Kind::Many(&LINK)),
    (14, Kind::Number),
    (15, Kind::One(&STATUS)),
    (16, Kind::Narrow),
];
static SCOPE_SPANS: [Field; 3] = [
    (1, Kind::One(&SCOPE)),
    (2, Kind::Many(&SPAN)),
    (3, Kind::Text),
];
static RESOURCE_SPANS: [Field; 3] = [
    (1, Kind::One(&RESOURCE)),
    (2, Kind::Many(&SCOPE_SPANS)),
    (3, Kind::Text),
];
/// The same two without their schema URLs, as releases before v0.162 store them.
static SCOPE_SPANS_BARE: [Field; 2] = [(1, Kind::One(&SCOPE)), (2, Kind::Many(&SPAN))];
static RESOURCE_SPANS_BARE: [Field; 2] = [
    (1, Kind::One(&RESOURCE)),
    (2, Kind::Many(&SCOPE_SPANS_BARE)),
];

/// The highest field number of the tables.
const FIELDS: usize = 17;

/// Bytes of the spans of one trace in one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CollectorSize {
    /// Sum over the `ResourceSpans` messages, without their tags and lengths: what a trace's size limit adds up.
    pub(crate) resource_spans: u64,
    /// With them: the size of the trace as one message.
    pub(crate) traces: u64,
}

/// The size of a `TracesData` message that the scan has found sound.
pub(crate) fn collector_size(traces: &[u8], schema_urls: bool) -> Result<CollectorSize, WireError> {
    let fields: &[Field] = if schema_urls {
        &RESOURCE_SPANS
    } else {
        &RESOURCE_SPANS_BARE
    };
    let mut out = CollectorSize::default();
    let mut cursor = Cursor::new(traces);
    while let Some((number, value)) = cursor.next()? {
        if number == 1 {
            let size = message_size(fields, value.bytes()?, 0)?;
            out.resource_spans += size;
            out.traces += delimited(number, size);
        }
    }
    Ok(out)
}

fn message_size(fields: &[Field], message: &[u8], depth: u32) -> Result<u64, WireError> {
    // An AnyValue is two messages deep, and so is what it holds; the scan has refused what is deeper.
    if depth > 4 * MAX_DEPTH {
        return Err(WireError::Depth(MAX_DEPTH));
    }
    let (mut size, mut chosen, mut last) = (0, 0, [0_u64; FIELDS]);
    for (number, kind) in fields {
        if let (Kind::Id | Kind::One(_), Some(slot)) = (kind, last.get_mut(*number as usize)) {
            *slot = 2;
        }
    }
    let mut cursor = Cursor::new(message);
    while let Some((number, value)) = cursor.next()? {
        let Some((_, kind)) = fields.iter().find(|(other, _)| *other == number) else {
            continue;
        };
        let one = match kind {
            Kind::Many(child) => {
                size += delimited(number, message_size(child, value.bytes()?, depth + 1)?);
                continue;
            }
            Kind::Texts => {
                size += delimited(number, value.bytes()?.len() as u64);
                continue;
            }
            Kind::Chosen(choice) => {
                chosen = chosen_size(*choice, number, value, depth)?;
                continue;
            }
            kind => field_size(*kind, number, value, depth)?,
        };
        if let Some(slot) = last.get_mut(number as usize) {
            *slot = one;
        }
    }
    Ok(size + chosen + last.iter().sum::<u64>())
}

fn field_size(kind: Kind, number: u32, value: Value<'_>, depth: u32) -> Result<u64, WireError> {
    let unless = |empty: bool, size: u64| if empty { 0 } else { size };
    Ok(match kind {
        Kind::Number => {
            let value = value.varint()?;
            unless(value == 0, tag(number) + varint(value))
        }
        Kind::Wide => unless(value.fixed64()? == 0, tag(number) + 8),
        Kind::Narrow => unless(value.fixed32()? == 0, tag(number) + 4),
        Kind::Text => {
            let text = value.bytes()?;
            unless(text.is_empty(), delimited(number, text.len() as u64))
        }
        Kind::Id => {
            let id = value.bytes()?;
            let zero = id.iter().all(|byte| *byte == 0);
            delimited(number, if zero { 0 } else { id.len() as u64 })
        }
        Kind::One(child) => delimited(number, message_size(child, value.bytes()?, depth + 1)?),
        Kind::Many(&_) | Kind::Texts | Kind::Chosen(_) => 0,
    })
}

fn chosen_size(
    choice: Choice,
    number: u32,
    value: Value<'_>,
    depth: u32,
) -> Result<u64, WireError> {
    Ok(match choice {
        Choice::Flag => tag(number) + 1,
        Choice::Number => tag(number) + varint(value.varint()?),
        Choice::Wide => tag(number) + 8,
        Choice::Text => delimited(number, value.bytes()?.len() as u64),
        Choice::Message(child) => {
            delimited(number, message_size(child, value.bytes()?, depth + 1)?)
        }
    })
}

fn delimited(number: u32, length: u64) -> u64 {
    tag(number) + varint(length) + length
}

fn tag(number: u32) -> u64 {
    varint(u64::from(number) << 3)
}

/// Seven bits a byte, at least one.
fn varint(value: u64) -> u64 {
    u64::from((64 - (value | 1).leading_zeros()).div_ceil(7))
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, TracesData};
    use prost::Message;

    fn traces(span: Span) -> Vec<u8> {
        let scope_spans = ScopeSpans {
            spans: vec![span],
            schema_url: "https://scope".into(),
            ..ScopeSpans::default()
        };
        let resource_spans = ResourceSpans {
            scope_spans: vec![scope_spans],
            schema_url: "https://resource".into(),
            ..ResourceSpans::default()
        };
        TracesData {
            resource_spans: vec![resource_spans],
        }
        .encode_to_vec()
    }

    /// The observation in the specification: a name of n >= 128 bytes makes n + 65, and n + 68 with the outer field.
    #[test]
    fn a_bare_span_is_as_large_as_observed() {
        for n in [128, 500, 1000] {
            let span = Span {
                trace_id: vec![1; 16],
                span_id: vec![2; 8],
                name: "x".repeat(n),
                kind: 1,
                start_time_unix_nano: 1,
                end_time_unix_nano: 2,
                ..Span::default()
            };
            let size = collector_size(&traces(span), false).unwrap();
            let expected = CollectorSize {
                resource_spans: n as u64 + 65,
                traces: n as u64 + 68,
            };
            assert_eq!(size, expected);
        }
    }

    #[test]
    fn schema_urls_count_where_they_are_kept() {
        let bytes = traces(Span {
            trace_id: vec![1; 16],
            span_id: vec![2; 8],
            ..Span::default()
        });
        let bare = collector_size(&bytes, false).unwrap();
        let whole = collector_size(&bytes, true).unwrap();
        assert_eq!(
            whole.resource_spans - bare.resource_spans,
            (2 + 13) + (2 + 16)
        );
    }

    #[test]
    fn unknown_fields_and_zero_ids_do_not_count() {
        let mut bytes = traces(Span {
            trace_id: vec![1; 16],
            span_id: vec![2; 8],
            ..Span::default()
        });
        let before = collector_size(&bytes, false).unwrap();
        bytes.extend([0x7a, 2, 9, 9]);
        assert_eq!(collector_size(&bytes, false).unwrap(), before);
        let zero = traces(Span {
            trace_id: vec![0; 16],
            span_id: vec![0; 8],
            parent_span_id: vec![0; 8],
            ..Span::default()
        });
        let less = collector_size(&zero, false).unwrap();
        assert_eq!(before.resource_spans - less.resource_spans, 16 + 8);
    }
}
