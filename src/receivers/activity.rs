//! Whether a connection has work to do.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::sleep;

/// Never, without a delay.
pub(super) async fn after(delay: Option<Duration>) {
    match delay {
        Some(delay) => sleep(delay).await,
        None => pending().await,
    }
}

/// Requests of a connection, begun and finished.
#[derive(Debug, Default)]
pub(super) struct Activity {
    begun: AtomicU64,
    finished: AtomicU64,
}

/// A request in flight.
pub(super) struct Active(Arc<Activity>);

impl Activity {
    pub(super) fn begin(this: &Arc<Self>) -> Active {
        this.begun.fetch_add(1, Ordering::Relaxed);
        Active(this.clone())
    }

    /// Resolves when a whole `idle` passed without a request.
    pub(super) async fn idle_for(&self, idle: Option<Duration>) {
        let mut seen = self.begun.load(Ordering::Relaxed);
        loop {
            after(idle).await;
            let begun = self.begun.load(Ordering::Relaxed);
            if begun == seen && self.finished.load(Ordering::Relaxed) == begun {
                return;
            }
            seen = begun;
        }
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.0.finished.fetch_add(1, Ordering::Relaxed);
    }
}
