//! Where decisions lie, and the positions that belong to them: what a sampler and its exporters need of a store.
//!
//! The embedded kinds are a [`Stream`] of segments and a [`CursorFile`](super::CursorFile); with Kafka a partition of the
//! decisions topic and the metadata of the group's offset. Invariant: what [`DecisionLog::append`] has returned can be
//! read, by this process and by the next owner.

use super::errors::{AppendError, ReadError};
use super::frame::{OutFrame, StoredFrame};
use super::stream::{Stream, StreamReader};
use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A log of decisions.
pub trait DecisionLog: Send + Sync + Debug {
    /// Writes frames, all or none; the position of each.
    ///
    /// # Errors
    /// Nothing of it can be read; the same frames may be written again.
    fn append(&self, frames: &[OutFrame<'_>]) -> Result<Vec<u64>, AppendError>;
    /// A reader that begins with the frame at `from`, or with the first one after it.
    fn reader(&self, from: u64) -> Box<dyn FrameReader>;
    /// The oldest position there is.
    fn start(&self) -> u64;
    /// Where the next frame will lie, or before that.
    fn end(&self) -> u64;
    /// The end, sent at each append.
    fn watch(&self) -> watch::Receiver<u64>;
    /// The most bytes that one [`append`](Self::append) can write.
    fn max_batch(&self) -> u64;
    /// Bytes that it takes.
    fn bytes(&self) -> u64;
    /// Bytes that it may take.
    fn max_bytes(&self) -> u64;
    /// Bytes from `position` on.
    fn bytes_from(&self, position: u64) -> u64;
    /// Nobody needs what lies before `position`.
    fn release_before(&self, position: u64);
    /// Whether this process may still write to it: what is another's is another's to decide.
    fn is_ours(&self) -> bool {
        true
    }
    /// Frames that are best written with one append: where one costs much, several.
    fn frames_at_once(&self) -> usize {
        1
    }
    /// Whether what cannot be read now can be later: a store that is away, not one that is broken.
    fn comes_back(&self) -> bool {
        false
    }
    /// How long entries that nobody waits for may gather: what one write costs.
    fn gathers(&self) -> Duration {
        Duration::ZERO
    }
}

/// A place in a log of decisions.
pub trait FrameReader: Send + Debug {
    /// The next frame; `None` at the end, for now.
    ///
    /// # Errors
    /// The reader has already moved past what the error is about: count it and call again.
    #[allow(
        clippy::should_implement_trait,
        reason = "not an iterator: after None there may be more, errors do not end it"
    )]
    fn next(&mut self) -> Result<Option<StoredFrame>, ReadError>;
}

/// A small value that is replaced in one step.
pub trait PositionStore: Send + Sync + Debug {
    /// The value that was saved last; `None` when there never was one.
    fn load(&self) -> Option<Vec<u8>>;
    /// Replaces the value.
    ///
    /// # Errors
    /// The store's; the old value stays.
    fn save(&self, value: &[u8]) -> io::Result<()>;
}

/// A position of any kind.
pub type Position = Arc<dyn PositionStore>;

impl DecisionLog for Stream {
    fn append(&self, frames: &[OutFrame<'_>]) -> Result<Vec<u64>, AppendError> {
        Self::append(self, frames)
    }

    fn reader(&self, from: u64) -> Box<dyn FrameReader> {
        Box::new(Self::reader(self, from))
    }

    fn start(&self) -> u64 {
        Self::start(self)
    }

    fn end(&self) -> u64 {
        Self::end(self)
    }

    fn watch(&self) -> watch::Receiver<u64> {
        Self::watch(self)
    }

    fn max_batch(&self) -> u64 {
        Self::max_batch(self)
    }

    fn bytes(&self) -> u64 {
        Self::bytes(self)
    }

    fn max_bytes(&self) -> u64 {
        Self::max_bytes(self)
    }

    fn bytes_from(&self, position: u64) -> u64 {
        Self::bytes_from(self, position)
    }

    fn release_before(&self, position: u64) {
        let _ = Self::release_before(self, position);
    }
}

impl FrameReader for StreamReader {
    fn next(&mut self) -> Result<Option<StoredFrame>, ReadError> {
        Self::next(self)
    }
}

impl PositionStore for super::CursorFile {
    fn load(&self) -> Option<Vec<u8>> {
        Self::load(self)
    }

    fn save(&self, value: &[u8]) -> io::Result<()> {
        Self::save(self, value)
    }
}
