//! `redact` of an exporter: what is taken out of spans before they leave by it.

use std::path::Path;

use super::fields::Fields;
use super::item::Item;
use super::node::Value;
use crate::redaction::{Action, AttributeRule, FieldClass, RedactSettings};
use crate::secret::Secret;

/// A key under this many bytes can be guessed; NIST SP 800-107 asks for 112 bits.
const SHORTEST_KEY: usize = 16;
/// Bytes of a key file.
const LONGEST_KEY: usize = 4096;

/// Decodes `redact` of these exporter's fields; everything is kept where there is none.
pub(crate) fn decode(exporter: &mut Fields<'_>) -> RedactSettings {
    let Some(mut fields) = exporter.fields("redact") else {
        return RedactSettings::default();
    };
    let mut settings = RedactSettings::default();
    let mut sound = true;
    if let Some(item) = fields.get("all") {
        let action = action(&item);
        sound &= action.is_some();
        settings.classes.fill(action.unwrap_or_default());
    }
    for class in FieldClass::ALL {
        if let Some(item) = fields.get(class.word())
            && let Some(place) = settings.classes.get_mut(class as usize)
        {
            let action = action(&item);
            sound &= action.is_some();
            *place = action.unwrap_or_default();
        }
    }
    if let Some(list) = fields.get("attributes") {
        let rules = list.list();
        settings.attributes = rules.iter().filter_map(rule).collect();
        sound &= settings.attributes.len() == rules.len();
    }
    let keyed = ["hash_key", "hash_key_file"].map(|key| fields.get(key).is_some());
    settings.hash_key = hash_key(&mut fields);
    let hashes = settings.actions().any(|action| *action == Action::Hash);
    let item = fields.item();
    if hashes && keyed == [false, false] {
        item.error_help(
            "`hash` needs a key: without one short texts are found by trying",
            "set `hash_key: ${env:NAME}` or `hash_key_file`",
        );
    } else if sound && settings.is_empty() {
        item.warning("nothing is redacted: every action is `keep`");
    }
    settings
}

fn rule(item: &Item<'_>) -> Option<AttributeRule> {
    let mut fields = item.fields()?;
    let keys = fields.require("keys", "keys of attributes; `*` stands for any text");
    let wanted = fields.require("action", "what is done with them");
    let action = wanted.and_then(|item| action(&item));
    let keys = keys?;
    if keys.list_is_empty() {
        keys.error("no key: expected at least one");
    }
    Some(AttributeRule {
        keys: keys.strings(),
        action: action?,
    })
}

/// A word, or `truncate` or `replace` with what it needs.
fn action(item: &Item<'_>) -> Option<Action> {
    const WORDS: [(&str, u8); 3] = [("keep", 0), ("drop", 1), ("hash", 2)];
    if !matches!(item.node.value, Value::Map(_)) {
        return Some(match item.one_of(&WORDS)? {
            0 => Action::Keep,
            1 => Action::Drop,
            _ => Action::Hash,
        });
    }
    let mut fields = item.fields()?;
    let bytes = fields.get("truncate").map(|item| item.bytes());
    let text = fields.get("replace").map(|item| item.string());
    match (bytes, text) {
        (Some(bytes), None) => Some(Action::Truncate(
            usize::try_from(bytes?).unwrap_or(usize::MAX),
        )),
        (None, Some(text)) => Some(Action::Replace(text?)),
        _ => {
            item.error("expected one of `truncate` (bytes) and `replace` (a text)");
            None
        }
    }
}

fn hash_key(fields: &mut Fields<'_>) -> Option<Secret> {
    let inline = fields.get("hash_key");
    let file = fields.get("hash_key_file");
    let (item, text) = match (inline, file) {
        (Some(_), Some(file)) => {
            file.error("`hash_key` is set already: expected one of the two");
            return None;
        }
        (Some(item), None) => {
            let text = item.string()?;
            (item, text)
        }
        (None, Some(item)) => {
            let text = read(&item)?;
            (item, text)
        }
        (None, None) => return None,
    };
    if text.len() < SHORTEST_KEY {
        item.error(format!(
            "the key is too short: expected at least {SHORTEST_KEY} bytes"
        ));
    }
    Some(Secret::new(text))
}

/// The first line of a key file, looked for beside the config file that names it.
fn read(item: &Item<'_>) -> Option<String> {
    let path = item.string()?;
    let directory = item.decoder.sources.directory(item.node.place);
    let text = match std::fs::read_to_string(directory.join(Path::new(&path))) {
        Ok(text) => text,
        Err(error) => {
            item.error(format!("the key file cannot be read: {}", error.kind()));
            return None;
        }
    };
    if text.len() > LONGEST_KEY {
        item.error(format!("the key file is larger than {LONGEST_KEY} bytes"));
        return None;
    }
    Some(text.lines().next().unwrap_or_default().to_owned())
}
