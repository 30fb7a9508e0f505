//! One text of a trace out of those that its spans tell: the one with the least key, so that no order matters.

use super::words::Kind;
use super::{record::SpanRecord, words::Stand};

/// A text as a number, with what it is preferred by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pick {
    pub(super) key: u64,
    pub(super) value: u64,
}

impl Default for Pick {
    fn default() -> Self {
        Self {
            key: u64::MAX,
            value: 0,
        }
    }
}

impl Pick {
    /// Of one record.
    pub(super) fn of(record: &SpanRecord<u64>, value: Option<u64>) -> Self {
        value.map_or_else(Self::default, |value| Self {
            key: key(record.kind, record.stand, record.start),
            value,
        })
    }

    /// The better one.
    pub(super) fn merge(&mut self, other: Self) {
        *self = (*self).min(other);
    }

    pub(super) fn value(self) -> Option<u64> {
        (self.key != u64::MAX).then_some(self.value)
    }
}

/// Calls before what stands around them, then the layer that knows best, then the first in time (of 32 ns).
fn key(kind: Kind, stand: Stand, start: u64) -> u64 {
    let kind = match kind {
        Kind::Inference => 0,
        Kind::Embeddings | Kind::Rerank => 1,
        _ => 2,
    };
    kind << 62 | (stand as u64) << 59 | start >> 5
}
