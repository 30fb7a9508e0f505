//! Whether a thread still runs, for those who do not own it.

use std::sync::{Arc, Weak};

/// The thread holds the other end; it is gone when the thread has ended, by a panic too.
#[derive(Debug, Clone)]
pub struct Pulse(Weak<()>);

impl Pulse {
    /// A pulse, and what the thread must hold.
    pub(super) fn new() -> (Self, Arc<()>) {
        let alive = Arc::new(());
        (Self(Arc::downgrade(&alive)), alive)
    }

    /// The thread has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.0.strong_count() == 0
    }
}
