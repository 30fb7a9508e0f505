//! What the log's handle, its writer and its feeds share.

use super::holds::Holds;
use super::log_time::LogTime;
use super::queue::Queue;
use super::window::Window;
use crate::log::cache::Cache;
use crate::log::errors::AppendError;
use crate::log::services::Services;
use crate::log::stats::Counters;
use crate::log::stream::Stream;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use tokio::sync::oneshot;

/// Where a request waits for its answer.
pub(super) type Answer = oneshot::Sender<Result<u64, AppendError>>;

#[derive(Debug)]
pub(super) struct Core<A> {
    pub(super) stream: Stream,
    pub(super) time: LogTime,
    pub(super) queue: Queue<A>,
    pub(super) window: Mutex<Window<A>>,
    /// The window got frames, a write failed, or the log ended.
    pub(super) changed: Condvar,
    pub(super) cache: Cache,
    pub(super) services: Arc<Services>,
    pub(super) holds: Holds,
    pub(super) counters: Counters,
}

impl<A> Core<A> {
    /// Gives the stamp of the next write. From here on log time does not pass it until the write has ended.
    pub(super) fn begin_write(&self) -> u64 {
        let mut window = self.window.lock();
        let stamp = self.time.now();
        window.in_flight = Some(stamp);
        stamp
    }

    /// The write brought nothing.
    pub(super) fn abandon_write(&self) {
        self.window.lock().in_flight = None;
        self.changed.notify_all();
    }

    /// No more frames will come.
    pub(super) fn close(&self) {
        self.queue.stop();
        self.queue.clear();
        let mut window = self.window.lock();
        window.in_flight = None;
        window.closed = true;
        drop(window);
        self.changed.notify_all();
    }
}
