//! Who still needs which part of the log.

use parking_lot::Mutex;
use std::collections::HashMap;

/// Positions by holder.
#[derive(Debug, Default)]
pub(super) struct Holds {
    positions: Mutex<HashMap<String, u64>>,
}

impl Holds {
    pub(super) fn set(&self, holder: &str, position: u64) {
        let mut positions = self.positions.lock();
        match positions.get_mut(holder) {
            Some(held) => *held = position,
            None => drop(positions.insert(holder.to_owned(), position)),
        }
    }

    pub(super) fn forget(&self, holder: &str) {
        self.positions.lock().remove(holder);
    }

    /// Everything below is needed by nobody.
    pub(super) fn least(&self) -> u64 {
        self.positions
            .lock()
            .values()
            .copied()
            .min()
            .unwrap_or(u64::MAX)
    }
}
