//! What one service holds of memory, and its cap.
//!
//! The numbers are bytes that the process really holds, kept by whoever holds them. All of them together say how far a
//! service is over its cap, and whose payload leaves the cache when room is needed: until then what others leave is lent.
//! What an early decision or a refusal would free (`held`) says when these are due; the payload of decided traces and the
//! memory of their decisions are not part of it: they go when others need their room, each by its own cap.

use super::services::ServiceId;
use super::settings::OnFull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Full is one sixteenth under the cap: room for the requests that were admitted and are not in the cache yet, so that
/// they do not push undecided payload out.
pub(crate) const HEADROOM_PART: u64 = 16;

/// A service's account.
#[derive(Debug)]
pub struct Account {
    /// Whose it is.
    pub id: ServiceId,
    /// `service.name`, cut at 256 bytes; `other` for all beyond the first thousand.
    pub name: Arc<str>,
    /// Bytes that are its own: what it holds beyond them is lent, and `on_full` is due.
    pub cap: u64,
    /// What happens at the cap.
    pub on_full: OnFull,
    /// Requests on their way through the log, and their scanned form until every worker has taken it.
    pub intake: AtomicU64,
    /// Blocks in the cache.
    pub cache: AtomicU64,
    /// Payload of undecided pieces in those blocks, with what a block costs beside its payload.
    pub undecided: AtomicU64,
    /// Skeletons of its traces (kept by the sampler).
    pub skeletons: AtomicU64,
    /// Decision memory of its traces (kept by the sampler). It has a cap and a window of its own, and neither an early
    /// decision nor a refusal would free any of it.
    pub decisions: AtomicU64,
    /// Counter: bytes of undecided payload that left the cache.
    pub spilled: AtomicU64,
    /// Counter: requests refused because of this service.
    pub refused: AtomicU64,
    /// Counter: spans that a head coin has left out before the log.
    pub lost_coin: AtomicU64,
    /// The log is nearly full and more than this service's share of it is this service's.
    pub(crate) over_share: AtomicBool,
    /// Undecided payload had to leave the cache because the service was over its cap, and none of its pieces was decided since: blocks so large
    /// that the sum stays under the cap.
    pub(crate) pressed: AtomicBool,
}

impl Account {
    pub(super) fn new(id: ServiceId, name: &str, cap: u64, on_full: OnFull) -> Self {
        Self {
            id,
            name: Arc::from(name),
            cap,
            on_full,
            intake: AtomicU64::new(0),
            cache: AtomicU64::new(0),
            undecided: AtomicU64::new(0),
            skeletons: AtomicU64::new(0),
            decisions: AtomicU64::new(0),
            spilled: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            lost_coin: AtomicU64::new(0),
            over_share: AtomicBool::new(false),
            pressed: AtomicBool::new(false),
        }
    }

    /// Bytes that it would be over its cap, all parts together, with `more`.
    pub(super) fn excess(&self, more: u64) -> u64 {
        let parts = [&self.intake, &self.cache, &self.skeletons, &self.decisions];
        let all = parts.iter().map(|part| part.load(Ordering::Relaxed));
        all.fold(more, u64::saturating_add).saturating_sub(self.cap)
    }

    /// Bytes for which `on_full` is due at the cap.
    #[must_use]
    pub fn held(&self) -> u64 {
        let parts = [&self.intake, &self.undecided, &self.skeletons];
        parts
            .iter()
            .map(|part| part.load(Ordering::Relaxed))
            .fold(0, u64::saturating_add)
    }

    /// Whether nothing more should be taken for it (one sixteenth under the cap).
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.pressed.load(Ordering::Relaxed) || self.is_full_with(0)
    }

    /// The same for what it holds with `more`.
    pub(super) fn is_full_with(&self, more: u64) -> bool {
        self.held().saturating_add(more) >= self.cap - self.cap / HEADROOM_PART
    }
}

/// Bytes charged to a service's intake for as long as this lives.
#[derive(Debug)]
pub(crate) struct IntakeCharge {
    account: Arc<Account>,
    bytes: u64,
}

impl IntakeCharge {
    pub(crate) fn new(account: Arc<Account>, bytes: u64) -> Self {
        account.intake.fetch_add(bytes, Ordering::Relaxed);
        Self { account, bytes }
    }
}

impl Drop for IntakeCharge {
    fn drop(&mut self) {
        self.account.intake.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
