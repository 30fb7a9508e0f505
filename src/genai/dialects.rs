//! The table, ready to be asked: one look-up for each attribute key, event name or span name.
//!
//! Built once at start from the text that is built in and, in front of it, rows of the operator's own. Nothing here
//! changes afterwards, and nothing allocates when asked.

use super::compile::compile;
use super::fold_text::Folded;
use super::key_index::KeyIndex;
use super::lines::TableError;
use super::rows::{Path, Rows};
use super::words::{Concept, Finish, Form, Kind, Operation, Stand, TextField};
use hashbrown::{HashMap, HashSet};

const BUILT_IN: &str = include_str!("dialects.table");

/// Which dialect; [`Dialects::name`] has its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DialectId(pub(super) u8);

/// Conditions of the dialects that hold, a bit for each.
pub(super) type Marks = u128;

/// A row of `[keys]`, numbered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) concept: Concept,
    pub(super) form: Form,
    /// Of two rows of one concept the lower counts.
    pub(super) rank: u16,
    /// The dialects it is for, a bit for each.
    pub(super) only: u64,
    pub(super) group: u8,
    pub(super) named: Option<Box<[u8]>>,
}

/// What is known of one attribute key.
#[derive(Debug, Default)]
pub(super) struct KeyEntry {
    pub(super) marks: Marks,
    /// Values that set further marks.
    pub(super) values: Vec<(Box<[u8]>, Marks)>,
    pub(super) rows: Vec<Row>,
    /// Places inside JSON text.
    pub(super) leaves: Vec<(Path, Row)>,
    /// By value, in lower case; each for the dialects with these bits, the first that is.
    pub(super) kinds: HashMap<Box<[u8]>, Vec<(u64, KindOf)>>,
    /// Of every other value.
    pub(super) other_kind: Vec<(u64, KindOf)>,
}

/// What is known of one event name.
#[derive(Debug, Default)]
pub(super) struct EventEntry {
    pub(super) rows: Vec<Row>,
    /// Key, path inside JSON text (empty: the value itself), row.
    pub(super) attributes: Vec<(Box<[u8]>, Path, Row)>,
}

/// What is known of one span name.
#[derive(Debug, Default)]
pub(super) struct NameEntry {
    pub(super) marks: Marks,
    pub(super) rows: Vec<Row>,
    pub(super) kinds: Vec<(u64, KindOf)>,
}

/// What a value of a kind key says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KindOf {
    pub(super) kind: Kind,
    pub(super) operation: Option<Operation>,
    pub(super) stream: Option<bool>,
}

/// A line of `[dialects]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Test {
    pub(super) need: Marks,
    pub(super) dialect: DialectId,
    pub(super) stand: Stand,
    pub(super) kind: Kind,
    /// No key tells another kind.
    pub(super) fixed: bool,
}

/// A scope name, or the beginning of many.
#[derive(Debug)]
pub(super) struct ScopeMark {
    pub(super) name: Box<[u8]>,
    pub(super) prefix: bool,
    pub(super) marks: Marks,
}

/// The table.
#[derive(Debug, Default)]
pub struct Dialects {
    pub(super) keys: KeyIndex,
    pub(super) key_entries: Vec<KeyEntry>,
    pub(super) events: KeyIndex,
    pub(super) event_entries: Vec<EventEntry>,
    pub(super) names: KeyIndex,
    pub(super) name_entries: Vec<NameEntry>,
    pub(super) scopes: Vec<ScopeMark>,
    pub(super) server: Marks,
    pub(super) tests: Vec<Test>,
    pub(super) dialect_names: Vec<Box<str>>,
    pub(super) gateways: HashSet<Box<[u8]>>,
    pub(super) finish: HashMap<Box<[u8]>, Finish>,
    pub(super) providers: HashMap<Box<[u8]>, Option<Box<[u8]>>>,
    pub(super) placeholders: HashSet<Box<[u8]>>,
    /// How the keys with numbers in them begin.
    pub(super) families: Vec<Box<[u8]>>,
    pub(super) rows: Rows,
}

impl Dialects {
    /// The built-in table with rows of the operator's own in front of it.
    ///
    /// # Errors
    /// Where a line of `extra` cannot be read.
    pub fn with(extra: &str) -> Result<Self, TableError> {
        let mut rows = Rows::default();
        rows.add("extra dialects", extra)?;
        rows.add("dialects.table", BUILT_IN)?;
        compile(rows)
    }

    /// The name of a dialect.
    #[must_use]
    pub fn name(&self, dialect: DialectId) -> &str {
        self.dialect_names
            .get(usize::from(dialect.0))
            .map_or("", |name| name)
    }

    /// Every dialect's name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.dialect_names.iter().map(|name| &**name)
    }

    /// Keys of attributes that hold a prompt or an answer (`*` at the end: the beginning of many), and what of it.
    pub fn text_keys(&self) -> impl Iterator<Item = (&str, TextField)> {
        self.rows.texts.iter().map(|row| (&*row.key, row.field))
    }

    #[inline]
    pub(super) fn key(&self, key: &[u8]) -> Option<&KeyEntry> {
        self.key_entries.get(self.keys.find(key)?)
    }

    #[inline]
    pub(super) fn event(&self, name: &[u8]) -> Option<&EventEntry> {
        self.event_entries.get(self.events.find(name)?)
    }

    #[inline]
    pub(super) fn span_name(&self, name: &[u8]) -> Option<&NameEntry> {
        self.name_entries.get(self.names.find(name)?)
    }

    /// The marks that a scope of this name sets.
    pub(super) fn scope(&self, name: &[u8]) -> Marks {
        let fits = |scope: &&ScopeMark| {
            if scope.prefix {
                name.starts_with(&scope.name)
            } else {
                *name == *scope.name
            }
        };
        self.scopes
            .iter()
            .filter(fits)
            .fold(0, |marks, scope| marks | scope.marks)
    }

    /// The first dialect whose conditions hold.
    pub(super) fn test(&self, marks: Marks) -> Option<&Test> {
        self.tests.iter().find(|test| test.need & !marks == 0)
    }

    /// The class of a finish reason.
    pub(super) fn finish(&self, word: &[u8]) -> Finish {
        Folded::of(word)
            .and_then(|folded| self.finish.get(folded.reason().as_bytes()))
            .copied()
            .unwrap_or(Finish::Other)
    }

    /// The provider's one name; `None` when the text says nothing.
    pub(super) fn provider<'a>(&'a self, word: &'a [u8]) -> Option<&'a [u8]> {
        match Folded::of(word).and_then(|folded| self.providers.get(folded.as_bytes())) {
            Some(known) => known.as_deref(),
            None => Some(word),
        }
    }

    /// The text stands for nothing.
    pub(super) fn is_placeholder(&self, text: &[u8]) -> bool {
        text.is_empty()
            || Folded::of(text).is_some_and(|folded| self.placeholders.contains(folded.as_bytes()))
    }
}
