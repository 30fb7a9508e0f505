//! A key that is not marked `doc` stands in a recording, and one that is marked does not: the page says which is which.

use super::recordings::requests;
use crate::genai::Dialects;
use crate::genai::json_leaves::{fits, json_leaves};
use crate::genai::rows::{Path, Site};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::TracesData;
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};

/// What the recordings hold.
#[derive(Default)]
struct Seen {
    /// Attributes by event ("" of spans) and key, with their texts.
    attributes: BTreeMap<(String, String), Vec<String>>,
    events: BTreeSet<String>,
    names: BTreeSet<String>,
}

impl Seen {
    fn of_recordings() -> Self {
        let mut seen = Self::default();
        for request in requests() {
            let request = TracesData::decode(&request[..]).unwrap();
            let scopes = request
                .resource_spans
                .iter()
                .flat_map(|resource| &resource.scope_spans);
            for span in scopes.flat_map(|scope| &scope.spans) {
                seen.names.insert(span.name.clone());
                seen.add("", &span.attributes);
                for event in &span.events {
                    seen.events.insert(event.name.clone());
                    seen.add(&event.name, &event.attributes);
                }
            }
        }
        seen
    }

    fn add(&mut self, event: &str, attributes: &[KeyValue]) {
        for attribute in attributes {
            let place = (event.to_owned(), attribute.key.clone());
            let texts = self.attributes.entry(place).or_default();
            let value = attribute
                .value
                .as_ref()
                .and_then(|value| value.value.as_ref());
            if let Some(Value::StringValue(text)) = value {
                texts.push(text.clone());
            }
        }
    }

    fn has(&self, site: &Site) -> bool {
        match site {
            Site::Attribute(key) => self.holds(b"", key, &Path::new()),
            Site::Leaf(key, path) => self.holds(b"", key, path),
            Site::Event(name) => self.events.contains(&text(name)),
            Site::EventAttribute(name, key, path) => self.holds(name, key, path),
            Site::Name(name) => self.names.contains(&text(name)),
        }
    }

    fn holds(&self, event: &[u8], key: &[u8], path: &Path) -> bool {
        let place = |number: u8| (text(event), text(key).replace("{i}", &number.to_string()));
        let found = (0..4).find_map(|number| self.attributes.get(&place(number)));
        found.is_some_and(|texts| path.is_empty() || texts.iter().any(|text| leads(text, path)))
    }
}

fn leads(text: &str, path: &Path) -> bool {
    let mut found = false;
    json_leaves(text.as_bytes(), &mut |at, _| found |= fits(at, path));
    found
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn keys_without_a_recording_are_marked() {
    let seen = Seen::of_recordings();
    let mut wrong = Vec::new();
    for row in &Dialects::with("").unwrap().rows.keys {
        let found = seen.has(&row.site);
        // A key may be recorded from one dialect and known of another from its documents alone.
        let of_one = !row.only.is_empty();
        if !found && !row.doc || found && row.doc && !of_one {
            wrong.push(format!("{} {}", row.text, row.form.word()));
        }
    }
    assert!(
        wrong.is_empty(),
        "wrongly (un)marked:\n{}",
        wrong.join("\n")
    );
}
