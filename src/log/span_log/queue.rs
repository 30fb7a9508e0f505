//! Requests that wait for the writer.
//!
//! There is no linger: the writer takes what is there when it comes back, so that batches grow with the load alone.

use crate::log::account::IntakeCharge;
use crate::log::api::{Append, Block};
use crate::log::errors::AppendError;
use crate::log::frame::{FrameMeta, frame_len};
use crate::otlp::Reservation;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::oneshot;

/// Gathered in one write: beyond 1 MiB a byte gets no cheaper (measured, rust.md section 6).
const BATCH_BYTES: u64 = 1024 * 1024;

/// A request on its way.
#[derive(Debug)]
pub(super) struct Pending<A> {
    pub(super) meta: FrameMeta,
    pub(super) blocks: Vec<Block>,
    /// CRC32C of the blocks end to end, taken while they were fresh in the processor's cache.
    pub(super) checksum: u32,
    pub(super) attachment: A,
    /// What it holds while it is in the window.
    pub(super) window_bytes: u64,
    pub(super) reservation: Option<Reservation>,
    /// For the blocks, until they are in the cache.
    pub(super) block_charges: Vec<IntakeCharge>,
    /// For the attachment, until the window lets it go.
    pub(super) charges: Vec<IntakeCharge>,
    pub(super) answer: oneshot::Sender<Result<u64, AppendError>>,
}

impl<A> Pending<A> {
    pub(super) fn frame_len(&self) -> u64 {
        frame_len_of(&self.blocks)
    }
}

/// Bytes of the frame of a request, header and padding included.
pub(super) fn frame_len_of(blocks: &[Block]) -> u64 {
    frame_len(blocks.iter().map(|block| block.bytes.len() as u64).sum())
}

/// The bytes of a request as the window counts them: whichever is more, what is held or what is reserved for it.
pub(super) fn window_bytes_of<A>(request: &Append<A>) -> u64 {
    request
        .attachment_bytes
        .max(request.reservation.as_ref().map_or(0, Reservation::bytes))
}

/// What the writer finds.
#[derive(Debug)]
pub(super) enum Taken<A> {
    Batch(Vec<Pending<A>>),
    /// Nothing came in a while.
    Nothing,
    /// Nothing will come any more.
    Stop,
}

#[derive(Debug)]
pub(super) struct Queue<A> {
    state: Mutex<State<A>>,
    filled: Condvar,
}

#[derive(Debug)]
struct State<A> {
    waiting: VecDeque<Pending<A>>,
    stopping: bool,
}

impl<A> Queue<A> {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                stopping: false,
            }),
            filled: Condvar::new(),
        }
    }

    /// The request back when the log is stopping.
    pub(super) fn push(&self, request: Pending<A>) -> Result<(), Pending<A>> {
        let mut state = self.state.lock();
        if state.stopping {
            return Err(request);
        }
        state.waiting.push_back(request);
        drop(state);
        self.filled.notify_one();
        Ok(())
    }

    /// The requests that go into the next write: those that fit `room`, at least one.
    pub(super) fn take(&self, room: u64, patience: Duration) -> Taken<A> {
        let mut state = self.state.lock();
        if state.waiting.is_empty() && !state.stopping {
            self.filled.wait_for(&mut state, patience);
        }
        let Some(first) = state.waiting.pop_front() else {
            return if state.stopping {
                Taken::Stop
            } else {
                Taken::Nothing
            };
        };
        let mut bytes = first.frame_len();
        // A first one that does not fit opens a segment.
        let limit = if bytes > room {
            BATCH_BYTES
        } else {
            BATCH_BYTES.min(room)
        };
        let mut batch = vec![first];
        while let Some(next) = state.waiting.front().map(Pending::frame_len) {
            bytes += next;
            if bytes > limit {
                break;
            }
            batch.extend(state.waiting.pop_front());
        }
        Taken::Batch(batch)
    }

    /// No more pushes.
    pub(super) fn stop(&self) {
        self.state.lock().stopping = true;
        self.filled.notify_all();
    }

    /// Lets go of everything that waits; their senders see the log end.
    pub(super) fn clear(&self) {
        let waiting = std::mem::take(&mut self.state.lock().waiting);
        drop(waiting);
    }
}
