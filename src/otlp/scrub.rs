//! A piece with everything in it overwritten but what a log needs to know of it: which spans or log records of which trace
//! these are, whose children, and when. It stays as long as it was, and stays a message.

use super::raw_fields::raw_fields;
use super::signal::Signal;
use super::wire::{Value, WireError, offset_in};

/// Fills texts; a letter, so that they stay UTF-8.
const LETTER: u8 = b'x';
/// Fills messages: field 15, which none of them has, as a varint 0.
const FILLER: [u8; 2] = [15 << 3, 0];
/// The same in one byte more.
const LONG_FILLER: [u8; 3] = [15 << 3, 0x80, 0];

/// What a field of a level is.
#[derive(Clone, Copy)]
enum Is {
    Kept,
    /// Text or opaque bytes.
    Text,
    /// A message that is not walked.
    Message,
    /// A message of this level.
    Level(fn(u32) -> Is),
}

/// The piece, overwritten.
///
/// # Errors
/// When it is no message.
pub(crate) fn scrub(signal: Signal, piece: &[u8]) -> Result<Vec<u8>, WireError> {
    let mut out = piece.to_vec();
    let fields = match signal {
        Signal::Traces => traces,
        Signal::Logs => logs,
    };
    level(&mut out, 0, piece, fields)?;
    Ok(out)
}

// Field numbers as in opentelemetry/proto/trace/v1/trace.proto.

fn traces(number: u32) -> Is {
    if number == 1 {
        Is::Level(resource_spans)
    } else {
        Is::Text
    }
}

fn resource_spans(number: u32) -> Is {
    match number {
        1 => Is::Message,
        2 => Is::Level(scope_spans),
        _ => Is::Text,
    }
}

fn scope_spans(number: u32) -> Is {
    match number {
        1 => Is::Message,
        2 => Is::Level(span),
        _ => Is::Text,
    }
}

fn span(number: u32) -> Is {
    match number {
        // Ids, kind, times, flags, how much was dropped before it came.
        1 | 2 | 4 | 6 | 7 | 8 | 10 | 12 | 14 | 16 => Is::Kept,
        9 | 11 | 13 | 15 => Is::Message,
        _ => Is::Text,
    }
}

// The same in opentelemetry/proto/logs/v1/logs.proto; the levels are those of traces.

fn logs(number: u32) -> Is {
    if number == 1 {
        Is::Level(resource_logs)
    } else {
        Is::Text
    }
}

fn resource_logs(number: u32) -> Is {
    match number {
        2 => Is::Level(scope_logs),
        _ => resource_spans(number),
    }
}

fn scope_logs(number: u32) -> Is {
    match number {
        2 => Is::Level(record),
        _ => scope_spans(number),
    }
}

fn record(number: u32) -> Is {
    match number {
        // Times, ids, flags, how much was dropped before it came.
        1 | 7 | 8 | 9 | 10 | 11 => Is::Kept,
        5 | 6 => Is::Message,
        _ => Is::Text,
    }
}

/// `message` lies at `at` in `out`.
fn level(out: &mut [u8], at: usize, message: &[u8], is: fn(u32) -> Is) -> Result<(), WireError> {
    for field in raw_fields(message) {
        let field = field?;
        let is = is(field.number);
        let Value::Bytes(bytes) = field.value else {
            if !matches!(is, Is::Kept) {
                number(
                    out,
                    at + field.range.start..at + field.range.end,
                    field.value,
                );
            }
            continue;
        };
        let start = at + offset_in(message, bytes);
        let place = out.get_mut(start..start + bytes.len()).unwrap_or_default();
        match is {
            Is::Kept => {}
            Is::Text => place.fill(LETTER),
            Is::Message => fill(place),
            Is::Level(below) => level(out, start, bytes, below)?,
        }
    }
    Ok(())
}

/// Numbers become 0 in as many bytes.
fn number(out: &mut [u8], range: std::ops::Range<usize>, value: Value<'_>) {
    let field = out.get_mut(range).unwrap_or_default();
    let fixed = match value {
        Value::Fixed64(_) => 8,
        Value::Fixed32(_) => 4,
        Value::Varint(_) | Value::Bytes(_) => 0,
    };
    if fixed > 0 {
        let tag = field.len().saturating_sub(fixed);
        field.get_mut(tag..).unwrap_or_default().fill(0);
        return;
    }
    // Behind the tag: all bytes that go on, then one that ends.
    let tag = field.iter().take_while(|byte| **byte >= 0x80).count() + 1;
    let value = field.get_mut(tag..).unwrap_or_default();
    if let Some((last, others)) = value.split_last_mut() {
        others.fill(0x80);
        *last = 0;
    }
}

/// A message of fields that nobody has. One of a single byte there is not.
fn fill(message: &mut [u8]) {
    let odd = message.len() % 2;
    let (first, rest) = message.split_at_mut((odd * LONG_FILLER.len()).min(message.len()));
    first
        .iter_mut()
        .zip(LONG_FILLER)
        .for_each(|(to, from)| *to = from);
    for pair in rest.chunks_mut(2) {
        pair.iter_mut()
            .zip(FILLER)
            .for_each(|(to, from)| *to = from);
    }
}

#[cfg(test)]
mod tests {
    use super::super::oracle::backwards::{Kind, backwards};
    use super::*;
    use opentelemetry_proto::tonic::common::v1::{
        AnyValue, InstrumentationScope, KeyValue, any_value,
    };
    use opentelemetry_proto::tonic::logs::v1::{LogRecord, LogsData, ResourceLogs, ScopeLogs};
    use opentelemetry_proto::tonic::resource::v1::Resource;
    use opentelemetry_proto::tonic::trace::v1::{
        ResourceSpans, ScopeSpans, Span, Status, TracesData, span,
    };
    use proptest::prelude::*;
    use prost::Message;

    fn secret(text: &str) -> Vec<KeyValue> {
        vec![KeyValue {
            key: format!("{text}key"),
            value: Some(AnyValue {
                value: Some(any_value::Value::StringValue(text.into())),
            }),
            ..Default::default()
        }]
    }

    fn data(text: &str, id: u8, times: (u64, u64)) -> TracesData {
        let span = Span {
            trace_id: vec![7; 16],
            span_id: vec![id | 1; 8],
            parent_span_id: vec![9; 8],
            name: text.into(),
            trace_state: text.into(),
            kind: 3,
            flags: 0x301,
            start_time_unix_nano: times.0,
            end_time_unix_nano: times.1,
            attributes: secret(text),
            events: vec![span::Event {
                name: text.into(),
                attributes: secret(text),
                ..Default::default()
            }],
            links: vec![span::Link {
                attributes: secret(text),
                ..Default::default()
            }],
            status: Some(Status {
                code: 2,
                message: text.into(),
            }),
            ..Default::default()
        };
        let scope_spans = vec![ScopeSpans {
            scope: Some(InstrumentationScope {
                name: text.into(),
                attributes: secret(text),
                ..Default::default()
            }),
            spans: vec![span.clone(), span],
            schema_url: text.into(),
        }];
        TracesData {
            resource_spans: vec![ResourceSpans {
                resource: Some(Resource {
                    attributes: secret(text),
                    ..Default::default()
                }),
                scope_spans,
                schema_url: text.into(),
            }],
        }
    }

    fn check(bytes: &[u8], text: &str) {
        let new = scrub(Signal::Traces, bytes).unwrap();
        assert_eq!(new.len(), bytes.len());
        assert!(memchr::memmem::find(&new, text.as_bytes()).is_none());
        let read = |bytes: &[u8]| TracesData::decode(bytes).unwrap();
        let (before, after) = (read(bytes), read(&new));
        let spans = |data: &TracesData| {
            let spans = data.resource_spans[0].scope_spans[0].spans.clone();
            spans
                .into_iter()
                .map(|span| {
                    (
                        span.trace_id,
                        span.span_id,
                        span.parent_span_id,
                        span.kind,
                        span.flags,
                        span.start_time_unix_nano,
                        span.end_time_unix_nano,
                    )
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(spans(&after), spans(&before));
        let span = &after.resource_spans[0].scope_spans[0].spans[0];
        assert!(span.name.bytes().all(|byte| byte == LETTER));
        assert_eq!(scrub(Signal::Traces, &new).unwrap(), new, "twice the same");
    }

    proptest! {
        #[test]
        fn ids_and_times_are_all_that_is_left(text in "secret[a-z请]{0,200}", id in any::<u8>(), times in any::<(u64, u64)>()) {
            let bytes = data(&text, id, times).encode_to_vec();
            check(&bytes, "secret");
            check(&backwards(Kind::Request, &bytes), "secret");
        }
    }

    #[test]
    fn of_log_records_ids_and_times_are_left() {
        let record = |text: &str| LogRecord {
            time_unix_nano: 5,
            observed_time_unix_nano: 6,
            severity_number: 9,
            severity_text: text.into(),
            body: secret(text).remove(0).value,
            attributes: secret(text),
            dropped_attributes_count: 3,
            flags: 1,
            trace_id: vec![7; 16],
            span_id: vec![8; 8],
            event_name: text.into(),
        };
        let data = LogsData {
            resource_logs: vec![ResourceLogs {
                resource: Some(Resource {
                    attributes: secret("secret"),
                    ..Default::default()
                }),
                scope_logs: vec![ScopeLogs {
                    scope: Some(InstrumentationScope {
                        attributes: secret("secret"),
                        ..Default::default()
                    }),
                    log_records: vec![record("secret")],
                    schema_url: "secret".into(),
                }],
                schema_url: "secret".into(),
            }],
        };
        let bytes = data.encode_to_vec();
        let new = scrub(Signal::Logs, &bytes).unwrap();
        assert_eq!(new.len(), bytes.len());
        assert!(memchr::memmem::find(&new, b"secret").is_none());
        let left = LogsData::decode(&new[..]).unwrap();
        let expected = LogRecord {
            severity_number: 0,
            body: Some(AnyValue::default()),
            attributes: vec![KeyValue::default()],
            severity_text: "xxxxxx".into(),
            event_name: "xxxxxx".into(),
            ..record("")
        };
        let found = &left.resource_logs[0].scope_logs[0].log_records[0];
        assert_eq!(found, &expected);
    }

    #[test]
    fn unknown_fields_are_overwritten() {
        // Field 100 of a span: a varint, a fixed64, a text.
        let mut span = vec![0xa0, 0x06, 0x87, 0x08];
        span.extend([0xa1, 0x06, 1, 2, 3, 4, 5, 6, 7, 8]);
        span.extend([0xa2, 0x06, 2, b'h', b'i']);
        let field = |number: u8, body: &[u8]| [&[number << 3 | 2, body.len() as u8], body].concat();
        let piece = field(1, &field(2, &field(2, &span)));
        let new = scrub(Signal::Traces, &piece).unwrap();
        let mut expected = vec![0xa0, 0x06, 0x80, 0];
        expected.extend([0xa1, 0x06, 0, 0, 0, 0, 0, 0, 0, 0]);
        expected.extend([0xa2, 0x06, 2, b'x', b'x']);
        assert_eq!(new, field(1, &field(2, &field(2, &expected))));
    }
}
