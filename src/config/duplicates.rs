//! A key that stands twice in one mapping is refused, with both places.

use super::decoder::{Decoder, join};
use super::node::{Node, Value};
use std::collections::HashMap;

/// Reports and removes every later duplicate.
pub(crate) fn refuse(decoder: &Decoder<'_>, node: &mut Node, path: &str) {
    // Below a secret key a key may be a keyword.
    let below = |secret: bool, key: &str| if secret { path.to_owned() } else { join(path, key) };
    let secret = node.secret;
    match &mut node.value {
        Value::Map(entries) => {
            let mut first = HashMap::new();
            entries.retain(|entry| match first.get(&entry.key) {
                None => {
                    first.insert(entry.key.clone(), entry.key_place);
                    true
                }
                Some(earlier) => {
                    let message = format!(
                        "this key stands here already on {}",
                        decoder.sources.describe(*earlier, entry.key_place)
                    );
                    decoder.error(entry.key_place, &below(secret, &entry.key), message);
                    false
                }
            });
            for entry in entries {
                refuse(decoder, &mut entry.node, &below(secret, &entry.key));
            }
        }
        Value::Seq(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                refuse(decoder, item, &format!("{path}[{i}]"));
            }
        }
        _ => {}
    }
}
