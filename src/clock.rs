//! The only place that reads a clock.
//!
//! Everything that decides takes *log time* (`log::Feed`), never this clock; what is left for it is stamping appends,
//! retry delays and measuring. Tests replace it with [`ManualClock`].

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds since the Unix epoch.
pub type Nanos = u64;

/// One second in [`Nanos`].
pub const SECOND: Nanos = 1_000_000_000;

/// A clock that may be driven by a test.
pub trait Clock: Send + Sync + Debug + 'static {
    /// Wall clock, nanoseconds since the Unix epoch; may step.
    fn unix(&self) -> Nanos;
    /// Never steps back; the zero is arbitrary. Nanoseconds.
    fn monotonic(&self) -> Nanos;
}

/// A clock shared by the parts of one pipeline.
pub type SharedClock = Arc<dyn Clock>;

/// The machine's clocks.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// A clock whose monotonic zero is now.
    #[allow(clippy::disallowed_methods, reason = "this is the clock module")]
    #[must_use]
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "this is the clock module")]
    fn unix(&self) -> Nanos {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    fn monotonic(&self) -> Nanos {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A clock that moves only when it is told to.
#[derive(Debug, Default)]
pub struct ManualClock {
    now: AtomicU64,
}

impl ManualClock {
    /// A clock that stands at `now` (both readings).
    #[must_use]
    pub fn at(now: Nanos) -> Self {
        Self {
            now: AtomicU64::new(now),
        }
    }

    /// Moves both readings forward.
    pub fn advance(&self, by: Nanos) {
        self.now.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn unix(&self) -> Nanos {
        self.now.load(Ordering::SeqCst)
    }

    fn monotonic(&self) -> Nanos {
        self.now.load(Ordering::SeqCst)
    }
}
