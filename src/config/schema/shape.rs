//! What may stand below a key, and its JSON schema.

use serde_json::{Map, Value, json};

/// Any value may be a reference to the environment.
const REFERENCE: &str = r"\$\{";
const DURATION: &str = r"^[+]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$";
const SIZE: &str = r"^[0-9]+(\.[0-9]+)? ?(B|KiB|MiB|GiB|TiB|[kK]B|MB|GB|TB)?$";
const PERCENT: &str = r"^[0-9]+(\.[0-9]+)? ?%$";

/// What may stand below a key. Null is taken everywhere: it is the default.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    Text,
    Flag,
    /// An integer (a fraction is cut off).
    Whole,
    Number,
    Duration,
    Size,
    /// A size or a percentage.
    Share,
    /// One of some words.
    Words(&'static [&'static str]),
    /// A list; a single value (no mapping) is a list of one.
    Many(&'static Shape),
    /// Free names.
    Named(&'static Shape),
    /// Known keys.
    Block(&'static [Key]),
    /// Stands once, under `$defs`.
    Shared(&'static str, &'static Shape),
    /// Components: ids `type` or `type/name` of these types.
    Components(&'static [Key]),
    /// Header names with values, or a list of names and values.
    Headers,
    /// A text, or what is given.
    TextOr(&'static Shape),
    /// A value of any kind.
    Anything,
    /// Taken and without effect.
    Ignored,
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    pub name: &'static str,
    pub shape: Shape,
    pub about: &'static str,
}

impl Key {
    pub(crate) const fn new(name: &'static str, shape: Shape, about: &'static str) -> Self {
        Self { name, shape, about }
    }

    /// A key of the Collector that changes nothing here.
    pub(crate) const fn ignored(name: &'static str) -> Self {
        Self {
            name,
            shape: Shape::Ignored,
            about: "Taken, without effect.",
        }
    }
}

const HEADER: Shape = Shape::Block(&[
    Key::new("name", Shape::Text, "Name of the header."),
    Key::new("value", Shape::Text, "Its value."),
]);

impl Shape {
    /// The JSON schema.
    pub(crate) fn json(&self) -> Value {
        match self {
            Self::Text => json!({"type": ["string", "null"]}),
            Self::Flag => json!({"type": ["boolean", "null", "string"], "pattern": REFERENCE}),
            Self::Whole | Self::Number => {
                json!({"type": ["number", "null", "string"], "pattern": REFERENCE})
            }
            Self::Duration => {
                json!({"type": ["string", "integer", "null"], "pattern": either(DURATION), "minimum": 0, "maximum": 0})
            }
            Self::Size => {
                json!({"type": ["string", "integer", "null"], "pattern": either(SIZE), "minimum": 0})
            }
            Self::Share => {
                let pattern = format!("{}|{PERCENT}", either(SIZE));
                json!({"type": ["string", "integer", "null"], "pattern": pattern, "minimum": 0})
            }
            Self::Words(words) => json!({"anyOf": [
                {"enum": words},
                {"type": ["string", "null"], "pattern": REFERENCE},
            ]}),
            Self::Shared(name, _) => json!({"$ref": format!("#/$defs/{name}")}),
            Self::Many(block @ (Self::Block(_) | Self::Shared(..))) => {
                json!({"type": ["array", "null", "string"], "items": block.json(), "pattern": REFERENCE})
            }
            Self::Many(item) => {
                json!({"anyOf": [{"type": ["array", "null"], "items": item.json()}, item.json()]})
            }
            Self::Named(value) => {
                json!({"type": ["object", "null"], "additionalProperties": value.json()})
            }
            Self::Headers => json!({"anyOf": [
                {"type": ["object", "null"], "additionalProperties": Self::Text.json()},
                {"type": "array", "items": HEADER.json()},
            ]}),
            Self::Block(keys) => object("properties", keys, ToOwned::to_owned),
            Self::Components(keys) => {
                object("patternProperties", keys, |name| format!("^{name}(/.+)?$"))
            }
            Self::TextOr(shape) => json!({"anyOf": [Self::Text.json(), shape.json()]}),
            Self::Anything | Self::Ignored => json!({}),
        }
    }
}

impl Shape {
    /// What stands under `$defs`, by name.
    pub(crate) fn definitions(&self, out: &mut Map<String, Value>) {
        match self {
            Self::Shared(name, shape) if !out.contains_key(*name) => {
                out.insert((*name).to_owned(), shape.json());
                shape.definitions(out);
            }
            Self::Many(item) | Self::Named(item) | Self::TextOr(item) => item.definitions(out),
            Self::Block(keys) | Self::Components(keys) => {
                keys.iter().for_each(|key| key.shape.definitions(out))
            }
            _ => {}
        }
    }
}

fn either(pattern: &str) -> String {
    format!("{pattern}|{REFERENCE}")
}

fn object(kind: &str, keys: &[Key], name: impl Fn(&str) -> String) -> Value {
    let property = |key: &Key| {
        let mut schema = key.shape.json();
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), key.about.into());
            if matches!(key.shape, Shape::Ignored) {
                schema.insert("deprecated".to_owned(), true.into());
            }
        }
        (name(key.name), schema)
    };
    let properties: Map<String, Value> = keys.iter().map(property).collect();
    json!({"type": ["object", "null", "string"], kind: properties, "additionalProperties": false, "pattern": REFERENCE})
}

#[cfg(test)]
impl Shape {
    /// All blocks below, by path, with their keys: `a.b[].c`.
    pub(crate) fn keys(
        &self,
        path: &str,
        out: &mut std::collections::BTreeMap<String, std::collections::BTreeSet<String>>,
    ) {
        let below = |name: &str| {
            if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}.{name}")
            }
        };
        match self {
            Self::Many(item) => item.keys(&format!("{path}[]"), out),
            Self::Shared(_, shape) | Self::TextOr(shape) => shape.keys(path, out),
            Self::Headers => HEADER.keys(&format!("{path}[]"), out),
            // The one mapping of blocks with free names: pipelines.
            Self::Named(value) => value.keys(&below("traces"), out),
            Self::Components(keys) => keys
                .iter()
                .for_each(|key| key.shape.keys(&below(key.name), out)),
            Self::Block(keys) => {
                let names = keys.iter().map(|key| key.name.to_owned());
                out.entry(path.to_owned()).or_default().extend(names);
                keys.iter()
                    .for_each(|key| key.shape.keys(&below(key.name), out));
            }
            _ => {}
        }
    }
}
