//! What real libraries have sent: with every class dropped, none of the texts under a known key is left anywhere else.

use super::property::redacted;
use crate::redaction::{Action, FieldClass, RedactSettings, Redactor};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::TracesData;
use prost::Message;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "pb") {
            out.push(path);
        }
    }
}

/// Every attribute below, with all texts in its value.
fn each<'a>(data: &'a TracesData, see: &mut dyn FnMut(&'a KeyValue)) {
    for resource_spans in &data.resource_spans {
        let resource = resource_spans.resource.iter().flat_map(|r| &r.attributes);
        resource.for_each(&mut *see);
        for span in resource_spans
            .scope_spans
            .iter()
            .flat_map(|scope| &scope.spans)
        {
            span.attributes.iter().for_each(&mut *see);
            let events = span.events.iter().flat_map(|event| &event.attributes);
            events.for_each(&mut *see);
        }
    }
}

fn texts(value: &AnyValue, out: &mut BTreeSet<String>) {
    match &value.value {
        Some(Value::StringValue(text)) => leaves(text, out),
        Some(Value::ArrayValue(list)) => list.values.iter().for_each(|value| texts(value, out)),
        Some(Value::KvlistValue(map)) => {
            let values = map.values.iter().filter_map(|pair| pair.value.as_ref());
            values.for_each(|value| texts(value, out));
        }
        _ => {}
    }
}

/// The texts in JSON text, else the text. Only those that are somebody's words: with spaces, and not short.
fn leaves(text: &str, out: &mut BTreeSet<String>) {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(serde_json::Value::Array(list)) => list.iter().for_each(|value| json(value, out)),
        Ok(serde_json::Value::Object(map)) => map.values().for_each(|value| json(value, out)),
        _ => {
            if text.len() >= 16 && text.contains(' ') {
                out.insert(text.to_owned());
            }
        }
    }
}

fn json(value: &serde_json::Value, out: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::String(text) => leaves(text, out),
        serde_json::Value::Array(list) => list.iter().for_each(|value| json(value, out)),
        serde_json::Value::Object(map) => map.values().for_each(|value| json(value, out)),
        _ => {}
    }
}

#[test]
fn no_text_is_left_under_another_key() {
    let mut settings = RedactSettings::default();
    settings.classes.fill(Action::Drop);
    let keys = Redactor::new(&settings).unwrap().keys;
    let mut paths = Vec::new();
    files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/llm"),
        &mut paths,
    );
    let (mut seen, mut left) = (0, BTreeSet::new());
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let Ok(data) = TracesData::decode(&bytes[..]) else {
            continue;
        };
        let mut known = BTreeSet::new();
        each(&data, &mut |pair| {
            let known_key = keys.find(pair.key.as_bytes());
            let of_call = known_key.is_some_and(|found| found.class != FieldClass::Error);
            if let Some(value) = pair.value.as_ref().filter(|_| of_call) {
                texts(value, &mut known);
            }
        });
        seen += known.len();
        let after = redacted(&settings, &data);
        each(&after, &mut |pair| {
            let shown = format!("{:?}", pair.value);
            let quotes =
                |text: &&String| shown.contains(&format!("{text:?}")[1..=text.len().min(24)]);
            if known.iter().any(|text| quotes(&text)) {
                left.insert(pair.key.clone());
            }
        });
    }
    assert!(seen > 100, "{seen} texts");
    assert_eq!(left, BTreeSet::new());
}
