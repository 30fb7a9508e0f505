//! What is written into a kept piece on its way out: the sampling threshold into each span's tracestate, attributes into
//! scopes; and schema URLs taken out, where an old release of the Collector loses them.
//!
//! Everything else is copied as it stands, unknown fields included. A piece that needs nothing is not touched by anyone.

use super::trace_state::{Rewritten, with_threshold};
use super::wire::{Cursor, WireError, field_len, put_field_header};
use bytes::Bytes;

/// A value of an attribute that is added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoteValue {
    Text(String),
    Flag(bool),
}

/// What to write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    /// `th` of every span, unless its own is stricter.
    pub(crate) threshold: Option<u64>,
    /// Attributes of every scope; one of the same key is replaced.
    pub(crate) scope_attributes: Vec<(&'static str, NoteValue)>,
    /// Leave schema URLs out.
    pub(crate) without_schema_urls: bool,
}

impl Notes {
    /// Nothing is to be written.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The piece with its notes, and the number of spans whose tracestate is malformed and was left alone.
///
/// # Errors
/// When the piece is damaged.
pub(crate) fn annotate(piece: &[u8], notes: &Notes) -> Result<(Bytes, u64), WireError> {
    let mut writer = Writer {
        notes,
        malformed: 0,
    };
    let mut out = Vec::with_capacity(piece.len() + 256);
    for field in fields(piece) {
        let (number, raw, message) = field?;
        match message {
            Some(message) if number == 1 => {
                let body = writer.resource_spans(message)?;
                put(&mut out, 1, &body);
            }
            _ => out.extend_from_slice(raw),
        }
    }
    Ok((out.into(), writer.malformed))
}

type Field<'a> = (u32, &'a [u8], Option<&'a [u8]>);

/// The fields of a message: number, all its bytes, and what is in it when it is length-delimited.
fn fields(message: &[u8]) -> impl Iterator<Item = Result<Field<'_>, WireError>> {
    let mut cursor = Cursor::new(message);
    std::iter::from_fn(move || {
        let before = cursor.rest();
        let (number, value) = match cursor.next() {
            Ok(Some(field)) => field,
            Ok(None) => return None,
            Err(error) => return Some(Err(error)),
        };
        let raw = before
            .get(..before.len() - cursor.rest().len())
            .unwrap_or_default();
        Some(Ok((number, raw, value.bytes().ok())))
    })
}

fn put(out: &mut Vec<u8>, number: u8, body: &[u8]) {
    put_field_header(out, number, body.len());
    out.extend_from_slice(body);
}

struct Writer<'a> {
    notes: &'a Notes,
    malformed: u64,
}

impl Writer<'_> {
    fn resource_spans(&mut self, message: &[u8]) -> Result<Vec<u8>, WireError> {
        let mut out = Vec::with_capacity(message.len() + 256);
        for field in fields(message) {
            match field? {
                (2, _, Some(scope_spans)) => {
                    let body = self.scope_spans(scope_spans)?;
                    put(&mut out, 2, &body);
                }
                (3, ..) if self.notes.without_schema_urls => {}
                (_, raw, _) => out.extend_from_slice(raw),
            }
        }
        Ok(out)
    }

    fn scope_spans(&mut self, message: &[u8]) -> Result<Vec<u8>, WireError> {
        let mut out = Vec::with_capacity(message.len() + 256);
        // Occurrences of a singular message merge: one with all of them.
        let mut scope = Vec::new();
        let noted = !self.notes.scope_attributes.is_empty();
        for field in fields(message) {
            match field? {
                (1, _, Some(part)) if noted => self.scope(part, &mut scope)?,
                (2, raw, Some(span)) => self.span(raw, span, &mut out)?,
                (3, ..) if self.notes.without_schema_urls => {}
                (_, raw, _) => out.extend_from_slice(raw),
            }
        }
        if noted {
            for (key, value) in &self.notes.scope_attributes {
                put(&mut scope, 3, &key_value(key, value));
            }
            put(&mut out, 1, &scope);
        }
        Ok(out)
    }

    /// Copies a scope's fields but for attributes that are replaced.
    fn scope(&self, message: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let replaced = |attribute: &[u8]| {
            let key = fields(attribute)
                .flatten()
                .filter(|(number, ..)| *number == 1)
                .last();
            let key = key.and_then(|(_, _, key)| key).unwrap_or_default();
            self.notes
                .scope_attributes
                .iter()
                .any(|(other, _)| other.as_bytes() == key)
        };
        for field in fields(message) {
            match field? {
                (3, _, Some(attribute)) if replaced(attribute) => {}
                (_, raw, _) => out.extend_from_slice(raw),
            }
        }
        Ok(())
    }

    fn span(&mut self, raw: &[u8], span: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let Some(threshold) = self.notes.threshold else {
            out.extend_from_slice(raw);
            return Ok(());
        };
        let mut trace_state = &[][..];
        for field in fields(span) {
            if let (3, _, Some(text)) = field? {
                trace_state = text;
            }
        }
        let new = match with_threshold(trace_state, threshold) {
            Rewritten::New(text) => text,
            rewritten => {
                self.malformed += u64::from(rewritten == Rewritten::Malformed);
                out.extend_from_slice(raw);
                return Ok(());
            }
        };
        let mut body = Vec::with_capacity(span.len() + field_len(new.len()));
        for field in fields(span) {
            let (number, raw, _) = field?;
            if number != 3 {
                body.extend_from_slice(raw);
            }
        }
        put(&mut body, 3, new.as_bytes());
        put(out, 2, &body);
        Ok(())
    }
}

/// A `KeyValue` message.
fn key_value(key: &str, value: &NoteValue) -> Vec<u8> {
    let mut any = Vec::new();
    match value {
        NoteValue::Text(text) => put(&mut any, 1, text.as_bytes()),
        NoteValue::Flag(flag) => any.extend([2 << 3, u8::from(*flag)]),
    }
    let mut out = Vec::new();
    put(&mut out, 1, key.as_bytes());
    put(&mut out, 2, &any);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::common::v1::{
        AnyValue, InstrumentationScope, KeyValue, any_value::Value,
    };
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, TracesData};
    use prost::Message;

    fn attribute(key: &str, value: Value) -> KeyValue {
        KeyValue {
            key: key.into(),
            value: Some(AnyValue { value: Some(value) }),
            ..KeyValue::default()
        }
    }

    fn data(states: &[&str], scope: Option<InstrumentationScope>) -> TracesData {
        let spans = states.iter().map(|state| Span {
            trace_id: vec![1; 16],
            span_id: vec![2; 8],
            trace_state: (*state).into(),
            name: "n".into(),
            ..Span::default()
        });
        let scope_spans = ScopeSpans {
            scope,
            spans: spans.collect(),
            schema_url: "s".into(),
        };
        let resource_spans = ResourceSpans {
            resource: None,
            scope_spans: vec![scope_spans],
            schema_url: "r".into(),
        };
        TracesData {
            resource_spans: vec![resource_spans],
        }
    }

    fn annotated(data: &TracesData, notes: &Notes) -> (TracesData, u64) {
        let (bytes, malformed) = annotate(&data.encode_to_vec(), notes).unwrap();
        (TracesData::decode(&bytes[..]).unwrap(), malformed)
    }

    #[test]
    fn writes_thresholds_and_nothing_else() {
        let notes = Notes {
            threshold: Some(0),
            ..Notes::default()
        };
        let (found, malformed) = annotated(&data(&["", "ot=th:c", "x=y", "=="], None), &notes);
        assert_eq!(
            found,
            data(&["ot=th:0", "ot=th:c", "ot=th:0,x=y", "=="], None)
        );
        assert_eq!(malformed, 1);
    }

    #[test]
    fn writes_scope_attributes_once() {
        let scope = |attributes| InstrumentationScope {
            name: "lib".into(),
            attributes,
            ..InstrumentationScope::default()
        };
        let policy = |name: &str| attribute("tailsampling.policy", Value::StringValue(name.into()));
        let cached = attribute("tailsampling.cached_decision", Value::BoolValue(true));
        let other = attribute("other", Value::IntValue(5));
        let notes = Notes {
            scope_attributes: vec![
                ("tailsampling.policy", NoteValue::Text("errors".into())),
                ("tailsampling.cached_decision", NoteValue::Flag(true)),
            ],
            ..Notes::default()
        };
        let before = data(&["a=b"], Some(scope(vec![policy("old"), other.clone()])));
        let after = data(
            &["a=b"],
            Some(scope(vec![other, policy("errors"), cached.clone()])),
        );
        assert_eq!(annotated(&before, &notes), (after, 0));
        let bare = InstrumentationScope {
            attributes: vec![policy("errors"), cached],
            ..InstrumentationScope::default()
        };
        assert_eq!(
            annotated(&data(&[""], None), &notes),
            (data(&[""], Some(bare)), 0)
        );
    }

    #[test]
    fn takes_schema_urls_out() {
        let notes = Notes {
            without_schema_urls: true,
            ..Notes::default()
        };
        let (found, _) = annotated(&data(&[""], None), &notes);
        let resource_spans = &found.resource_spans[0];
        assert_eq!(
            (
                &*resource_spans.schema_url,
                &*resource_spans.scope_spans[0].schema_url
            ),
            ("", "")
        );
        assert_eq!(resource_spans.scope_spans[0].spans.len(), 1);
    }
}
