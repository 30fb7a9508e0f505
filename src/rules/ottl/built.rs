//! Lists and maps that a condition builds, with what they cost to walk.
//!
//! A value can stand in another many times without a copy: thirty-two steps of `[a, a]` stand for four thousand million
//! items. Size and depth are therefore counted where a container is made, and bounded.

use super::error::EvalError;
use std::ops::Deref;

/// Items of items of a value, each as often as it is met. A span's own values have some thousands at most.
pub(super) const MAX_SIZE: u32 = 1 << 20;
/// Containers in containers. JSON texts stop at 128 too.
pub(super) const MAX_DEPTH: u32 = 160;

/// What walking a value takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) size: u32,
    pub(super) depth: u32,
}

/// Items and their extent.
#[derive(Debug, Clone, Default)]
pub(super) struct Built<T> {
    items: Vec<T>,
    extent: Extent,
}

impl Extent {
    /// Of text or of a message of so many bytes.
    pub(super) fn of_bytes(length: usize) -> Self {
        Self {
            size: u32::try_from(length / 16)
                .unwrap_or(u32::MAX)
                .saturating_add(1),
            depth: 0,
        }
    }

    pub(super) fn check(self) -> Result<(), EvalError> {
        if self.size > MAX_SIZE || self.depth > MAX_DEPTH {
            return Err(EvalError::TooComplex);
        }
        Ok(())
    }
}

impl<T> Built<T> {
    pub(super) fn new(items: Vec<T>, of: impl Fn(&T) -> Extent) -> Self {
        let extent = items
            .iter()
            .map(of)
            .fold(Extent::default(), |sum, item| Extent {
                size: sum.size.saturating_add(item.size),
                depth: sum.depth.max(item.depth),
            });
        Self {
            items,
            extent: Extent {
                size: extent.size.saturating_add(1),
                depth: extent.depth + 1,
            },
        }
    }

    pub(super) fn extent(&self) -> Extent {
        self.extent
    }

    pub(super) fn into_items(self) -> Vec<T> {
        self.items
    }
}

impl<T> Deref for Built<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}
