//! OTLP/JSON to protobuf in one pass over the text, without objects in between.
//!
//! Invariants: the output is well-formed protobuf; unknown fields and `null`s leave nothing behind; nesting is bounded
//! by serde_json's 128 levels (about 30 of nested attribute values, as many as prost reads); no error quotes the text.
//! Ids of a wrong length are passed on: whoever scans the spans rejects those spans alone.

use super::decode::{base64_bytes, hex_bytes};
use super::error::JsonError;
use super::scalar::{write_bytes, write_scalar};
use super::schema::{Count, Field, Kind, Message, request_of};
use super::value::{ScalarSeed, StringSeed};
use super::writer::Writer;
use crate::otlp::Signal;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use std::fmt;

/// One `ExportTraceServiceRequest` from OTLP/JSON to protobuf.
///
/// # Errors
/// As [`from_json_as`].
#[cfg(test)]
pub(crate) fn from_json(json: &[u8]) -> Result<Vec<u8>, JsonError> {
    from_json_as(Signal::Traces, json)
}

/// One request of a signal from OTLP/JSON to protobuf.
///
/// # Errors
/// [`JsonError`] with the place and the field, when it is not JSON or a known field holds what it cannot.
pub fn from_json_as(signal: Signal, json: &[u8]) -> Result<Vec<u8>, JsonError> {
    let mut state = State {
        writer: Writer::with_capacity(json.len() / 2),
        field: "",
        hint: "",
    };
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    MessageSeed {
        message: request_of(signal),
        state: &mut state,
        null: Null::Refused,
    }
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
            _ if error.to_string().starts_with("recursion limit exceeded") => {
                "JSON nested too deeply".to_owned()
            }
            Category::Data if self.field.is_empty() => "not an object".to_owned(),
            Category::Data => format!(
                "the value of {} is not one it can have{}",
                self.field, self.hint
            ),
            _ => "not JSON".to_owned(),
        };
        JsonError {
            reason,
            line: error.line(),
            column: error.column(),
        }
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
        if self.null == Null::Refused {
            Err(E::custom("null"))
        } else {
            Ok(())
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut found = None;
        let fields = self.message.fields;
        let by_name = |name: &[u8]| {
            fields
                .iter()
                .find(|field| field.camel.as_bytes() == name || field.snake.as_bytes() == name)
        };
        while let Some(()) = map.next_key_seed(StringSeed(|name: &[u8]| {
            found = by_name(name);
            true
        }))? {
            match found.take() {
                Some(field) => map.next_value_seed(FieldSeed {
                    field,
                    oneof: self.message.oneof,
                    state: self.state,
                })?,
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
        while elements
            .next_element_seed(ElementSeed {
                field: self.field,
                state: self.state,
            })?
            .is_some()
        {}
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
        FieldSeed {
            field: self.field,
            oneof: true,
            state: self.state,
        }
        .one(deserializer, Null::Empty)
    }
}

impl FieldSeed<'_> {
    fn one<'de, D: Deserializer<'de>>(self, deserializer: D, null: Null) -> Result<(), D::Error> {
        let Self {
            field,
            oneof,
            state,
        } = self;
        match field.kind {
            Kind::Message(message) => message_field(field, message, state, deserializer, null),
            Kind::Text => {
                let writer = &mut state.writer;
                StringSeed(|bytes: &[u8]| {
                    write_bytes(
                        writer,
                        field,
                        oneof,
                        String::from_utf8_lossy(bytes).as_bytes(),
                    );
                    true
                })
                .deserialize(deserializer)
            }
            Kind::Id | Kind::Base64 => {
                let hex = matches!(field.kind, Kind::Id);
                state.hint = if hex {
                    ": ids are hex in OTLP/JSON, never base64"
                } else {
                    ": it takes base64"
                };
                let writer = &mut state.writer;
                StringSeed(|text: &[u8]| {
                    let decoded = if hex {
                        hex_bytes(text)
                    } else {
                        base64_bytes(text)
                    };
                    decoded
                        .inspect(|bytes| write_bytes(writer, field, oneof, bytes))
                        .is_some()
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
        MessageSeed {
            message,
            state,
            null,
        }
        .deserialize(deserializer)?;
        state.writer.close(open);
        return Ok(());
    }
    deserializer.deserialize_option(PresentMessage {
        field,
        message,
        state,
    })
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
        MessageSeed {
            message: self.message,
            state: self.state,
            null: Null::Absent,
        }
        .deserialize(deserializer)?;
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
