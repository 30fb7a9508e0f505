//! Attributes on the wire: `KeyValue` and `AnyValue`, checked down to the last level, decoded at the first only.
//!
//! Invariant: what is accepted here is accepted by any protobuf reader with a recursion limit of 100 (prost's), apart
//! from the UTF-8 check: text stays bytes.

use super::wire::{Cursor, Value, WireError};
use std::ops::Range;

/// Levels of `AnyValue` that are taken. Prost stops at 100 message levels; a map inside a map takes three of them and a
/// span's attribute lies five deep, so 30 is what every reader behind us takes too.
pub(crate) const MAX_DEPTH: u32 = 30;

/// An attribute's value, undecoded below its first level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AnyValue<'a> {
    /// No value set.
    Empty,
    /// Text; not checked to be UTF-8.
    Str(&'a [u8]),
    /// A bool.
    Bool(bool),
    /// An int.
    Int(i64),
    /// A double.
    Double(f64),
    /// The bytes of an `ArrayValue` message.
    Array(&'a [u8]),
    /// The bytes of a `KeyValueList` message.
    Map(&'a [u8]),
    /// Opaque bytes.
    Bytes(&'a [u8]),
}

/// The key and the value of the `KeyValue` at `request[range]`.
#[inline]
pub(crate) fn key_value(request: &[u8], range: Range<usize>, depth: u32) -> Result<(&[u8], AnyValue<'_>), WireError> {
    if let Some((key, value)) = plain_pair(request, &range) {
        return Ok((request.get(key).unwrap_or_default(), any_value(request, value, depth)?));
    }
    let mut cursor = Cursor::new(request, range);
    let (mut key, mut value) = (0..0, AnyValue::Empty);
    while let Some((number, field)) = cursor.next()? {
        match number {
            1 => key = field.bytes()?,
            2 => value = any_value(request, field.bytes()?, depth)?,
            _ => {}
        }
    }
    Ok((request.get(key).unwrap_or_default(), value))
}

/// The ranges of key and value when the message is just these two fields, in either order, the key under 128 bytes:
/// nearly every attribute there is.
#[inline]
fn plain_pair(request: &[u8], range: &Range<usize>) -> Option<(Range<usize>, Range<usize>)> {
    let message = request.get(range.clone())?;
    match message {
        [0x0a, key_len, rest @ ..] if *key_len < 0x80 => {
            let key_len = usize::from(*key_len);
            let (key_start, value_tag) = (range.start + 2, rest.get(key_len)?);
            let value = short_length(rest, key_len + 1)?;
            let value_start = key_start + value.start;
            (*value_tag == 0x12 && value.start + value.end == rest.len())
                .then_some((key_start..key_start + key_len, value_start..range.end))
        }
        [0x12, rest @ ..] => {
            let value = short_length(rest, 0)?;
            let (value_start, value_end) = (value.start, value.start.checked_add(value.end)?);
            let [0x0a, key_len, key @ ..] = rest.get(value_end..)? else {
                return None;
            };
            let base = range.start + 1;
            (*key_len < 0x80 && key.len() == usize::from(*key_len))
                .then_some((range.end - key.len()..range.end, base + value_start..base + value_end))
        }
        _ => None,
    }
}

/// Reads a length of one or two bytes at `at`: `start` = where the payload begins, `end` = its length (not a position).
#[inline]
fn short_length(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    match *bytes.get(at..)? {
        [low, ..] if low < 0x80 => Some(at + 1..usize::from(low)),
        [low, high, ..] if high < 0x80 => Some(at + 2..usize::from(low & 0x7f) | usize::from(high) << 7),
        _ => None,
    }
}

/// Reads the `AnyValue` at `request[range]`; nested values are walked to their end but not kept.
pub(crate) fn any_value(request: &[u8], range: Range<usize>, depth: u32) -> Result<AnyValue<'_>, WireError> {
    if depth >= MAX_DEPTH {
        return Err(WireError::Depth(MAX_DEPTH));
    }
    let mut cursor = Cursor::new(request, range);
    let mut value = AnyValue::Empty;
    while let Some((number, field)) = cursor.next()? {
        value = match number {
            1 => AnyValue::Str(slice(request, field)?),
            2 => AnyValue::Bool(field.varint()? != 0),
            3 => AnyValue::Int(field.varint()?.cast_signed()),
            4 => AnyValue::Double(f64::from_bits(field.fixed64()?)),
            5 => {
                check_array(request, field.bytes()?, depth + 1)?;
                AnyValue::Array(slice(request, field)?)
            }
            6 => {
                check_map(request, field.bytes()?, depth + 1)?;
                AnyValue::Map(slice(request, field)?)
            }
            7 => AnyValue::Bytes(slice(request, field)?),
            _ => value,
        };
    }
    Ok(value)
}

fn slice(request: &[u8], field: Value) -> Result<&[u8], WireError> {
    request.get(field.bytes()?).ok_or(WireError::Truncated)
}

fn check_array(request: &[u8], range: Range<usize>, depth: u32) -> Result<(), WireError> {
    let mut cursor = Cursor::new(request, range);
    while let Some((number, field)) = cursor.next()? {
        if number == 1 {
            any_value(request, field.bytes()?, depth)?;
        }
    }
    Ok(())
}

fn check_map(request: &[u8], range: Range<usize>, depth: u32) -> Result<(), WireError> {
    let mut cursor = Cursor::new(request, range);
    while let Some((number, field)) = cursor.next()? {
        if number == 1 {
            key_value(request, field.bytes()?, depth)?;
        }
    }
    Ok(())
}

impl<'a> AnyValue<'a> {
    /// Calls `leaf` with every text that the value holds, at any depth; map keys are not text.
    pub fn each_text(self, leaf: &mut dyn FnMut(&'a [u8])) {
        match self {
            Self::Str(text) => leaf(text),
            Self::Array(bytes) => each_child(bytes, leaf, |bytes, range| any_value(bytes, range, 0).ok()),
            Self::Map(bytes) => each_child(bytes, leaf, |bytes, range| Some(key_value(bytes, range, 0).ok()?.1)),
            _ => {}
        }
    }
}

fn each_child<'a>(
    bytes: &'a [u8],
    leaf: &mut dyn FnMut(&'a [u8]),
    read: impl Fn(&'a [u8], Range<usize>) -> Option<AnyValue<'a>>,
) {
    // The bytes were walked when the span was scanned: an error cannot come up here, and would only end the walk.
    let mut cursor = Cursor::new(bytes, 0..bytes.len());
    while let Ok(Some((number, field))) = cursor.next() {
        if let (1, Ok(range)) = (number, field.bytes())
            && let Some(value) = read(bytes, range)
        {
            value.each_text(leaf);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::common::v1::{self as proto, any_value::Value as Proto};
    use prost::Message;

    fn any(value: Proto) -> proto::AnyValue {
        proto::AnyValue { value: Some(value) }
    }

    fn pair(key: &str, value: Proto) -> Vec<u8> {
        proto::KeyValue { key: key.into(), value: Some(any(value)), ..Default::default() }.encode_to_vec()
    }

    #[test]
    fn reads_each_kind_in_either_order() {
        let long = "x".repeat(300);
        let cases = [
            (Proto::StringValue("v".into()), AnyValue::Str(b"v")),
            (Proto::StringValue(long.clone()), AnyValue::Str(long.as_bytes())),
            (Proto::BoolValue(true), AnyValue::Bool(true)),
            (Proto::IntValue(-3), AnyValue::Int(-3)),
            (Proto::DoubleValue(1.5), AnyValue::Double(1.5)),
            (Proto::BytesValue(vec![0, 1]), AnyValue::Bytes(&[0, 1])),
        ];
        for (value, expected) in cases {
            let forward = pair("key", value);
            let (key_field, value_field) = forward.split_at(5);
            let backward = [value_field, key_field].concat();
            for bytes in [&forward, &backward] {
                let read = key_value(bytes, 0..bytes.len(), 0).unwrap();
                assert_eq!(read, (&b"key"[..], expected));
            }
        }
    }

    #[test]
    fn a_bomb_of_nested_lists_is_refused() {
        let mut value = any(Proto::IntValue(1));
        for _ in 0..60 {
            value = any(Proto::ArrayValue(proto::ArrayValue { values: vec![value] }));
        }
        let bytes = value.encode_to_vec();
        assert_eq!(any_value(&bytes, 0..bytes.len(), 0).unwrap_err(), WireError::Depth(MAX_DEPTH));
    }

    #[test]
    fn every_text_is_visited() {
        let map = Proto::KvlistValue(proto::KeyValueList {
            values: vec![proto::KeyValue {
                key: "not text".into(),
                value: Some(any(Proto::ArrayValue(proto::ArrayValue {
                    values: vec![any(Proto::StringValue("a".into())), any(Proto::StringValue("b".into()))],
                }))),
                ..Default::default()
            }],
        });
        let bytes = any(map).encode_to_vec();
        let mut seen = Vec::new();
        any_value(&bytes, 0..bytes.len(), 0).unwrap().each_text(&mut |text| seen.push(text.to_vec()));
        assert_eq!(seen, [b"a".to_vec(), b"b".to_vec()]);
    }
}
