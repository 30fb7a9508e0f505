//! Attributes on the wire: `KeyValue` and `AnyValue`, checked down to the last level, decoded at the first only.
//!
//! Invariant: what is accepted here is accepted by any protobuf reader with a recursion limit of 100 (prost's), apart
//! from the UTF-8 check: text stays bytes.

use super::wire::{Cursor, WireError};

/// Levels of `AnyValue` that are taken. Prost stops at 100 message levels; a map inside a map takes three of them and a
/// span's attribute lies five deep, so 30 is what every reader behind us takes too.
pub(crate) const MAX_DEPTH: u32 = 30;

/// Numbers into a table of texts that only profiles have. They tell us nothing, but readers that know them refuse another
/// kind of field in their place, and with it all that we would send along.
const KEY_STRINDEX: u32 = 3;
const VALUE_STRINDEX: u32 = 8;

/// An attribute's value, undecoded below its first level.
// A word for the kind, so that the rest begins at a word: with a bool at offset 1 the value was copied in pieces that
// straddle what had just been written, and the scan took a third longer.
#[repr(u64)]
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

/// The key and the value of a `KeyValue` message.
#[inline(always)]
pub(crate) fn key_value(message: &[u8], depth: u32) -> Result<(&[u8], AnyValue<'_>), WireError> {
    if let Some((key, value)) = plain_pair(message) {
        return Ok((key, any_value(value, depth)?));
    }
    any_pair(message, depth)
}

/// The key and the text of a message that is just a key and a text: most attributes are. Apart from [`key_value`], so
/// that they stay in registers: an [`AnyValue`] goes through memory, written in words and read in pairs of words, and the
/// processor waits for that.
#[inline(always)]
pub(super) fn plain_text(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let (key, value) = plain_pair(message)?;
    let [0x0a, rest @ ..] = value else {
        return None;
    };
    let (length, text) = short_length(rest)?;
    (text.len() == length).then_some((key, text))
}

/// Any form of the message: other fields, repeated ones, long keys.
#[cold]
#[inline(never)]
fn any_pair(message: &[u8], depth: u32) -> Result<(&[u8], AnyValue<'_>), WireError> {
    let mut cursor = Cursor::new(message);
    let (mut key, mut value) = (&[][..], AnyValue::Empty);
    while let Some((number, field)) = cursor.next()? {
        match number {
            1 => key = field.bytes()?,
            2 => value = any_value(field.bytes()?, depth)?,
            KEY_STRINDEX => {
                field.varint()?;
            }
            _ => {}
        }
    }
    Ok((key, value))
}

/// Key and value when the message is just these two fields, in either order, the key under 128 bytes and the value
/// under 2 MiB: nearly every attribute there is.
#[inline(always)]
fn plain_pair(message: &[u8]) -> Option<(&[u8], &[u8])> {
    match message {
        [0x0a, key_len, rest @ ..] if *key_len < 0x80 => {
            let (key, rest) = rest.split_at_checked(usize::from(*key_len))?;
            let (0x12, rest) = rest.split_first().map(|(tag, rest)| (*tag, rest))? else {
                return None;
            };
            let (length, value) = short_length(rest)?;
            (value.len() == length).then_some((key, value))
        }
        [0x12, rest @ ..] => {
            let (length, rest) = short_length(rest)?;
            let (value, rest) = rest.split_at_checked(length)?;
            let [0x0a, key_len, key @ ..] = rest else {
                return None;
            };
            (*key_len < 0x80 && key.len() == usize::from(*key_len)).then_some((key, value))
        }
        _ => None,
    }
}

/// A length of up to three bytes, and what is behind it.
#[inline(always)]
fn short_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = short_number(bytes)?;
    Some((number as usize, rest))
}

/// A number of up to three bytes, and what is behind it.
#[inline(always)]
fn short_number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    match bytes {
        [a, rest @ ..] if *a < 0x80 => Some((u32::from(*a), rest)),
        [a, b, rest @ ..] if *b < 0x80 => Some((u32::from(*a & 0x7f) | u32::from(*b) << 7, rest)),
        [a, b, c, rest @ ..] if *c < 0x80 => Some((
            u32::from(*a & 0x7f) | u32::from(*b & 0x7f) << 7 | u32::from(*c) << 14,
            rest,
        )),
        _ => None,
    }
}

/// Reads an `AnyValue` message; nested values are walked to their end but not kept.
#[inline(always)]
pub(crate) fn any_value(message: &[u8], depth: u32) -> Result<AnyValue<'_>, WireError> {
    // One field and nothing else, told by its tag: what SDKs write.
    match message {
        [0x0a, rest @ ..] => {
            if let Some((length, text)) = short_length(rest)
                && text.len() == length
            {
                return Ok(AnyValue::Str(text));
            }
        }
        [0x10, value] if *value < 0x80 => return Ok(AnyValue::Bool(*value != 0)),
        [0x18, rest @ ..] => {
            if let Some((value, [])) = short_number(rest) {
                return Ok(AnyValue::Int(i64::from(value)));
            }
        }
        _ => {}
    }
    any_value_of_any_form(message, depth)
}

#[inline(never)]
fn any_value_of_any_form(message: &[u8], depth: u32) -> Result<AnyValue<'_>, WireError> {
    if depth >= MAX_DEPTH {
        return Err(WireError::Depth(MAX_DEPTH));
    }
    let mut cursor = Cursor::new(message);
    let mut value = AnyValue::Empty;
    while let Some((number, field)) = cursor.next()? {
        value = match number {
            1 => AnyValue::Str(field.bytes()?),
            2 => AnyValue::Bool(field.varint()? != 0),
            3 => AnyValue::Int(field.varint()?.cast_signed()),
            4 => AnyValue::Double(f64::from_bits(field.fixed64()?)),
            5 => {
                check_array(field.bytes()?, depth + 1)?;
                AnyValue::Array(field.bytes()?)
            }
            6 => {
                check_map(field.bytes()?, depth + 1)?;
                AnyValue::Map(field.bytes()?)
            }
            7 => AnyValue::Bytes(field.bytes()?),
            VALUE_STRINDEX => {
                field.varint()?;
                value
            }
            _ => value,
        };
    }
    Ok(value)
}

fn check_array(message: &[u8], depth: u32) -> Result<(), WireError> {
    let mut cursor = Cursor::new(message);
    while let Some((number, field)) = cursor.next()? {
        if number == 1 {
            any_value_of_any_form(field.bytes()?, depth)?;
        }
    }
    Ok(())
}

fn check_map(message: &[u8], depth: u32) -> Result<(), WireError> {
    let mut cursor = Cursor::new(message);
    while let Some((number, field)) = cursor.next()? {
        if number == 1 {
            any_pair(field.bytes()?, depth)?;
        }
    }
    Ok(())
}

impl<'a> AnyValue<'a> {
    /// Calls `leaf` with every text that the value holds, at any depth; map keys are not text.
    pub fn each_text(self, leaf: &mut dyn FnMut(&'a [u8])) {
        match self {
            Self::Str(text) => leaf(text),
            Self::Array(bytes) => each_child(bytes, leaf, |bytes| any_value(bytes, 0).ok()),
            Self::Map(bytes) => each_child(bytes, leaf, |bytes| Some(key_value(bytes, 0).ok()?.1)),
            _ => {}
        }
    }
}

fn each_child<'a>(
    bytes: &'a [u8],
    leaf: &mut dyn FnMut(&'a [u8]),
    read: impl Fn(&'a [u8]) -> Option<AnyValue<'a>>,
) {
    // The bytes were walked when the span was scanned: an error cannot come up here, and would only end the walk.
    let mut cursor = Cursor::new(bytes);
    while let Ok(Some((number, field))) = cursor.next() {
        if let (1, Ok(child)) = (number, field.bytes())
            && let Some(value) = read(child)
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
        proto::KeyValue {
            key: key.into(),
            value: Some(any(value)),
            ..Default::default()
        }
        .encode_to_vec()
    }

    #[test]
    fn reads_each_kind_in_either_order() {
        let long = "x".repeat(300);
        let cases = [
            (Proto::StringValue("v".into()), AnyValue::Str(b"v")),
            (
                Proto::StringValue(long.clone()),
                AnyValue::Str(long.as_bytes()),
            ),
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
                let read = key_value(bytes, 0).unwrap();
                assert_eq!(read, (&b"key"[..], expected));
            }
        }
    }

    #[test]
    fn a_bomb_of_nested_lists_is_refused() {
        let mut value = any(Proto::IntValue(1));
        for _ in 0..60 {
            value = any(Proto::ArrayValue(proto::ArrayValue {
                values: vec![value],
            }));
        }
        let bytes = value.encode_to_vec();
        assert_eq!(
            any_value(&bytes, 0).unwrap_err(),
            WireError::Depth(MAX_DEPTH)
        );
    }

    #[test]
    fn numbers_of_texts_are_left_out_and_nothing_else_in_their_place() {
        let pair = |field: &[u8]| [&[0x0a, 1, b'k'], field].concat();
        assert_eq!(
            key_value(&pair(&[0x18, 7]), 0),
            Ok((&b"k"[..], AnyValue::Empty))
        );
        assert_eq!(any_value(&[0x18, 1, 0x40, 7], 0), Ok(AnyValue::Int(1)));
        for error in [
            key_value(&pair(&[0x1a, 1, b'x']), 0).map(|_| ()),
            any_value(&[0x42, 1, b'x'], 0).map(|_| ()),
        ] {
            assert_eq!(error, Err(WireError::WireType));
        }
    }

    #[test]
    fn every_text_is_visited() {
        let map = Proto::KvlistValue(proto::KeyValueList {
            values: vec![proto::KeyValue {
                key: "not text".into(),
                value: Some(any(Proto::ArrayValue(proto::ArrayValue {
                    values: vec![
                        any(Proto::StringValue("a".into())),
                        any(Proto::StringValue("b".into())),
                    ],
                }))),
                ..Default::default()
            }],
        });
        let bytes = any(map).encode_to_vec();
        let mut seen = Vec::new();
        any_value(&bytes, 0)
            .unwrap()
            .each_text(&mut |text| seen.push(text.to_vec()));
        assert_eq!(seen, [b"a".to_vec(), b"b".to_vec()]);
    }
}
