//! Bytes in flight: what receivers hold that is not yet in the log.
//!
//! Invariant: the sum of all live [`Reservation`]s never exceeds the limit. Receivers reserve as body bytes arrive, so
//! that memory is bounded by bytes and not by the number of requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A cap on bytes in flight, shared by all receivers of a pipeline.
#[derive(Debug, Clone)]
pub struct IntakeBudget {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    used: AtomicU64,
    limit: u64,
}

impl IntakeBudget {
    /// A budget of `limit` bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self {
            shared: Arc::new(Shared {
                used: AtomicU64::new(0),
                limit,
            }),
        }
    }

    /// Bytes reserved now.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.shared.used.load(Ordering::Relaxed)
    }

    /// The cap, in bytes.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.shared.limit
    }

    /// An empty reservation, to be grown as bytes arrive.
    #[must_use]
    pub fn reservation(&self) -> Reservation {
        Reservation {
            budget: self.clone(),
            bytes: 0,
        }
    }
}

/// A share of an [`IntakeBudget`]; given back when dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: IntakeBudget,
    bytes: u64,
}

impl Reservation {
    /// Adds `more` bytes; `false`, and nothing changed, when the budget has no room for them.
    #[must_use]
    pub fn grow(&mut self, more: u64) -> bool {
        let limit = self.budget.shared.limit;
        let taken =
            self.budget
                .shared
                .used
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                    used.checked_add(more).filter(|sum| *sum <= limit)
                });
        if taken.is_ok() {
            self.bytes += more;
        }
        taken.is_ok()
    }

    /// Gives back what it holds over `bytes`, for instance what a decoder reserved and did not fill.
    pub fn shrink(&mut self, bytes: u64) {
        let spare = self.bytes.saturating_sub(bytes);
        self.budget.shared.used.fetch_sub(spare, Ordering::Relaxed);
        self.bytes -= spare;
    }

    /// Bytes that this reservation holds.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget
            .shared
            .used
            .fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
