//! Component ids (`type` or `type/name`) and the sections that declare them.

use super::catalogue::{self, Section};
use super::decoder::Decoder;
use super::diagnostic::Severity;
use super::item::Item;
use super::nearest::nearest;
use super::node::{Entry, Node, Place};

/// An id as written: the type, and a name when there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ComponentId {
    pub kind: String,
    /// The whole id.
    pub text: String,
}

impl ComponentId {
    /// Reads `type` or `type/name`; blanks around both are cut off, as in the Collector.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let (kind, name) = match text.split_once('/') {
            Some((kind, name)) => (kind.trim(), Some(name.trim())),
            None => (text.trim(), None),
        };
        let mut chars = kind.chars();
        let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
        if !starts || !chars.all(|c| c.is_ascii_alphanumeric() || c == '_') || kind.len() > 63 {
            return Err("expected a component id: `type` or `type/name`");
        }
        match name {
            Some("") => Err("the name behind `/` is empty: expected `type/name`"),
            Some(name) => Ok(Self {
                kind: kind.to_owned(),
                text: format!("{kind}/{name}"),
            }),
            None => Ok(Self {
                kind: kind.to_owned(),
                text: kind.to_owned(),
            }),
        }
    }
}

/// A component of a section, decoded. `settings` is `None` when it has errors of its own: it is known all the same.
pub(crate) struct Declared<T> {
    pub id: String,
    pub place: Place,
    pub path: String,
    pub settings: Option<T>,
}

/// Finds a component by its id.
pub(crate) fn find<'d, T>(declared: &'d [Declared<T>], id: &str) -> Option<&'d Declared<T>> {
    declared.iter().find(|component| component.id == id)
}

/// Decodes a section: `decode` gets the type, the id and the block of each component of a type that we have.
pub(crate) fn section<T>(
    item: Option<&Item<'_>>,
    section: Section,
    mut decode: impl FnMut(&ComponentId, &Item<'_>) -> Option<T>,
) -> Vec<Declared<T>> {
    let Some(item) = item else { return Vec::new() };
    let super::node::Value::Map(entries) = &item.node.value else {
        if !item.node.is_null() {
            item.error(format!(
                "expected a mapping of {}, found {}",
                section.name(),
                item.node.kind()
            ));
        }
        return Vec::new();
    };
    entries
        .iter()
        .filter_map(|entry| component(item, entry, section, &mut decode))
        .collect()
}

fn component<T>(
    parent: &Item<'_>,
    entry: &Entry,
    section: Section,
    decode: &mut impl FnMut(&ComponentId, &Item<'_>) -> Option<T>,
) -> Option<Declared<T>> {
    let path = super::decoder::join_typed(parent.node, &parent.path, &entry.key);
    let decoder = parent.decoder;
    let id = match ComponentId::parse(&entry.key) {
        Ok(id) => id,
        Err(message) => {
            decoder.at_key(Severity::Error, entry, &path, message.to_owned(), None);
            return None;
        }
    };
    let item = Item {
        decoder,
        node: &entry.node,
        path: path.clone(),
    };
    let settings = if section.ours().contains(&id.kind.as_str()) {
        decode(&id, &item)
    } else {
        refuse_type(decoder, &id, entry, &path, section);
        None
    };
    Some(Declared {
        id: id.text,
        place: entry.key_place,
        path,
        settings,
    })
}

fn refuse_type(
    decoder: &Decoder<'_>,
    id: &ComponentId,
    entry: &Entry,
    path: &str,
    section: Section,
) {
    let ours: Vec<String> = section
        .ours()
        .iter()
        .map(|name| format!("`{name}`"))
        .collect();
    let have = format!("{} that we have: {}", section.name(), ours.join(", "));
    let what = section.one();
    let (message, help) = if let Some(help) = catalogue::known(section, &id.kind) {
        let message = format!("the Collector's {what} `{}` is not supported yet", id.kind);
        (message, Some(help.map_or(have, ToOwned::to_owned)))
    } else if let Some(close) = nearest(&id.kind, section.ours().iter().copied()) {
        (
            format!("unknown {what} type; did you mean `{close}`?"),
            None,
        )
    } else {
        (format!("unknown {what} type"), Some(have))
    };
    decoder.at_key(Severity::Error, entry, path, message, help);
}

/// A null value where `item` has none: the defaults of a component that is only named.
pub(crate) fn is_mapping_or_null(item: &Item<'_>) -> bool {
    let node: &Node = item.node;
    node.is_null() || matches!(node.value, super::node::Value::Map(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids() {
        let check = |text: &str, expected: Result<(&str, &str), ()>| {
            let got = ComponentId::parse(text);
            let got = got
                .as_ref()
                .map(|id| (id.kind.as_str(), id.text.as_str()))
                .map_err(|_| ());
            assert_eq!(got, expected, "{text}");
        };
        check("otlp", Ok(("otlp", "otlp")));
        check("otlp/2", Ok(("otlp", "otlp/2")));
        check(" otlp / a b ", Ok(("otlp", "otlp/a b")));
        check("otlp/a/b", Ok(("otlp", "otlp/a/b")));
        check("otlp/", Err(()));
        check("/x", Err(()));
        check("", Err(()));
        check("2otlp", Err(()));
        check("ot-lp", Err(()));
    }
}
