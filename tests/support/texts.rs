//! Texts of attributes in what a sink has taken.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;

/// The value of an attribute, ints written out.
pub(crate) fn attribute(attributes: &[KeyValue], key: &str) -> Option<String> {
    let pair = attributes.iter().find(|pair| pair.key == key)?;
    match pair.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        Value::BoolValue(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// An attribute of all spans that have it.
pub(crate) fn of_spans(message: &ResourceSpans, key: &str) -> Vec<String> {
    let spans = message.scope_spans.iter().flat_map(|scope| &scope.spans);
    spans
        .filter_map(|span| attribute(&span.attributes, key))
        .collect()
}
