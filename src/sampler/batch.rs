//! Entries that are decided but not yet in the decision log. Nothing of them has taken effect.

use super::delivery::Volume;
use super::entry::{Amends, BatchMeta, Entry, encode};
use super::packed::PackedRef;
use super::snapshot::LimitStates;
use crate::log::{AppendError, DecisionLog, OutFrame};
use crate::rules::LimitSnapshot;
use prost::Message;

/// A frame of entries holds about this much: it is read whole by exporters and on restart...
const FRAME_BYTES: usize = 256 << 10;
/// ...and in a small log a quarter of a segment: with the largest entry behind it, it still fits.
const SEGMENT_PART: u64 = 4;

/// Encoded entries in frames, and what they will settle.
#[derive(Debug)]
pub(crate) struct Batch {
    frame_bytes: usize,
    frames: Vec<Vec<u8>>,
    /// The state of all budgets behind the last entry: it ends the frame.
    limits: Option<Vec<u8>>,
    /// Of these, frames that are in the log already: a later one could not be written.
    written: usize,
    /// Where the first one lies.
    first: Option<u64>,
    /// Pieces that are decided, and which no `undecided` entry had named.
    pub(crate) settled: Vec<PackedRef>,
    /// Pieces that are decided, and which `undecided` entries had named.
    pub(crate) settled_named: Vec<PackedRef>,
    /// Pieces that `undecided` entries name.
    pub(crate) named: Vec<PackedRef>,
    pub(crate) kept: u64,
    pub(crate) dropped: u64,
    pub(crate) dropped_pressure: u64,
    pub(crate) filtered: u64,
    /// Of `kept`, spans that were dropped before.
    pub(crate) restored: Amends,
    /// The same in log records; `filtered` is never.
    pub(crate) records: RecordCounts,
    /// Greatest position named.
    pub(crate) last: u64,
}

/// Log records that entries settle.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RecordCounts {
    pub(crate) kept: u64,
    pub(crate) dropped: u64,
    pub(crate) dropped_pressure: u64,
    /// Of `kept`, records that were dropped before.
    pub(crate) restored: Amends,
}

impl Batch {
    /// An empty batch for a log whose segments hold `max_batch` bytes.
    pub(crate) fn new(max_batch: u64) -> Self {
        let part = usize::try_from(max_batch / SEGMENT_PART).unwrap_or(FRAME_BYTES);
        Self {
            frame_bytes: part.min(FRAME_BYTES),
            frames: Vec::new(),
            limits: None,
            written: 0,
            first: None,
            settled: Vec::new(),
            settled_named: Vec::new(),
            named: Vec::new(),
            kept: 0,
            dropped: 0,
            dropped_pressure: 0,
            filtered: 0,
            restored: Amends::default(),
            records: RecordCounts::default(),
            last: 0,
        }
    }

    pub(crate) fn push(&mut self, entry: &Entry) {
        let full = |frame: &Vec<u8>| frame.len() >= self.frame_bytes;
        if self.frames.len() == self.written || self.frames.last().is_none_or(full) {
            self.close_frame();
            self.frames.push(Vec::new());
        }
        if let Some(frame) = self.frames.last_mut() {
            encode(entry, frame);
        }
    }

    /// Budgets behind the entry that was pushed last.
    pub(crate) fn set_limits(&mut self, limits: Vec<LimitSnapshot>) {
        self.limits = Some(LimitStates { limits }.encode_to_vec());
    }

    /// A frame says at its end what its decisions left of the budgets: whatever is written after it may be lost.
    fn close_frame(&mut self) {
        if let Some(limits) = self.limits.take()
            && let Some(frame) = self.frames.last_mut()
        {
            encode(&Entry::Limits(limits), frame);
        }
    }

    /// Kept spans and log records.
    pub(crate) fn volume(&self) -> Volume {
        Volume {
            spans: self.kept,
            records: self.records.kept,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Writes the frames, one after another: together they may be more than a segment holds. The position of the first.
    ///
    /// # Errors
    /// Some frames may be written; the next call goes on behind them.
    pub(crate) fn write(
        &mut self,
        log: &dyn DecisionLog,
        stamp: u64,
        meta: BatchMeta,
    ) -> Result<u64, AppendError> {
        self.close_frame();
        while self.written < self.frames.len() {
            let rest = self.frames.get(self.written..).unwrap_or_default();
            let bodies: Vec<[&[u8]; 1]> = rest
                .iter()
                .take(log.frames_at_once())
                .map(|frame| [&frame[..]])
                .collect();
            let frames: Vec<_> = bodies
                .iter()
                .map(|body| OutFrame {
                    stamp,
                    meta: meta.pack(),
                    body,
                })
                .collect();
            let position = log.append(&frames)?.first().copied();
            self.first = self.first.or(position);
            self.written += frames.len();
        }
        Ok(self.first.unwrap_or_default())
    }
}
