//! The log as the rest of the daemon sees it: a trait that an embedded log and a broker can both be.
//!
//! `A` is what intake knows of a request and workers need (its scanned spans): it travels beside the bytes while they are
//! in memory, and is made anew from the bytes when they come from the store.

use super::errors::{AppendError, ReadError};
use super::frame::FrameMeta;
use super::refs::Ref;
use super::services::ServiceId;
use super::stats::LogStats;
use crate::otlp::{Reservation, TraceId};
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// A request to be appended: one frame, in whole or not at all.
#[derive(Debug)]
pub struct Append<A> {
    /// Goes into the frame's header.
    pub meta: FrameMeta,
    /// The body: the bytes of all blocks end to end.
    pub blocks: Vec<Block>,
    /// Handed to the feeds beside the frame.
    pub attachment: A,
    /// What the attachment holds of memory.
    pub attachment_bytes: u64,
    /// The request's part of the intake budget, given back when every feed has the frame (or the window let it go).
    pub reservation: Option<Reservation>,
}

/// The pieces of one service in a request.
#[derive(Debug, Clone)]
pub struct Block {
    /// Who is charged.
    pub service: ServiceId,
    /// Pieces with their headers. An allocation of its own and of just this size: the cache keeps and charges it.
    pub bytes: Bytes,
    /// Pieces in it.
    pub pieces: u32,
}

/// The future of [`Log::append`]: the frame's position. A receive error means that the log ended.
pub type Appended = oneshot::Receiver<Result<u64, AppendError>>;

/// The log as receivers see it: one for the process.
pub trait Inlet<A>: Send + Sync {
    /// Takes a request; resolves when it has the set durability and its place in the order.
    fn append(&self, request: Append<A>) -> Appended;
    /// What it holds and did.
    fn stats(&self) -> LogStats;
    /// Refuses appends, writes what was taken, makes it durable, ends. Blocks until then.
    fn stop(&self);
}

/// The log as the owner of its records sees it: a log of requests. Embedded there is one; with Kafka each partition
/// that is owned is one.
pub trait Log<A>: Send + Sync {
    /// A cursor that begins with the frame at `from`, or with the first one after it. All feeds see the same order.
    fn feed(&self, from: u64) -> Box<dyn Feed<A>>;
    /// A second cursor, over what was fed before.
    fn history(&self, from: u64) -> Box<dyn Feed<A>> {
        self.feed(from)
    }
    /// The bytes of a piece of this trace.
    ///
    /// # Errors
    /// For this piece only: gone, lost, damaged, unreadable.
    fn read(&self, place: Ref, trace: TraceId) -> Result<Bytes, ReadError>;
    /// Pieces of a frame that came without being cached, with the service that each is charged to.
    fn cache(&self, _body: &Bytes, _pieces: &mut dyn Iterator<Item = (Ref, ServiceId)>) {}
    /// A record of a shared log is none that anybody can read; it is passed over when this returns.
    fn unreadable(&self, _position: u64, _body: &Bytes) {}
    /// These pieces are decided. Once for each piece; runs of the same frame are cheapest.
    fn settle(&self, refs: &mut dyn Iterator<Item = Ref>);
    /// The oldest position that `holder` still needs; `u64::MAX`: nothing. Retention keeps the least of all holders'.
    /// What nobody holds may go: hold before the first append.
    fn hold(&self, holder: &str, position: u64);
    /// `holder` is no more.
    fn forget_holder(&self, holder: &str);
    /// The oldest position there is.
    fn start(&self) -> u64;
    /// Position after the last frame.
    fn end(&self) -> u64;
}

/// A cursor over the log, for a plain thread.
pub trait Feed<A>: Send {
    /// What comes next; blocks up to `timeout` when nothing does.
    fn next(&mut self, timeout: Duration) -> Fed<A>;
    /// Everything below has been handed out.
    fn position(&self) -> u64;
}

/// What a [`Feed`] hands out.
#[derive(Debug)]
pub enum Fed<A> {
    /// A frame whose scanned form is still in memory.
    Live {
        /// Its position.
        position: u64,
        /// Its log time, nanoseconds.
        stamp: u64,
        /// Its header.
        meta: FrameMeta,
        /// What came with it.
        attachment: Arc<A>,
    },
    /// A frame from the store, to be scanned again.
    Stored {
        /// Its position.
        position: u64,
        /// Its log time, nanoseconds.
        stamp: u64,
        /// Its header.
        meta: FrameMeta,
        /// Its pieces.
        body: Bytes,
    },
    /// Bytes that are no frame; the feed has moved on. Also frames that retention took before they were read.
    Damaged {
        /// Where they begin.
        position: u64,
        /// Where the feed goes on.
        next: u64,
    },
    /// Nothing came.
    Idle {
        /// Log time: nothing with a lower stamp will come.
        now: u64,
    },
    /// The log has stopped, and everything in it was handed out.
    Closed,
}
