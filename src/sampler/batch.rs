//! Entries that are decided but not yet in the decision log. Nothing of them has taken effect.

use super::entry::{BatchMeta, Entry, encode};
use super::packed::PackedRef;
use crate::log::{AppendError, OutFrame, Stream};

/// A frame of entries holds about this much: it is read whole by exporters and on restart.
const FRAME_BYTES: usize = 256 << 10;

/// Encoded entries in frames, and what they will settle.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    frames: Vec<Vec<u8>>,
    /// Pieces that the entries name.
    pub(crate) settled: Vec<PackedRef>,
    pub(crate) kept: u64,
    pub(crate) dropped: u64,
    pub(crate) dropped_pressure: u64,
    /// Greatest position named.
    pub(crate) last: u64,
}

impl Batch {
    pub(crate) fn push(&mut self, entry: &Entry) {
        if self
            .frames
            .last()
            .is_none_or(|frame| frame.len() >= FRAME_BYTES)
        {
            self.frames.push(Vec::new());
        }
        if let Some(frame) = self.frames.last_mut() {
            encode(entry, frame);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.frames.iter().map(Vec::len).sum()
    }

    /// Writes all frames at once; the position of the first.
    ///
    /// # Errors
    /// Nothing was written; the batch is as it was.
    pub(crate) fn write(
        &self,
        stream: &Stream,
        stamp: u64,
        meta: BatchMeta,
    ) -> Result<u64, AppendError> {
        let bodies: Vec<[&[u8]; 1]> = self.frames.iter().map(|frame| [frame.as_slice()]).collect();
        let frames: Vec<_> = bodies
            .iter()
            .map(|body| OutFrame {
                stamp,
                meta: meta.pack(),
                body: &body[..],
            })
            .collect();
        let positions = stream.append(&frames)?;
        Ok(positions.first().copied().unwrap_or_default())
    }
}
