//! Log time: it goes on from where the log stood when it was opened, at the pace of the monotonic clock.

use crate::clock::{Nanos, SharedClock};

#[derive(Debug)]
pub(super) struct LogTime {
    clock: SharedClock,
    base: Nanos,
    opened: Nanos,
}

impl LogTime {
    /// A log whose time is `base` now; a new one (`None`) begins at the wall clock.
    pub(super) fn starting(clock: SharedClock, base: Option<Nanos>) -> Self {
        let base = base.unwrap_or_else(|| clock.unix());
        let opened = clock.monotonic();
        Self {
            clock,
            base,
            opened,
        }
    }

    /// Now.
    pub(super) fn now(&self) -> Nanos {
        self.base
            .saturating_add(self.clock.monotonic().saturating_sub(self.opened))
    }
}
