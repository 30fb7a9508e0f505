//! Which segments may go, and who is refused when none may.
//!
//! Only what no holder needs goes: the oldest sealed segment when the share is used up, or when it is older than the set
//! age. With an age, a segment is sealed after half of it, so that little traffic does not keep old spans for ever. When needed segments fill more than four fifths, services with more than an equal part of the log are refused.
//! Bytes per service are counted per segment since open; what was there before is nobody's, so that right after a
//! restart a service may get more than its part, never less.

use super::core::Core;
use crate::log::account::Account;
use crate::log::api::Block;
use crate::log::errors::{AppendError, RETRY_AFTER_DISK};
use crate::log::services::ServiceId;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Shares count when needed segments are over 4/5 of the log (design.md section 3: "the last 20 %").
const SHARED_PART: (u64, u64) = (4, 5);

#[derive(Debug)]
pub(super) struct Retention {
    age: Option<u64>,
    /// Bytes by service, by the base of the segment.
    segments: BTreeMap<u64, HashMap<ServiceId, u64>>,
    totals: HashMap<ServiceId, u64>,
    /// Whether any account is marked.
    marked: bool,
    /// Base of the segment that is written to, and the log time when it was first seen.
    active: (u64, u64),
}

impl Retention {
    /// `active` is the segment that is written to, and log time now.
    pub(super) fn new(age: Option<Duration>, active: (u64, u64)) -> Self {
        let age = age.map(|age| u64::try_from(age.as_nanos()).unwrap_or(u64::MAX));
        Self {
            age,
            segments: BTreeMap::new(),
            totals: HashMap::new(),
            marked: false,
            active,
        }
    }

    /// Lets old segments go until `total` bytes can be appended.
    pub(super) fn make_room<A>(&mut self, core: &Core<A>, total: u64) -> Result<(), AppendError> {
        while !core.stream.has_room(total) {
            if !self.release_oldest(core) {
                return Err(AppendError::Full {
                    reason: "log full",
                    retry_after: RETRY_AFTER_DISK,
                });
            }
        }
        Ok(())
    }

    /// Lets the oldest segment go, if it is sealed and nobody needs it.
    pub(super) fn release_oldest<A>(&mut self, core: &Core<A>) -> bool {
        let Some(oldest) = core.stream.segments().first().copied() else {
            return false;
        };
        let released =
            oldest.end <= core.holds.least() && core.stream.release_before(oldest.end) > 0;
        self.forget_below(core.stream.start());
        released
    }

    /// After each write and once a second: the age, and who is over its share.
    pub(super) fn tidy<A>(&mut self, core: &Core<A>) {
        if let Some(age) = self.age {
            let now = core.time.now();
            self.seal_in_time(core, age, now);
            let oldest_allowed = now.saturating_sub(age);
            while core
                .stream
                .oldest_sealed()
                .is_some_and(|s| s.stamp < oldest_allowed)
                && self.release_oldest(core)
            {}
        }
        self.mark(core);
    }

    fn seal_in_time<A>(&mut self, core: &Core<A>, age: u64, now: u64) {
        let base = core.stream.active_base();
        if base != self.active.0 {
            self.active = (base, now);
        } else if now.saturating_sub(self.active.1) > age / 2 {
            // A log without room for a segment is tried again after the same time.
            drop(core.stream.seal());
            self.active = (core.stream.active_base(), now);
        }
    }

    /// Counts the blocks of a frame in the segment at `base`.
    pub(super) fn wrote(&mut self, base: u64, blocks: &[Block]) {
        let segment = self.segments.entry(base).or_default();
        for block in blocks {
            *segment.entry(block.service).or_default() += block.bytes.len() as u64;
            *self.totals.entry(block.service).or_default() += block.bytes.len() as u64;
        }
    }

    fn forget_below(&mut self, start: u64) {
        while let Some(entry) = self.segments.first_entry().filter(|e| *e.key() < start) {
            for (service, bytes) in entry.remove() {
                if let Some(total) = self.totals.get_mut(&service) {
                    *total = total.saturating_sub(bytes);
                }
            }
        }
        self.totals.retain(|_, total| *total > 0);
    }

    fn mark<A>(&mut self, core: &Core<A>) {
        let capacity = core.stream.max_bytes();
        let pressed =
            core.stream.bytes_from(core.holds.least()) > capacity / SHARED_PART.1 * SHARED_PART.0;
        if !pressed && !self.marked {
            return;
        }
        let share = capacity / (self.totals.len() as u64).max(1);
        for account in core.services.all() {
            let over = pressed && self.is_over(&account, share);
            account.over_share.store(over, Ordering::Relaxed);
        }
        self.marked = pressed;
    }

    fn is_over(&self, account: &Arc<Account>, share: u64) -> bool {
        self.totals
            .get(&account.id)
            .is_some_and(|total| *total > share)
    }
}
