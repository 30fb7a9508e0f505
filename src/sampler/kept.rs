//! The decision log as an exporter reads it: kept traces, in the order in which they were decided.

use super::entry::{BatchMeta, Entries, Entry};
use super::packed::PackedRef;
use crate::log::{ReadError, Ref, Stream, StreamReader};
use crate::otlp::TraceId;
use std::collections::VecDeque;

/// One keep entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The trace.
    pub trace: TraceId,
    /// With which probability a trace like this is kept.
    pub probability: f64,
    pub(crate) places: Vec<PackedRef>,
}

impl Kept {
    /// Its pieces and the number of spans in each.
    pub fn pieces(&self) -> impl Iterator<Item = (Ref, u32)> {
        self.places.iter().map(|place| (place.place(), place.spans()))
    }
}

/// Reads keeps from a position of the decision log on.
#[derive(Debug)]
pub struct KeptReader {
    reader: StreamReader,
    ready: VecDeque<Kept>,
    /// Position behind the frame whose entries are being handed out.
    next: u64,
    /// Frames that could not be read.
    pub damaged: u64,
}

impl KeptReader {
    /// A reader that begins at `from`, the beginning of a frame.
    #[must_use]
    pub fn new(stream: &Stream, from: u64) -> Self {
        Self { reader: stream.reader(from), ready: VecDeque::new(), next: from, damaged: 0 }
    }

    /// The next kept trace, and whether it is the last of its frame; `None` at the end for now.
    ///
    /// # Errors
    /// When the store fails; the same call may be tried again.
    #[allow(clippy::should_implement_trait, reason = "fallible, and `None` is not the end")]
    pub fn next(&mut self) -> Result<Option<Kept>, ReadError> {
        loop {
            if let Some(kept) = self.ready.pop_front() {
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
            if BatchMeta::unpack(&frame.meta).is_none() {
                self.damaged += 1;
                continue;
            }
            self.ready.extend(Entries::new(&frame.body).filter_map(|entry| match entry {
                Entry::Keep(decision, probability, places) => Some(Kept { trace: decision.trace, probability, places }),
                _ => None,
            }));
        }
    }

    /// All entries before this position were handed out; `None` in the middle of a frame.
    #[must_use]
    pub fn boundary(&self) -> Option<u64> {
        self.ready.is_empty().then_some(self.next)
    }
}
