//! A span that is larger than any record may be: its longest values are cut until it fits, and it says so.
//!
//! Decoded, cut and encoded again: such spans are rare, and without this they would be refused with all that came beside
//! them. Fields that this build does not know are lost with what is cut.

use bytes::Bytes;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{Span, TracesData};
use prost::Message as _;

/// Bytes that were cut out of the span.
const MARK: &str = "tailwater.truncated_bytes";
/// What the mark takes, with its tags.
const MARK_BYTES: usize = 64;
/// Nothing shorter is cut: what is left says what it was.
const SHORTEST: usize = 64;

/// The piece in at most `most` bytes. `None`: what may be cut is not long enough, or the piece is damaged.
pub(crate) fn shortened(piece: &[u8], most: usize) -> Option<Bytes> {
    let mut data = TracesData::decode(piece).ok()?;
    let over = (data.encoded_len() + MARK_BYTES).saturating_sub(most);
    let keep = longest_kept(&values(&mut data), over)?;
    let values = values(&mut data).into_iter();
    let cut = values.map(|value| value.cut(keep)).sum::<usize>();
    let cut = i64::try_from(cut).unwrap_or(i64::MAX);
    for span in spans(&mut data) {
        span.attributes.push(KeyValue {
            key: MARK.to_owned(),
            value: Some(AnyValue {
                value: Some(Value::IntValue(cut)),
            }),
            ..KeyValue::default()
        });
    }
    (data.encoded_len() <= most).then(|| data.encode_to_vec().into())
}

/// How long a value may stay so that `over` bytes go.
fn longest_kept(values: &[Text<'_>], over: usize) -> Option<usize> {
    let goes = |keep: usize| -> usize {
        let lengths = values.iter().map(Text::len);
        lengths.map(|length| length.saturating_sub(keep)).sum()
    };
    let longest = values.iter().map(Text::len).max()?;
    let (mut low, mut high) = (SHORTEST, longest.max(SHORTEST));
    if goes(low) < over {
        return None;
    }
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if goes(middle) >= over {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Some(low)
}

fn spans(data: &mut TracesData) -> impl Iterator<Item = &mut Span> {
    let scopes = data.resource_spans.iter_mut();
    let scopes = scopes.flat_map(|resource| &mut resource.scope_spans);
    scopes.flat_map(|scope| &mut scope.spans)
}

/// What may be cut.
enum Text<'a> {
    Chars(&'a mut String),
    Bytes(&'a mut Vec<u8>),
}

impl Text<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Chars(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// How many bytes went. No letter is cut in two.
    fn cut(self, keep: usize) -> usize {
        let before = self.len();
        if before <= keep {
            return 0;
        }
        match self {
            Self::Chars(text) => {
                text.truncate(text.floor_char_boundary(keep));
                before - text.len()
            }
            Self::Bytes(bytes) => {
                bytes.truncate(keep);
                before - bytes.len()
            }
        }
    }
}

fn values(data: &mut TracesData) -> Vec<Text<'_>> {
    let mut out = Vec::new();
    for resource_spans in &mut data.resource_spans {
        if let Some(resource) = &mut resource_spans.resource {
            of_attributes(&mut resource.attributes, &mut out);
        }
        for scope_spans in &mut resource_spans.scope_spans {
            if let Some(scope) = &mut scope_spans.scope {
                of_attributes(&mut scope.attributes, &mut out);
            }
            for span in &mut scope_spans.spans {
                of_span(span, &mut out);
            }
        }
    }
    out
}

fn of_span<'a>(span: &'a mut Span, out: &mut Vec<Text<'a>>) {
    out.push(Text::Chars(&mut span.name));
    out.push(Text::Chars(&mut span.trace_state));
    of_attributes(&mut span.attributes, out);
    for event in &mut span.events {
        out.push(Text::Chars(&mut event.name));
        of_attributes(&mut event.attributes, out);
    }
    for link in &mut span.links {
        of_attributes(&mut link.attributes, out);
    }
    if let Some(status) = &mut span.status {
        out.push(Text::Chars(&mut status.message));
    }
}

fn of_attributes<'a>(attributes: &'a mut [KeyValue], out: &mut Vec<Text<'a>>) {
    for attribute in attributes {
        if let Some(value) = &mut attribute.value {
            of_value(value, out);
        }
    }
}

/// prost bounds how deep values are.
fn of_value<'a>(value: &'a mut AnyValue, out: &mut Vec<Text<'a>>) {
    match &mut value.value {
        Some(Value::StringValue(text)) => out.push(Text::Chars(text)),
        Some(Value::BytesValue(bytes)) => out.push(Text::Bytes(bytes)),
        Some(Value::ArrayValue(list)) => {
            list.values
                .iter_mut()
                .for_each(|value| of_value(value, out));
        }
        Some(Value::KvlistValue(list)) => of_attributes(&mut list.values, out),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::trace::v1::span::Event;
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans};

    fn text(key: &str, value: String) -> KeyValue {
        KeyValue {
            key: key.to_owned(),
            value: Some(AnyValue {
                value: Some(Value::StringValue(value)),
            }),
            ..KeyValue::default()
        }
    }

    fn piece(attributes: Vec<KeyValue>, events: Vec<Event>) -> TracesData {
        let span = Span {
            trace_id: vec![1; 16],
            span_id: vec![2; 8],
            name: "chat".to_owned(),
            attributes,
            events,
            ..Span::default()
        };
        TracesData {
            resource_spans: vec![ResourceSpans {
                scope_spans: vec![ScopeSpans {
                    spans: vec![span],
                    ..ScopeSpans::default()
                }],
                ..ResourceSpans::default()
            }],
        }
    }

    fn check(data: &TracesData, most: usize) -> Span {
        let bytes = data.encode_to_vec();
        let short = shortened(&bytes, most).unwrap();
        assert!(short.len() <= most, "{} of {most}", short.len());
        let mut read = TracesData::decode(short).unwrap();
        let span = read.resource_spans[0].scope_spans[0].spans.remove(0);
        let mark = span.attributes.last().unwrap();
        let cut = bytes.len() - short_len(&span);
        assert_eq!(mark.key, MARK);
        let Some(Value::IntValue(said)) = mark.value.as_ref().unwrap().value else {
            panic!("{mark:?}")
        };
        assert!(usize::try_from(said).unwrap() >= cut, "{said} of {cut}");
        span
    }

    fn short_len(span: &Span) -> usize {
        span.encoded_len()
    }

    #[test]
    fn the_longest_value_goes_first_and_letters_stay_whole() {
        let attributes = vec![
            text("short", "x".repeat(300)),
            text("long", "请".repeat(3000)),
        ];
        let span = check(&piece(attributes, Vec::new()), 2000);
        let value = |at: usize| span.attributes[at].value.clone().unwrap().value.unwrap();
        assert_eq!(value(0), Value::StringValue("x".repeat(300)));
        let Value::StringValue(rest) = value(1) else {
            panic!()
        };
        assert!(rest.chars().all(|c| c == '请') && rest.len() > 1000);
    }

    #[test]
    fn many_values_are_cut_in_turn() {
        let attributes: Vec<_> = (0..50)
            .map(|n| text(&n.to_string(), "y".repeat(1000)))
            .collect();
        let event = Event {
            attributes: vec![text("e", "z".repeat(5000))],
            ..Event::default()
        };
        let span = check(&piece(attributes, vec![event]), 8000);
        assert_eq!(span.attributes.len(), 51);
    }

    #[test]
    fn what_has_nothing_to_cut_is_given_up() {
        let attributes: Vec<_> = (0..200)
            .map(|n| text(&n.to_string(), "y".repeat(50)))
            .collect();
        let bytes = piece(attributes, Vec::new()).encode_to_vec();
        assert_eq!(shortened(&bytes, 5000), None);
        assert_eq!(shortened(&[0x0a, 9], 5000), None);
    }
}
