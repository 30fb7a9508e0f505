//! An action on one text, and on one attribute's value as a whole.

use super::json_cut::{cut, head};
use super::settings::Action;
use crate::otlp::{AnyValue, any_value, key_value, put_field_header, raw_fields};
use ring::hmac;
use std::borrow::Cow;
use std::fmt::Write as _;

/// What becomes of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Same,
    Gone,
    /// The new `AnyValue` message.
    New(Vec<u8>),
}

/// The key of hashes.
#[derive(Default)]
pub(super) struct Hasher(Option<hmac::Key>);

impl Hasher {
    pub(super) fn new(key: Option<&[u8]>) -> Self {
        Self(key.map(|key| hmac::Key::new(hmac::HMAC_SHA256, key)))
    }

    /// As it leaves: the algorithm and 64 hexadecimal digits. Without a key nothing of the text leaves.
    fn hash(&self, text: &[u8]) -> Vec<u8> {
        let mut out = "hmac-sha256:".to_owned();
        if let Some(key) = &self.0 {
            for byte in hmac::sign(key, text).as_ref() {
                // Writing to a string cannot fail.
                let _ = write!(out, "{byte:02x}");
            }
        }
        out.into_bytes()
    }

    /// The text under the action; a dropped one is empty.
    pub(super) fn text<'t>(&self, action: &Action, text: &'t [u8]) -> Cow<'t, [u8]> {
        match action {
            Action::Keep => text.into(),
            Action::Drop => Cow::Borrowed(&[]),
            Action::Truncate(bytes) => cut(text, *bytes).map_or(text.into(), Cow::Owned),
            Action::Hash => self.hash(text).into(),
            Action::Replace(new) => new.as_bytes().to_vec().into(),
        }
    }

    /// The value under the action; `message` is its `AnyValue`.
    pub(super) fn value(&self, action: &Action, message: &[u8]) -> Outcome {
        let new = match action {
            Action::Keep => return Outcome::Same,
            Action::Drop => return Outcome::Gone,
            Action::Replace(new) => text_value(new.as_bytes()),
            Action::Hash => {
                let mut text = Vec::new();
                plain(message, &mut text);
                text_value(&self.hash(&text))
            }
            Action::Truncate(bytes) => {
                let mut left = *bytes;
                match truncated(message, &mut left) {
                    Some(new) => new,
                    None => return Outcome::Same,
                }
            }
        };
        Outcome::New(new)
    }
}

/// A value as text, whatever the order of its fields on the wire.
fn plain(message: &[u8], out: &mut Vec<u8>) {
    match any_value(message, 0) {
        Ok(AnyValue::Str(text) | AnyValue::Bytes(text)) => out.extend_from_slice(text),
        Ok(AnyValue::Bool(value)) => out.extend_from_slice(value.to_string().as_bytes()),
        Ok(AnyValue::Int(value)) => out.extend_from_slice(value.to_string().as_bytes()),
        Ok(AnyValue::Double(value)) => out.extend_from_slice(value.to_string().as_bytes()),
        Ok(AnyValue::Array(list)) => {
            out.push(b'[');
            for item in messages(list) {
                plain(item, out);
                out.push(b',');
            }
            out.push(b']');
        }
        Ok(AnyValue::Map(map)) => {
            out.push(b'{');
            for pair in messages(map) {
                let key = key_value(pair, 0).map_or(&[][..], |(key, _)| key);
                out.extend_from_slice(key);
                out.push(b':');
                plain(value_of(pair), out);
                out.push(b',');
            }
            out.push(b'}');
        }
        Ok(AnyValue::Empty) => {}
        Err(_) => out.extend_from_slice(message),
    }
}

/// An `AnyValue` with at most `left` bytes of text and opaque bytes in it; `None`: it is as it was.
fn truncated(message: &[u8], left: &mut usize) -> Option<Vec<u8>> {
    match any_value(message, 0) {
        Ok(AnyValue::Str(text)) => {
            let new = cut(text, *left).map(|text| text_value(&text));
            *left = left.saturating_sub(text.len());
            new
        }
        Ok(AnyValue::Bytes(bytes)) => {
            let new = (bytes.len() > *left).then(|| field(7, bytes.get(..*left).unwrap_or(bytes)));
            *left = left.saturating_sub(bytes.len());
            new
        }
        Ok(AnyValue::Array(list)) => {
            let mut out = Vec::new();
            for item in messages(list) {
                if *left == 0 {
                    break;
                }
                let item = truncated(item, left).map_or(item.into(), Cow::Owned);
                put(&mut out, 1, &item);
            }
            (out != list).then(|| field(5, &out))
        }
        Ok(AnyValue::Map(map)) => {
            let mut out = Vec::new();
            for entry in messages(map) {
                let Ok((key, _)) = key_value(entry, 0) else {
                    continue;
                };
                *left = left.saturating_sub(key.len());
                if *left == 0 {
                    break;
                }
                match truncated(value_of(entry), left) {
                    None => put(&mut out, 1, entry),
                    Some(value) => put(&mut out, 1, &with_value(entry, &value)),
                }
            }
            (out != map).then(|| field(6, &out))
        }
        Ok(AnyValue::Empty | AnyValue::Bool(_) | AnyValue::Int(_) | AnyValue::Double(_)) => None,
        // What cannot be read cannot be measured.
        Err(_) => Some(Vec::new()),
    }
}

/// The messages in field 1 of a list or map.
pub(super) fn messages(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    raw_fields(list).filter_map(|field| field.ok()?.message(1))
}

/// The value of a `KeyValue`: the last one counts.
pub(super) fn value_of(pair: &[u8]) -> &[u8] {
    let values = raw_fields(pair).filter_map(|field| field.ok()?.message(2));
    values.last().unwrap_or_default()
}

/// A `KeyValue` with another value. Its other fields travel, but not broken ones.
pub(super) fn with_value(pair: &[u8], value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(pair.len());
    for field in raw_fields(pair).flatten() {
        if field.number != 2 {
            out.extend_from_slice(pair.get(field.range).unwrap_or_default());
        }
    }
    put(&mut out, 2, value);
    out
}

pub(super) fn text_value(text: &[u8]) -> Vec<u8> {
    field(1, text)
}

pub(super) fn field(number: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 6);
    put(&mut out, number, body);
    out
}

pub(super) fn put(out: &mut Vec<u8>, number: u8, body: &[u8]) {
    put_field_header(out, number, body.len());
    out.extend_from_slice(body);
}

/// The first bytes of a text for a look at it.
pub(super) fn begins_as_json(text: &[u8]) -> bool {
    matches!(head(text, 64).trim_ascii_start().first(), Some(b'{' | b'['))
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::common::v1 as proto;
    use prost::Message;
    use proto::any_value::Value;

    fn any(value: Value) -> proto::AnyValue {
        proto::AnyValue { value: Some(value) }
    }

    fn text(text: &str) -> proto::AnyValue {
        any(Value::StringValue(text.into()))
    }

    #[test]
    fn the_hash_is_hmac_sha256() {
        // RFC 4231, test case 2.
        let hasher = Hasher::new(Some(b"Jefe"));
        let expected =
            "hmac-sha256:5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        let found = hasher.text(&Action::Hash, b"what do ya want for nothing?");
        assert_eq!(found, expected.as_bytes());
        assert_eq!(
            *Hasher::new(None).text(&Action::Hash, b"a"),
            *b"hmac-sha256:"
        );
    }

    #[test]
    fn values_are_truncated_as_wholes() {
        let list = |items: &[&str]| {
            any(Value::ArrayValue(proto::ArrayValue {
                values: items.iter().map(|item| text(item)).collect(),
            }))
        };
        let check = |value: &proto::AnyValue, bytes, expected: Option<proto::AnyValue>| {
            let found = truncated(&value.encode_to_vec(), &mut { bytes });
            let found = found.map(|found| proto::AnyValue::decode(&found[..]).unwrap());
            assert_eq!(found, expected);
        };
        check(&list(&["ab", "cd"]), 4, None);
        check(&list(&["ab", "cd"]), 3, Some(list(&["ab", "c…"])));
        check(&list(&["ab", "cd"]), 2, Some(list(&["ab"])));
        check(&any(Value::IntValue(7)), 0, None);
        check(
            &any(Value::BytesValue(vec![1, 2])),
            1,
            Some(any(Value::BytesValue(vec![1]))),
        );
        let map = |keys: &[&str]| {
            let pairs = keys.iter().map(|key| proto::KeyValue {
                key: (*key).into(),
                value: Some(text("xyz")),
                ..Default::default()
            });
            let values = pairs.collect();
            any(Value::KvlistValue(proto::KeyValueList { values }))
        };
        check(&map(&["a", "b"]), 5, Some(map(&["a"])));
    }
}
