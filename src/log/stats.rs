//! What the log holds and did, for metrics.

use super::errors::AppendError;
use std::sync::atomic::{AtomicU64, Ordering};

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogStats {
    /// Bytes of all segment files.
    pub bytes: u64,
    /// Most bytes of segment files.
    pub max_bytes: u64,
    /// Bytes from the oldest position that somebody needs on; the rest may go when room is wanted.
    pub held_bytes: u64,
    /// Segments with frames.
    pub segments: usize,
    /// The oldest position.
    pub start: u64,
    /// Position after the last frame.
    pub end: u64,
    /// Log time of the oldest frame, nanoseconds; `None` without one.
    pub oldest_stamp: Option<u64>,
    /// Log time of the last frame, nanoseconds.
    pub last_stamp: u64,
    /// Log time now, nanoseconds.
    pub now: u64,
    /// Refused requests by reason since open.
    pub refused: Vec<(&'static str, u64)>,
    /// Bytes of frames that some feed has yet to take from memory.
    pub window_bytes: u64,
    /// Bytes of cached payload.
    pub cache_bytes: u64,
    /// Frames appended since open.
    pub frames: u64,
    /// Spans appended since open.
    pub spans: u64,
    /// Bytes appended since open, headers included.
    pub appended_bytes: u64,
    /// Writes since open: each holds one or more frames.
    pub writes: u64,
    /// Syncs that appends waited for since open.
    pub syncs: u64,
    /// Of a log that a group of processes shares.
    pub shared: Option<SharedLog>,
}

/// One process's part in a log that a group shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SharedLog {
    /// Partitions that it owns.
    pub partitions: u64,
    /// How often partitions came or went.
    pub rebalances: u64,
    /// Records that were deleted before they were decided.
    pub lost: u64,
    /// Records that nobody can read.
    pub poison: u64,
    /// Those of them that the dead letters' topic has.
    pub dead_letters: u64,
    /// Spans that were cut to fit a record.
    pub shortened: u64,
    /// Transactions of decisions that were committed.
    pub committed: u64,
    /// The same, aborted.
    pub aborted: u64,
    /// Reading stands still until what was read is folded.
    pub paused: bool,
    /// Seconds for which records are kept; 0: for ever, or not known.
    pub retention: u64,
    /// When the oldest record came that is still needed, nanoseconds.
    pub needed_since: Option<u64>,
}

const REASONS: [&str; 9] = [
    "service memory",
    "log share",
    "log full",
    "disk full",
    "too large",
    "stopping",
    "store error",
    "kafka queue",
    "topic limit",
];

/// Counters since open.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) frames: AtomicU64,
    pub(crate) spans: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) writes: AtomicU64,
    refused: [AtomicU64; REASONS.len()],
}

impl Counters {
    pub(crate) fn refuse(&self, error: &AppendError) {
        let reason = match error {
            AppendError::Full { reason, .. } => reason,
            AppendError::TooLarge { .. } => "too large",
            AppendError::Stopping => "stopping",
            AppendError::Io(_) => "store error",
        };
        let index = REASONS.iter().position(|known| *known == reason);
        if let Some(counter) = index.and_then(|index| self.refused.get(index)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn refused(&self) -> Vec<(&'static str, u64)> {
        REASONS
            .iter()
            .zip(&self.refused)
            .map(|(reason, n)| (*reason, n.load(Ordering::Relaxed)))
            .collect()
    }
}
