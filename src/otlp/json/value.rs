//! Single JSON values: what the visitors hand to the fields.

use super::number::Number;
use serde::de::{self, DeserializeSeed, Deserializer, Visitor};
use std::fmt;

/// Placeholder text of serde's errors; nobody sees it, errors are rewritten with the field's name.
const EXPECTED: &str = "an OTLP/JSON value";

/// A number, a word or nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Number(Number),
    /// Index into the names that the seed was given.
    Name(u64),
}

/// Reads a [`Scalar`]; strings must be numbers, `true`, `false` or one of the names.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScalarSeed(pub(super) &'static [(&'static str, u64)]);

impl<'de> DeserializeSeed<'de> for ScalarSeed {
    type Value = Scalar;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Scalar, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for ScalarSeed {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Scalar, E> {
        Ok(Scalar::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar::Bool(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(Number::Unsigned(value)))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(Number::Negative(value)))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar::Number(Number::Float(value)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
        if let Some((_, value)) = self.0.iter().find(|(name, _)| *name == text) {
            return Ok(Scalar::Name(*value));
        }
        match text {
            "true" => Ok(Scalar::Bool(true)),
            "false" => Ok(Scalar::Bool(false)),
            _ => Number::in_text(text)
                .map(Scalar::Number)
                .ok_or_else(|| E::custom(EXPECTED)),
        }
    }
}

/// Reads a string as bytes and hands them to the function; `null` is nothing. Bytes, because a prompt that JavaScript
/// cut in the middle of a surrogate pair is not UTF-8 and must not cost the request.
pub(super) struct StringSeed<F>(pub(super) F);

impl<'de, F: FnOnce(&[u8]) -> bool> DeserializeSeed<'de> for StringSeed<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, F: FnOnce(&[u8]) -> bool> Visitor<'de> for StringSeed<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_bytes(self)
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<(), E> {
        if (self.0)(bytes) {
            Ok(())
        } else {
            Err(E::custom(EXPECTED))
        }
    }
}
