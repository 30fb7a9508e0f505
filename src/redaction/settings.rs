//! Checked settings of redaction: what the config gives. Everything is kept unless it says otherwise.

use super::class::FieldClass;
use crate::secret::Secret;

/// What is done with a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Action {
    /// It leaves as it came.
    #[default]
    Keep,
    /// It does not leave.
    Drop,
    /// At most this many bytes of it leave, and a mark; JSON stays JSON.
    Truncate(usize),
    /// Its HMAC-SHA256 under the key leaves: equal texts can be told to be equal.
    Hash,
    /// This text leaves.
    Replace(String),
}

impl Action {
    /// Of two the one that lets less through.
    pub(super) fn stricter<'a>(&'a self, other: &'a Self) -> &'a Self {
        let rank = |action: &Self| match action {
            Self::Keep => (0, 0),
            Self::Truncate(bytes) => (1, usize::MAX - bytes),
            Self::Hash => (2, 0),
            Self::Replace(_) => (3, 0),
            Self::Drop => (4, 0),
        };
        if rank(other) > rank(self) {
            other
        } else {
            self
        }
    }
}

/// What is done with attributes by their key, whatever their class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeRule {
    /// Keys; `*` stands for any text.
    pub keys: Vec<String>,
    /// What is done.
    pub action: Action,
}

/// `redact` of an exporter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RedactSettings {
    /// By class, in the order of [`FieldClass::ALL`].
    pub classes: [Action; FieldClass::ALL.len()],
    /// The first whose keys match counts, before any class.
    pub attributes: Vec<AttributeRule>,
    /// The key of [`Action::Hash`]; there when any action is one.
    pub hash_key: Option<Secret>,
}

impl RedactSettings {
    /// What is done with a class.
    #[must_use]
    pub fn action(&self, class: FieldClass) -> &Action {
        // One for each class: the place is there.
        self.classes.get(class as usize).unwrap_or(&Action::Drop)
    }

    /// All actions that are named.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        let rules = self.attributes.iter().map(|rule| &rule.action);
        self.classes.iter().chain(rules)
    }

    /// Some text of calls is changed; errors are none.
    #[must_use]
    pub fn changes_calls(&self) -> bool {
        let mut classes = FieldClass::ALL.into_iter();
        classes.any(|class| class != FieldClass::Error && *self.action(class) != Action::Keep)
    }

    /// Nothing is changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.actions().all(|action| *action == Action::Keep)
    }
}
