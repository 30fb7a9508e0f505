//! A key that stands twice in one mapping is refused, with both places.

use std::collections::HashMap;

use super::decoder::{Decoder, join_typed};
use super::diagnostic::Severity;
use super::node::{Node, Value};

/// Reports and removes every later duplicate.
pub(crate) fn refuse(decoder: &Decoder<'_>, node: &mut Node, path: &str) {
    let paths: Vec<String> = match &node.value {
        Value::Map(entries) => entries
            .iter()
            .map(|entry| join_typed(node, path, &entry.key))
            .collect(),
        _ => Vec::new(),
    };
    match &mut node.value {
        Value::Map(entries) => {
            let mut first = HashMap::new();
            let mut paths = paths.into_iter();
            entries.retain_mut(|entry| {
                let path = paths.next().unwrap_or_default();
                if let Some(earlier) = first.insert(entry.key.clone(), entry.key_place) {
                    let place = decoder.sources.describe(earlier, entry.key_place);
                    let message = format!("this key stands here already on {place}");
                    decoder.at_key(Severity::Error, entry, &path, message, None);
                    return false;
                }
                refuse(decoder, &mut entry.node, &path);
                true
            });
        }
        Value::Seq(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                refuse(decoder, item, &format!("{path}[{i}]"));
            }
        }
        _ => {}
    }
}
