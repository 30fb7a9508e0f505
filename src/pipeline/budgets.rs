//! How the memory total is divided. Every part is a cap in bytes; what is not used is not held.

use crate::log::MemorySettings;

/// Bytes for each part of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budgets {
    /// All that the caps govern.
    pub(crate) total: u64,
    /// Bodies that receivers hold.
    pub(crate) intake: u64,
    /// Scanned requests between the log and the workers.
    pub(crate) window: u64,
    /// Skeletons of all samplers.
    pub(crate) skeletons: u64,
    /// Decision memory of all samplers.
    pub(crate) memory: u64,
    /// Requests that are passed on; 0 where no pipeline does.
    pub(crate) relays: u64,
    /// Payload cache: the rest.
    pub(crate) cache: u64,
}

/// Bodies in flight, as a part of the total; at least one message of the default size must fit several times.
const INTAKE_PART: u64 = 8;
const WINDOW_PART: u64 = 16;
const MEMORY_PART: u64 = 8;
/// Half of what lies between log and workers: senders hold what does not fit.
const RELAY_PART: u64 = 32;

impl Budgets {
    /// Divides `memory.total`; `skeletons` is what the config gives them, `relays` whether any pipeline passes requests on.
    pub(crate) fn of(memory: &MemorySettings, skeletons: u64, relays: bool) -> Self {
        let total = memory.total;
        let (intake, window, ids) = (
            total / INTAKE_PART,
            total / WINDOW_PART,
            total / MEMORY_PART,
        );
        let relays = if relays { total / RELAY_PART } else { 0 };
        let cache = total.saturating_sub(intake + window + ids + skeletons + relays);
        Self {
            total,
            intake,
            window,
            skeletons,
            memory: ids,
            relays,
            cache,
        }
    }
}
