//! The decision log as an exporter reads it: kept traces, in the order in which they were decided.

use super::entry::{BatchMeta, Decision, Entries, Entry};
use super::packed::PackedRef;
use crate::log::{DecisionLog, FrameReader, ReadError, Ref, Signal};
use crate::otlp::TraceId;
use std::collections::VecDeque;

/// One keep entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The trace.
    pub trace: TraceId,
    /// The sampling threshold (56 bits) under which traces like this are kept.
    pub threshold: u64,
    pub(crate) decision: Decision,
    /// The rule set that decided.
    pub(crate) rules: u32,
    pub(crate) places: Vec<PackedRef>,
}

impl Kept {
    pub(crate) fn places(&self) -> &[PackedRef] {
        &self.places
    }

    /// Its pieces, what they are of, and the number of spans or log records in each.
    pub fn pieces(&self) -> impl Iterator<Item = (Ref, Signal, u32)> {
        self.places
            .iter()
            .map(|place| (place.place(), place.signal(), place.count()))
    }
}

/// Reads keeps from a position of the decision log on.
#[derive(Debug)]
pub struct KeptReader {
    reader: Box<dyn FrameReader>,
    ready: VecDeque<Kept>,
    /// Where the frame begins whose entries are being handed out, and where the next one does.
    frame: u64,
    next: u64,
    /// Keeps of the frame that were handed out, or are to be left out.
    taken: u64,
    skip: u64,
    /// Frames that could not be read.
    pub damaged: u64,
}

impl KeptReader {
    /// A reader that begins in the frame at `from`, behind its first `skip` keeps.
    #[must_use]
    pub fn new(log: &dyn DecisionLog, from: u64, skip: u64) -> Self {
        let reader = log.reader(from);
        Self {
            reader,
            ready: VecDeque::new(),
            frame: from,
            next: from,
            taken: 0,
            skip,
            damaged: 0,
        }
    }

    /// The next kept trace; `None` at the end for now.
    ///
    /// # Errors
    /// When the store fails; the same call may be tried again.
    #[allow(
        clippy::should_implement_trait,
        reason = "fallible, and `None` is not the end"
    )]
    pub fn next(&mut self) -> Result<Option<Kept>, ReadError> {
        loop {
            if let Some(kept) = self.ready.pop_front() {
                self.taken += 1;
                return Ok(Some(kept));
            }
            let frame = match self.reader.next() {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(None),
                Err(error @ ReadError::Io { .. }) => return Err(error),
                Err(_) => {
                    self.damaged += 1;
                    continue;
                }
            };
            self.next = frame.next;
            self.frame = frame.position;
            self.taken = 0;
            let Some(meta) = BatchMeta::unpack(&frame.meta) else {
                self.damaged += 1;
                continue;
            };
            self.ready
                .extend(Entries::new(&frame.body).filter_map(|entry| match entry {
                    Entry::Keep(decision, threshold, places) => Some(Kept {
                        trace: decision.trace,
                        threshold,
                        decision,
                        rules: meta.rules,
                        places,
                    }),
                    _ => None,
                }));
            // Only the very frame that a saved position names is begun in its middle.
            let skip = std::mem::take(&mut self.skip);
            while self.taken < skip && self.ready.pop_front().is_some() {
                self.taken += 1;
            }
        }
    }

    /// Where a reader must begin to go on behind what was handed out: a frame, and its keeps to leave out.
    #[must_use]
    pub fn position(&self) -> (u64, u64) {
        if self.ready.is_empty() {
            (self.next, 0)
        } else {
            (self.frame, self.taken)
        }
    }
}
