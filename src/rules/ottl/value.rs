//! Values while a condition is evaluated. Text and containers of the span are borrowed from its bytes.
//!
//! The Collector has several kinds of lists and maps (its own, Go's, literals) that compare differently; so have we.

use super::built::{Built, Extent};
use super::error::EvalError;
use super::time::Time;
use super::wire;
use crate::otlp::AnyValue;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

pub(super) type Bytes<'a> = Cow<'a, [u8]>;
pub(super) type Out<'a> = Result<Value<'a>, EvalError>;
pub(super) type Items<'a> = Arc<Built<Value<'a>>>;
pub(super) type Entries<'a> = Arc<Built<(Bytes<'a>, Value<'a>)>>;

#[derive(Clone)]
pub(super) enum Value<'a> {
    Nil,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Bytes<'a>),
    Bytes(Bytes<'a>),
    /// Nanoseconds.
    Duration(i64),
    Time(Time),
    Id(Id),
    Map(Map<'a>),
    List(List<'a>),
    Whole(Whole),
    /// A Go `int`, which equals no literal: a URL's port.
    Port(i64),
}

/// An id keeps its kind: a trace id never equals a span id, and neither equals a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Id {
    Trace([u8; 16]),
    Span([u8; 8]),
    Profile([u8; 16]),
}

/// What can be counted or compared with itself only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    Events(usize),
    Links(usize),
    Status,
}

#[derive(Clone)]
pub(super) enum Map<'a> {
    /// `KeyValue`s in a field of a message.
    Wire(&'a [u8], u32),
    /// Built here. `raw`: Go's own map, else the Collector's.
    Built(Entries<'a>, bool),
}

#[derive(Clone)]
pub(super) enum List<'a> {
    /// An `ArrayValue` message.
    Wire(&'a [u8]),
    Built(Items<'a>, ListKind),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    /// The Collector's own.
    Plain,
    /// Go's list of anything: a literal, a result of `Sort`.
    Raw,
    /// Go's list of strings: a result of `Split`.
    Texts,
}

impl<'a> Value<'a> {
    pub(super) fn text(text: impl Into<Vec<u8>>) -> Self {
        Self::Text(Cow::Owned(text.into()))
    }

    pub(super) fn list(items: Vec<Self>, kind: ListKind) -> Self {
        Self::List(List::Built(built(items), kind))
    }

    pub(super) fn map(entries: Vec<(Bytes<'a>, Self)>, raw: bool) -> Self {
        Self::Map(Map::Built(built_entries(entries), raw))
    }

    /// What an attribute reads as.
    #[inline]
    pub(super) fn of(value: AnyValue<'a>) -> Self {
        match value {
            AnyValue::Empty => Self::Nil,
            AnyValue::Str(text) => Self::Text(Cow::Borrowed(text)),
            AnyValue::Bool(value) => Self::Bool(value),
            AnyValue::Int(value) => Self::Int(value),
            AnyValue::Double(value) => Self::Double(value),
            AnyValue::Array(message) => Self::List(List::Wire(message)),
            AnyValue::Map(message) => Self::Map(Map::Wire(message, 1)),
            AnyValue::Bytes(bytes) => Self::Bytes(Cow::Borrowed(bytes)),
        }
    }

    /// The same without a copy of the text.
    pub(super) fn borrowed(&'a self) -> Self {
        match self {
            Self::Text(text) => Self::Text(Cow::Borrowed(text)),
            Self::Bytes(bytes) => Self::Bytes(Cow::Borrowed(bytes)),
            other => other.clone(),
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "a bool",
            Self::Int(_) => "an int",
            Self::Double(_) => "a double",
            Self::Text(_) => "a string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "a duration",
            Self::Time(_) => "a time",
            Self::Id(_) => "an id",
            Self::Map(_) => "a map",
            Self::List(_) => "a list",
            Self::Whole(Whole::Events(_)) => "the events",
            Self::Whole(Whole::Links(_)) => "the links",
            Self::Whole(Whole::Status) => "the status",
            Self::Port(_) => "a port",
        }
    }

    /// What walking the value takes.
    pub(super) fn extent(&self) -> Extent {
        match self {
            Self::Text(bytes) | Self::Bytes(bytes) => Extent::of_bytes(bytes.len()),
            Self::Map(Map::Wire(message, _)) | Self::List(List::Wire(message)) => {
                Extent::of_bytes(message.len())
            }
            Self::Map(Map::Built(entries, _)) => entries.extent(),
            Self::List(List::Built(items, _)) => items.extent(),
            _ => Extent { size: 1, depth: 0 },
        }
    }

    pub(super) fn wrong(&self, wanted: &'static str) -> EvalError {
        EvalError::Kind {
            wanted,
            got: self.kind(),
        }
    }
}

fn built(items: Vec<Value<'_>>) -> Items<'_> {
    Arc::new(Built::new(items, Value::extent))
}

fn built_entries<'a>(entries: Vec<(Bytes<'a>, Value<'a>)>) -> Entries<'a> {
    Arc::new(Built::new(entries, |(key, value)| {
        let own = Extent::of_bytes(key.len());
        let inner = value.extent();
        Extent {
            size: own.size.saturating_add(inner.size),
            depth: inner.depth,
        }
    }))
}

impl<'a> Map<'a> {
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Value<'a>>, EvalError> {
        match self {
            Self::Wire(message, field) => Ok(wire::find(message, *field, key)?.map(Value::of)),
            Self::Built(entries, _) => Ok(entries
                .iter()
                .find(|(name, _)| **name == *key)
                .map(|(_, value)| value.clone())),
        }
    }

    pub(super) fn len(&self) -> Result<usize, EvalError> {
        match self {
            Self::Wire(message, field) => wire::count(message, *field),
            Self::Built(entries, _) => Ok(entries.len()),
        }
    }

    pub(super) fn is_raw(&self) -> bool {
        matches!(self, Self::Built(_, true))
    }

    /// All entries, keys as often as they stand there.
    pub(super) fn entries(&self) -> Result<Entries<'a>, EvalError> {
        match self {
            Self::Wire(message, field) => Ok(built_entries(
                wire::entries(message, *field)?
                    .into_iter()
                    .map(|(key, value)| (Cow::Borrowed(key), Value::of(value)))
                    .collect(),
            )),
            Self::Built(entries, _) => Ok(Arc::clone(entries)),
        }
    }
}

impl<'a> List<'a> {
    pub(super) fn kind(&self) -> ListKind {
        match self {
            Self::Wire(_) => ListKind::Plain,
            Self::Built(_, kind) => *kind,
        }
    }

    pub(super) fn len(&self) -> Result<usize, EvalError> {
        match self {
            Self::Wire(message) => wire::count(message, 1),
            Self::Built(items, _) => Ok(items.len()),
        }
    }

    pub(super) fn items(&self) -> Result<Items<'a>, EvalError> {
        match self {
            Self::Wire(message) => Ok(built(
                wire::items(message)?.into_iter().map(Value::of).collect(),
            )),
            Self::Built(items, _) => Ok(Arc::clone(items)),
        }
    }

    pub(super) fn get(&self, index: i64) -> Out<'a> {
        let index = usize::try_from(index).map_err(|_| EvalError::OutOfBounds)?;
        self.items()?
            .get(index)
            .cloned()
            .ok_or(EvalError::OutOfBounds)
    }
}

impl fmt::Debug for Value<'_> {
    /// The kind only: values are the sender's texts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}
