//! Settings and the dialect table's keys, ready to be asked.

use super::act::{Hasher, begins_as_json};
use super::class::FieldClass;
use super::json_parts;
use super::keys::Keys;
use super::settings::{Action, RedactSettings};
use crate::genai::{Dialects, TableError};
use crate::otlp::{Signal, WireError};
use bytes::Bytes;
use std::borrow::Cow;
use std::fmt;

/// JSON text within JSON text that is followed; libraries write up to two levels.
const MOST_NESTED: usize = 4;

/// Redacts pieces.
#[derive(Default)]
pub struct Redactor {
    pub(super) settings: RedactSettings,
    pub(super) keys: Keys,
    pub(super) hasher: Hasher,
}

impl Redactor {
    /// With the keys of the built-in dialect table.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn new(settings: &RedactSettings) -> Result<Self, TableError> {
        let key = settings.hash_key.as_ref();
        Ok(Self {
            settings: settings.clone(),
            keys: Keys::of(&Dialects::with("")?),
            hasher: Hasher::new(key.map(|key| key.reveal().as_bytes())),
        })
    }

    /// Nothing is done with a piece.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }

    /// The piece as it may leave: a `TracesData` or `LogsData` message.
    ///
    /// # Errors
    /// When the piece is damaged. It must not leave then.
    pub fn apply(&self, signal: Signal, piece: &Bytes) -> Result<Bytes, WireError> {
        if self.is_empty() {
            return Ok(piece.clone());
        }
        let new = self.message(signal, piece)?;
        Ok(new.map_or_else(|| piece.clone(), Bytes::from))
    }

    pub(super) fn action(&self, class: FieldClass) -> &Action {
        self.settings.action(class)
    }

    /// Whatever a text of this class holds, the same is done with it.
    pub(super) fn is_uniform(&self, class: FieldClass) -> bool {
        let own = self.action(class);
        class.holds().iter().all(|part| self.action(*part) == own)
    }

    pub(super) fn strictest(&self, class: FieldClass) -> &Action {
        let parts = class.holds().iter().map(|part| self.action(*part));
        parts.fold(self.action(class), Action::stricter)
    }

    /// A text that may have parts of several classes. What looks like parts and cannot be told apart is treated as the
    /// strictest of them.
    pub(super) fn text<'t>(
        &self,
        class: FieldClass,
        text: &'t [u8],
        nested: usize,
    ) -> Cow<'t, [u8]> {
        if self.is_uniform(class) || !begins_as_json(text) {
            return self.hasher.text(self.action(class), text);
        }
        let parts = (nested < MOST_NESTED)
            .then(|| json_parts::redact(self, text, class, nested))
            .flatten();
        match parts {
            Some(new) => new.into(),
            None => self.hasher.text(self.strictest(class), text),
        }
    }

    /// A text that cannot be read to its end.
    pub(super) fn unreadable<'t>(&self, class: FieldClass, text: &'t [u8]) -> Cow<'t, [u8]> {
        self.hasher.text(self.strictest(class), text)
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
