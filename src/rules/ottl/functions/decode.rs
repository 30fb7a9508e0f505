//! Base64 and character encodings.

use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::Call;
use super::super::value::{Out, Value};
use super::{Prepared, fits};
use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::{
    GeneralPurpose, GeneralPurposeConfig, STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD,
};
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig as Config};
use encoding_rs::Encoding;
use std::borrow::Cow;

const UNKNOWN: &str = "this encoding is not known";

/// A named way to read bytes.
enum Decoder {
    Base64(Box<GeneralPurpose>),
    Text(&'static Encoding),
    /// As they are.
    Raw,
}

pub(super) fn base64_encode<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let text = call.text(scene, 0)?;
    fits(text.len().saturating_mul(2))?;
    let engine = match &*call.text_or(scene, 1, b"base64")? {
        b"base64" => STANDARD,
        b"base64-raw" => STANDARD_NO_PAD,
        b"base64-url" => URL_SAFE,
        b"base64-raw-url" => URL_SAFE_NO_PAD,
        _ => return Err(EvalError::Invalid("this variant of base64 is not known")),
    };
    Ok(Value::text(engine.encode(&text)))
}

/// Go ignores the bits that the last character has too many.
fn lenient(alphabet: &alphabet::Alphabet, padded: bool) -> Box<GeneralPurpose> {
    let padding = if padded {
        DecodePaddingMode::RequireCanonical
    } else {
        DecodePaddingMode::RequireNone
    };
    let config: GeneralPurposeConfig = Config::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(padding);
    Box::new(GeneralPurpose::new(alphabet, config))
}

fn decoder(name: &[u8]) -> Option<Decoder> {
    Some(match &*name.to_ascii_lowercase() {
        _ if name == b"base64" => Decoder::Base64(lenient(&alphabet::STANDARD, true)),
        _ if name == b"base64-raw" => Decoder::Base64(lenient(&alphabet::STANDARD, false)),
        _ if name == b"base64-url" => Decoder::Base64(lenient(&alphabet::URL_SAFE, true)),
        _ if name == b"base64-raw-url" => Decoder::Base64(lenient(&alphabet::URL_SAFE, false)),
        b"" | b"utf-8" | b"utf8" | b"ascii" | b"us-ascii" => Decoder::Text(encoding_rs::UTF_8),
        b"utf-16" | b"utf16" | b"utf-16le" => Decoder::Text(encoding_rs::UTF_16LE),
        b"utf-8-raw" | b"utf8-raw" | b"nop" => Decoder::Raw,
        lower => Decoder::Text(Encoding::for_label_no_replacement(lower)?),
    })
}

pub(super) fn prepare(call: &mut Call) -> Result<(), String> {
    if let Some(name) = call.literal_text(1) {
        call.prepared = match decoder(name).ok_or(UNKNOWN)? {
            Decoder::Base64(engine) => Prepared::Base64(engine),
            Decoder::Text(encoding) => Prepared::Encoding(encoding),
            Decoder::Raw => Prepared::None,
        };
    }
    Ok(())
}

pub(super) fn decode<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let bytes = match call.value(scene, 0)? {
        Value::Text(bytes) | Value::Bytes(bytes) => bytes,
        other => return Err(other.wrong("a string or bytes")),
    };
    fits(bytes.len().saturating_mul(3))?;
    let name = call.text(scene, 1)?;
    match &call.prepared {
        Prepared::Base64(engine) => from_base64(engine, &bytes),
        Prepared::Encoding(encoding) => Ok(from_encoding(encoding, &bytes)),
        _ => match decoder(&name).ok_or(EvalError::Invalid(UNKNOWN))? {
            Decoder::Base64(engine) => from_base64(&engine, &bytes),
            Decoder::Text(encoding) => Ok(from_encoding(encoding, &bytes)),
            Decoder::Raw => Ok(Value::Text(bytes)),
        },
    }
}

/// Line breaks in the text do not count.
fn from_base64<'a>(engine: &GeneralPurpose, text: &[u8]) -> Out<'a> {
    let text: Cow<'_, [u8]> = if text.iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
        text.iter()
            .copied()
            .filter(|byte| !matches!(byte, b'\r' | b'\n'))
            .collect()
    } else {
        Cow::Borrowed(text)
    };
    engine
        .decode(&text)
        .map(Value::text)
        .map_err(|_| EvalError::Invalid("a text is not base64"))
}

fn from_encoding<'a>(encoding: &'static Encoding, bytes: &[u8]) -> Value<'a> {
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    Value::text(text.into_owned())
}
