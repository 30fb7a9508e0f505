//! What the pages show: open from before the start until after the stop, with metrics in between.

use super::metrics::Metrics;
use super::observe::Observe;
use crate::clock::SharedClock;
use parking_lot::RwLock;
use std::sync::Arc;
use std::time::Duration;

/// Behind the pages of one pipeline process.
pub(crate) struct Board {
    observe: Box<dyn Observe>,
    clock: SharedClock,
    started: (u64, u64),
    metrics: RwLock<Option<Arc<Metrics>>>,
}

impl Board {
    pub(crate) fn new(observe: Box<dyn Observe>, clock: SharedClock) -> Self {
        let started = (clock.unix(), clock.monotonic());
        Self {
            observe,
            clock,
            started,
            metrics: RwLock::new(None),
        }
    }

    /// Monotonic time of the start, nanoseconds.
    pub(crate) fn started(&self) -> u64 {
        self.started.1
    }

    /// From here on there are metrics.
    pub(crate) fn open(&self, metrics: Arc<Metrics>) {
        *self.metrics.write() = Some(metrics);
    }

    /// No more metrics, and no handle on the log: a connection that hangs must not keep the directory locked.
    pub(crate) fn close(&self) {
        *self.metrics.write() = None;
    }

    pub(super) fn metrics(&self) -> Option<Arc<Metrics>> {
        self.metrics.read().clone()
    }

    pub(super) fn ready(&self) -> Result<(), String> {
        self.observe.ready()
    }

    /// Wall clock of the start, nanoseconds since the Unix epoch, and the time since.
    pub(super) fn up(&self) -> (u64, Duration) {
        (
            self.started.0,
            Duration::from_nanos(self.clock.monotonic().saturating_sub(self.started.1)),
        )
    }
}
