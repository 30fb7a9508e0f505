//! OTLP/JSON to protobuf in one pass over the text, without objects in between.
//!
//! Invariants: the output is well-formed protobuf; unknown fields and `null`s leave nothing behind; nesting is bounded
//! by serde_json's 128 levels (about 30 of nested attribute values, as many as prost reads); no error quotes the text.
//! Ids of a wrong length are passed on: whoever scans the spans rejects those spans alone.

use super::error::JsonError;
use super::number::Number;
use super::schema::{Count, Field, Kind, Message, REQUEST};
use super::value::{Scalar, ScalarSeed, StringSeed};
use super::writer::Writer;
use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use std::fmt;

/// One `ExportTraceServiceRequest` from OTLP/JSON to protobuf.
///
/// # Errors
/// [`JsonError`] with the place and the field, when it is not JSON or a known field holds what it cannot.
pub fn from_json(json: &[u8]) -> Result<Vec<u8>, JsonError> {
    let mut state = State { writer: Writer::with_capacity(json.len() / 2), field: "", hint: "" };
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    MessageSeed { message: &REQUEST, state: &mut state, null: Null::Refused }
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end())
        .map_err(|error| state.explain(&error))?;
    Ok(state.writer.finish())
}

struct State {
    writer: Writer,
    /// The field being read, for errors.
    field: &'static str,
    /// More about what was expected there.
    hint: &'static str,
}

impl State {
    fn explain(&self, error: &serde_json::Error) -> JsonError {
        let reason = match error.classify() {
            Category::Eof => "JSON cut short".to_owned(),
            // serde_json has no category for it; this text of its own holds nothing of the request.
            _ if error.to_string().starts_with("recursion limit exceeded") => "JSON nested too deeply".to_owned(),
            Category::Data if self.field.is_empty() => "not an object".to_owned(),
            Category::Data => format!("the value of {} is not one it can have{}", self.field, self.hint),
            _ => "not JSON".to_owned(),
        };
        JsonError { reason, line: error.line(), column: error.column() }
    }
}

/// What `null` means in place of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Null {
    Refused,
    /// The field is absent.
    Absent,
    /// An element of an array keeps its place, as an empty message.
    Empty,
}

/// Reads one message; its number, when it has one, is written around it.
struct MessageSeed<'a> {
    message: &'static Message,
    state: &'a mut State,
    null: Null,
}

impl<'de> DeserializeSeed<'de> for MessageSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MessageSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        if self.null == Null::Refused { Err(E::custom("null")) } else { Ok(()) }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut found = None;
        let fields = self.message.fields;
        let by_name =
            |name: &[u8]| fields.iter().find(|field| field.camel.as_bytes() == name || field.snake.as_bytes() == name);
        while let Some(()) = map.next_key_seed(StringSeed(|name: &[u8]| {
            found = by_name(name);
            true
        }))? {
            match found.take() {
                Some(field) => {
                    map.next_value_seed(FieldSeed { field, oneof: self.message.oneof, state: self.state })?
                }
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Reads the value of a field, or all values of a repeated one.
struct FieldSeed<'a> {
    field: &'static Field,
    oneof: bool,
    state: &'a mut State,
}

impl<'de> DeserializeSeed<'de> for FieldSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.state.field = self.field.camel;
        self.state.hint = "";
        match self.field.count {
            Count::Repeated => deserializer.deserialize_any(self),
            Count::Optional | Count::Always => self.one(deserializer, Null::Absent),
        }
    }
}

impl<'de> Visitor<'de> for FieldSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element_seed(ElementSeed { field: self.field, state: self.state })?.is_some() {}
        Ok(())
    }
}

/// Reads one element of a repeated field.
struct ElementSeed<'a> {
    field: &'static Field,
    state: &'a mut State,
}

impl<'de> DeserializeSeed<'de> for ElementSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.state.field = self.field.camel;
        // Elements are written even when they are empty.
        FieldSeed { field: self.field, oneof: true, state: self.state }.one(deserializer, Null::Empty)
    }
}

impl FieldSeed<'_> {
    fn one<'de, D: Deserializer<'de>>(self, deserializer: D, null: Null) -> Result<(), D::Error> {
        let Self { field, oneof, state } = self;
        match field.kind {
            Kind::Message(message) => message_field(field, message, state, deserializer, null),
            Kind::Text => {
                let writer = &mut state.writer;
                StringSeed(|bytes: &[u8]| {
                    write_bytes(writer, field, oneof, String::from_utf8_lossy(bytes).as_bytes());
                    true
                })
                .deserialize(deserializer)
            }
            Kind::Id | Kind::Base64 => {
                let hex = matches!(field.kind, Kind::Id);
                state.hint = if hex { ": ids are hex in OTLP/JSON, never base64" } else { ": it takes base64" };
                let writer = &mut state.writer;
                StringSeed(|text: &[u8]| {
                    let decoded = if hex { decode_hex(text) } else { decode_base64(text) };
                    decoded.inspect(|bytes| write_bytes(writer, field, oneof, bytes)).is_some()
                })
                .deserialize(deserializer)
            }
            Kind::Enum(names) => scalar_field(field, oneof, state, ScalarSeed(names), deserializer),
            _ => scalar_field(field, oneof, state, ScalarSeed(&[]), deserializer),
        }
    }
}

fn message_field<'de, D: Deserializer<'de>>(
    field: &'static Field,
    message: &'static Message,
    state: &mut State,
    deserializer: D,
    null: Null,
) -> Result<(), D::Error> {
    if null == Null::Empty {
        let open = state.writer.open(field.number);
        MessageSeed { message, state, null }.deserialize(deserializer)?;
        state.writer.close(open);
        return Ok(());
    }
    deserializer.deserialize_option(PresentMessage { field, message, state })
}

/// A single message that may be `null`, which leaves nothing.
struct PresentMessage<'a> {
    field: &'static Field,
    message: &'static Message,
    state: &'a mut State,
}

impl<'de> Visitor<'de> for PresentMessage<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let open = self.state.writer.open(self.field.number);
        MessageSeed { message: self.message, state: self.state, null: Null::Absent }.deserialize(deserializer)?;
        self.state.writer.close(open);
        Ok(())
    }
}

fn scalar_field<'de, D: Deserializer<'de>>(
    field: &'static Field,
    oneof: bool,
    state: &mut State,
    seed: ScalarSeed,
    deserializer: D,
) -> Result<(), D::Error> {
    let scalar = seed.deserialize(deserializer)?;
    if write_scalar(&mut state.writer, field, oneof, scalar).is_none() {
        return Err(de::Error::custom("out of range"));
    }
    Ok(())
}

/// `None`: the field cannot hold it.
fn write_scalar(writer: &mut Writer, field: &Field, explicit: bool, scalar: Scalar) -> Option<()> {
    let number = match scalar {
        Scalar::Null => return Some(()),
        Scalar::Name(value) => Number::Unsigned(value),
        Scalar::Number(number) => number,
        Scalar::Bool(value) => {
            if !matches!(field.kind, Kind::Bool) {
                return None;
            }
            if explicit || value {
                writer.varint_field(field.number, value.into());
            }
            return Some(());
        }
    };
    let id = field.number;
    match field.kind {
        Kind::Double => {
            let bits = number.as_f64().to_bits();
            (explicit || bits != 0).then(|| writer.fixed64_field(id, bits));
        }
        Kind::Int64 => {
            let value = number.as_i64()?.cast_unsigned();
            (explicit || value != 0).then(|| writer.varint_field(id, value));
        }
        // Negative enum numbers are sign-extended; protobuf enums are open, so any int32 is one.
        Kind::Enum(_) => {
            let value = i32::try_from(number.as_i64()?).ok()?;
            (explicit || value != 0).then(|| writer.varint_field(id, i64::from(value).cast_unsigned()));
        }
        Kind::Uint32 => {
            let value = number.as_u32()?;
            (explicit || value != 0).then(|| writer.varint_field(id, value.into()));
        }
        Kind::Fixed32 => {
            let value = number.as_u32()?;
            (explicit || value != 0).then(|| writer.fixed32_field(id, value));
        }
        Kind::Fixed64 => {
            let value = number.as_u64()?;
            (explicit || value != 0).then(|| writer.fixed64_field(id, value));
        }
        Kind::Bool | Kind::Id | Kind::Text | Kind::Base64 | Kind::Message(_) => return None,
    }
    Some(())
}

fn write_bytes(writer: &mut Writer, field: &Field, explicit: bool, bytes: &[u8]) {
    if explicit || !bytes.is_empty() {
        writer.bytes_field(field.number, bytes);
    }
}

fn decode_hex(text: &[u8]) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    pairs.iter().map(|[high, low]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()).collect()
}

/// Both alphabets, with or without padding, as protobuf's JSON rules say.
fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let standard = GeneralPurpose::new(&STANDARD, LENIENT);
    standard.decode(text).or_else(|_| GeneralPurpose::new(&URL_SAFE, LENIENT).decode(text)).ok()
}
