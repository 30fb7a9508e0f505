//! A YAML document as a tree in which every key and value knows where it stands.

/// A place in one of the sources of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// Index into [`super::sources::Sources`].
    pub file: u16,
    /// From 1; 0 when unknown.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
}

/// A value, its place, and whether it may be shown.
#[derive(Clone, PartialEq)]
pub(crate) struct Node {
    /// Where the value is written (of an alias: where its anchor is).
    pub place: Place,
    /// What it is.
    pub value: Value,
    /// Never to be shown.
    pub secret: bool,
    /// The text of a whole-value `${NAME}` as the environment has it: what a string key gets.
    pub expanded: Option<String>,
}

/// A YAML value by the core schema.
#[derive(Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(String),
    Seq(Vec<Node>),
    Map(Vec<Entry>),
    /// Its error is reported already: whoever reads it stays silent.
    Faulty,
}

/// One pair of a mapping; order and duplicates are kept until [`super::duplicates`] has looked at them.
#[derive(Clone, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub key_place: Place,
    pub node: Node,
}

impl Node {
    /// A value that may be shown.
    pub(crate) fn new(place: Place, value: Value) -> Self {
        Self {
            place,
            value,
            secret: false,
            expanded: None,
        }
    }

    /// How a message calls this kind of value.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null | Value::Faulty => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Int(_) => "an integer",
            Value::Float(_) => "a number with a fraction",
            Value::Str(_) => "a string",
            Value::Seq(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    /// Nothing is written, or `null`: the default applies.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The last line of the key's file on which something below begins.
    pub(crate) fn last_line(&self, key: Place) -> u32 {
        let below = match &self.value {
            Value::Seq(items) => items.iter().map(|item| item.last_line(key)).max(),
            Value::Map(entries) => entries.iter().map(|entry| entry.node.last_line(key)).max(),
            _ => None,
        };
        let own = if self.place.file == key.file {
            self.place.line
        } else {
            0
        };
        below.unwrap_or(0).max(own)
    }

    /// Marks this value and all below it as secret.
    pub(crate) fn hide(&mut self) {
        self.secret = true;
        match &mut self.value {
            Value::Seq(items) => items.iter_mut().for_each(Self::hide),
            Value::Map(entries) => entries.iter_mut().for_each(|entry| entry.node.hide()),
            _ => {}
        }
    }
}
