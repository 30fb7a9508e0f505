//! Attribute values as the Collector prints them: `Str(x)` in detail, `key=x` on one line.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use serde_json::Value as Json;

/// ` key=value key=value`; empty without attributes.
pub(crate) fn attributes(attributes: &[KeyValue]) -> String {
    attributes
        .iter()
        .map(|attribute| format!(" {}={}", attribute.key, plain(inner(attribute))))
        .collect()
}

/// `Type(value)`.
pub(crate) fn typed(value: Option<&AnyValue>) -> String {
    let value = value.and_then(|value| value.value.as_ref());
    let kind = match value {
        Some(Value::StringValue(_)) => "Str",
        Some(Value::BoolValue(_)) => "Bool",
        Some(Value::IntValue(_)) => "Int",
        Some(Value::DoubleValue(_)) => "Double",
        Some(Value::ArrayValue(_)) => "Slice",
        Some(Value::KvlistValue(_)) => "Map",
        Some(Value::BytesValue(_)) => "Bytes",
        _ => "Empty",
    };
    format!("{kind}({})", plain(value))
}

/// Strings as they are, everything nested as JSON.
fn plain(value: Option<&Value>) -> String {
    match json(value) {
        Json::String(text) => text,
        Json::Null => String::new(),
        other => other.to_string(),
    }
}

/// Depth is bounded by the decoder that made the value.
fn json(value: Option<&Value>) -> Json {
    match value {
        Some(Value::StringValue(text)) => text.as_str().into(),
        Some(Value::BoolValue(flag)) => (*flag).into(),
        Some(Value::IntValue(number)) => (*number).into(),
        // JSON has no NaN and no infinity.
        Some(Value::DoubleValue(number)) if !number.is_finite() => number.to_string().into(),
        Some(Value::DoubleValue(number)) => (*number).into(),
        Some(Value::ArrayValue(array)) => array
            .values
            .iter()
            .map(|item| json(item.value.as_ref()))
            .collect(),
        Some(Value::KvlistValue(list)) => Json::Object(
            list.values
                .iter()
                .map(|entry| (entry.key.clone(), json(inner(entry))))
                .collect(),
        ),
        Some(Value::BytesValue(bytes)) => STANDARD.encode(bytes).into(),
        _ => Json::Null,
    }
}

fn inner(attribute: &KeyValue) -> Option<&Value> {
    attribute
        .value
        .as_ref()
        .and_then(|value| value.value.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::common::v1::{ArrayValue, KeyValueList};

    fn any(value: Value) -> AnyValue {
        AnyValue { value: Some(value) }
    }

    #[test]
    fn every_type() {
        let check = |value: Value, expected: &str| assert_eq!(typed(Some(&any(value))), expected);
        check(Value::StringValue("a \"b\"".to_owned()), "Str(a \"b\")");
        check(Value::StringValue(String::new()), "Str()");
        check(Value::BoolValue(true), "Bool(true)");
        check(Value::IntValue(-7), "Int(-7)");
        check(Value::DoubleValue(0.5), "Double(0.5)");
        check(Value::DoubleValue(f64::NAN), "Double(NaN)");
        check(Value::BytesValue(b"abc".to_vec()), "Bytes(YWJj)");
        let array = ArrayValue {
            values: vec![
                any(Value::IntValue(1)),
                any(Value::StringValue("x".to_owned())),
            ],
        };
        check(Value::ArrayValue(array.clone()), "Slice([1,\"x\"])");
        let entry = KeyValue {
            key: "k".to_owned(),
            value: Some(any(Value::ArrayValue(array))),
            ..Default::default()
        };
        check(
            Value::KvlistValue(KeyValueList {
                values: vec![entry.clone()],
            }),
            "Map({\"k\":[1,\"x\"]})",
        );
        assert_eq!(typed(None), "Empty()");
        assert_eq!(
            attributes(&[entry.clone(), entry]),
            " k=[1,\"x\"] k=[1,\"x\"]"
        );
    }
}
