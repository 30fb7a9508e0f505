//! The span log as the pipeline holds it.

use super::core::Core;
use super::feed::SpanFeed;
use super::holds::Holds;
use super::log_time::LogTime;
use super::queue::Queue;
use super::retention::Retention;
use super::window::Window;
use super::writer;
use crate::clock::SharedClock;
use crate::log::api::{Append, Appended, Feed, Inlet, Log};
use crate::log::cache::Cache;
use crate::log::directory::Directory;
use crate::log::errors::{LogError, ReadError};
use crate::log::piece::{PIECE_HEADER, checked_body, is_erased};
use crate::log::refs::Ref;
use crate::log::services::Services;
use crate::log::settings::LogSettings;
use crate::log::stats::{Counters, LogStats};
use crate::log::stream::Stream;
use crate::otlp::TraceId;
use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

/// What the decision logs know of the span log when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenAt {
    /// Every position that any entry names is below this: new frames lie at or beyond it.
    pub beyond: u64,
    /// The greatest log time of any entry: stamps go on from it, or from the last frame's if that is greater.
    pub stamp: u64,
}

/// The embedded log. Ends its thread when dropped.
#[derive(Debug)]
pub struct SpanLog<A> {
    core: Arc<Core<A>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<A: Send + Sync + 'static> SpanLog<A> {
    /// Recovers the spans of `directory` and starts the writer. The cache keeps up to `cache_bytes` of payload, the
    /// live window up to `window_bytes` of requests: less than the intake budget, or a slow feed stops intake.
    ///
    /// # Errors
    /// The store's; also when there is no room for a segment that lies beyond `at.beyond`.
    #[allow(
        clippy::too_many_arguments,
        reason = "each is another part's; called once"
    )]
    pub fn open(
        directory: &Directory,
        settings: &LogSettings,
        cache_bytes: u64,
        window_bytes: u64,
        services: Arc<Services>,
        clock: SharedClock,
        at: OpenAt,
    ) -> Result<Arc<Self>, LogError> {
        Self::over(
            directory.spans()?,
            settings,
            cache_bytes,
            window_bytes,
            services,
            clock,
            at,
        )
    }

    /// Over a stream that is already there.
    #[allow(clippy::too_many_arguments, reason = "as `open`")]
    pub(super) fn over(
        stream: Stream,
        settings: &LogSettings,
        cache_bytes: u64,
        window_bytes: u64,
        services: Arc<Services>,
        clock: SharedClock,
        at: OpenAt,
    ) -> Result<Arc<Self>, LogError> {
        stream
            .open_beyond(at.beyond)
            .map_err(|error| LogError::Settings(format!("opening the span log: {error}")))?;
        let last = stream.last_stamp().max(at.stamp);
        let core = Arc::new(Core {
            time: LogTime::starting(clock, (last > 0).then_some(last)),
            queue: Queue::new(),
            window: Mutex::new(Window::new(window_bytes, stream.end())),
            changed: Condvar::new(),
            cache: Cache::new(cache_bytes, Arc::clone(&services)),
            services,
            holds: Holds::default(),
            counters: Counters::default(),
            stream,
        });
        let active = (core.stream.active_base(), core.time.now());
        let (shared, retention) = (
            Arc::clone(&core),
            Retention::new(settings.retention, active),
        );
        let thread = std::thread::Builder::new()
            .name("log-writer".to_owned())
            .spawn(move || writer::run(shared, retention))
            .map_err(LogError::io("starting the log's writer"))?;
        Ok(Arc::new(Self {
            core,
            thread: Mutex::new(Some(thread)),
        }))
    }

    /// Log time now, nanoseconds.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.core.time.now()
    }
}

impl<A: Send + Sync + 'static> Log<A> for SpanLog<A> {
    fn feed(&self, from: u64) -> Box<dyn Feed<A>> {
        Box::new(SpanFeed::new(Arc::clone(&self.core), from))
    }

    fn read(&self, place: Ref, _: TraceId) -> Result<Bytes, ReadError> {
        if let Some(bytes) = self.core.cache.get(place) {
            return Ok(bytes);
        }
        let damaged = || ReadError::Damaged {
            position: place.position,
            next: place.position,
        };
        let offset = place
            .offset
            .checked_sub(PIECE_HEADER as u32)
            .ok_or_else(damaged)?;
        let length = place
            .length
            .checked_add(PIECE_HEADER as u32)
            .ok_or_else(damaged)?;
        let piece = self.core.stream.read_at(place.position, offset, length)?;
        let body = checked_body(&piece).ok_or_else(damaged)?;
        if is_erased(&piece) {
            let position = place.position;
            return Err(ReadError::Erased { position });
        }
        Ok(body)
    }

    fn settle(&self, refs: &mut dyn Iterator<Item = Ref>) {
        self.core.cache.settle(refs);
    }

    fn hold(&self, holder: &str, position: u64) {
        self.core.holds.set(holder, position);
    }

    fn forget_holder(&self, holder: &str) {
        self.core.holds.forget(holder);
    }

    fn start(&self) -> u64 {
        self.core.stream.start()
    }

    fn end(&self) -> u64 {
        self.core.window.lock().end
    }
}

impl<A: Send + Sync + 'static> Inlet<A> for SpanLog<A> {
    fn append(&self, request: Append<A>) -> Appended {
        self.core.take(request)
    }

    fn stats(&self) -> LogStats {
        let core = &*self.core;
        let (end, window_bytes) = {
            let window = core.window.lock();
            (window.end, window.bytes)
        };
        LogStats {
            bytes: core.stream.bytes(),
            max_bytes: core.stream.max_bytes(),
            held_bytes: core.stream.bytes_from(core.holds.least()),
            segments: core.stream.segments().len(),
            start: core.stream.start(),
            end,
            oldest_stamp: core.stream.first_stamp(),
            last_stamp: core.stream.last_stamp(),
            now: core.time.now(),
            refused: core.counters.refused(),
            window_bytes,
            cache_bytes: core.cache.bytes(),
            frames: core.counters.frames.load(Ordering::Relaxed),
            spans: core.counters.spans.load(Ordering::Relaxed),
            appended_bytes: core.counters.bytes.load(Ordering::Relaxed),
            writes: core.counters.writes.load(Ordering::Relaxed),
            syncs: core.stream.syncs(),
            shared: None,
        }
    }

    fn stop(&self) {
        self.end_writer();
    }
}

impl<A> SpanLog<A> {
    fn end_writer(&self) {
        self.core.queue.stop();
        if let Some(thread) = self.thread.lock().take() {
            drop(thread.join());
        }
    }
}

impl<A> Drop for SpanLog<A> {
    fn drop(&mut self) {
        self.end_writer();
    }
}
