//! Values of another type, and values made unreadable: as the Collector's `convert` and `hash` make them.

use super::literal::{double_value, int_value, text_value};
use super::number;
use super::settings::ConvertTo;
use crate::otlp::AnyValue;
use crate::rules::ottl::attribute_text;
use ring::digest::{SHA256, digest};

/// The value in another type; `None` where it stays as it is.
pub(super) fn convert(value: AnyValue<'_>, to: ConvertTo) -> Option<Vec<u8>> {
    match to {
        ConvertTo::Text => match value {
            AnyValue::Str(_) => None,
            value => Some(text_value(&attribute_text(value))),
        },
        ConvertTo::Int => {
            let int = match value {
                AnyValue::Double(value) => number::truncated(value),
                AnyValue::Bool(value) => i64::from(value),
                AnyValue::Str(text) => number::int(text)?,
                _ => return None,
            };
            Some(int_value(int))
        }
        ConvertTo::Double => {
            let double = match value {
                AnyValue::Int(value) => number::widened(value),
                AnyValue::Bool(value) => f64::from(u8::from(value)),
                AnyValue::Str(text) => number::double(text)?,
                _ => return None,
            };
            Some(double_value(double))
        }
    }
}

/// SHA-256 in hexadecimal as a text; of anything but text, bool and numbers an empty one.
pub(super) fn hashed(value: AnyValue<'_>) -> Vec<u8> {
    let sum = match value {
        AnyValue::Str(text) => digest(&SHA256, text),
        AnyValue::Bool(value) => digest(&SHA256, &[u8::from(value)]),
        AnyValue::Int(value) => digest(&SHA256, &value.to_le_bytes()),
        AnyValue::Double(value) => digest(&SHA256, &value.to_bits().to_le_bytes()),
        AnyValue::Empty | AnyValue::Array(_) | AnyValue::Map(_) | AnyValue::Bytes(_) => {
            return text_value(&[]);
        }
    };
    let hex: String = sum
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    text_value(hex.as_bytes())
}
