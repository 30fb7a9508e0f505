//! The longest of many times, in one word.

/// 0 is none; else the time and one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Longest(pub(super) u64);

impl Longest {
    pub(super) fn of(time: Option<u64>) -> Self {
        Self(time.map_or(0, |time| time.saturating_add(1)))
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.0 = self.0.max(other.0);
    }

    pub(super) fn time(self) -> Option<u64> {
        self.0.checked_sub(1)
    }
}
