//! From entries of the decision log to batches of payload: kept traces read back from the cache or the log.

use super::outbound::{Leaving, Outbound};
use crate::log::{Log, ReadError};
use crate::otlp::{Stitch, TraceId};
use crate::sampler::{Delivered, Kept, KeptReader, Scanned};
use bytes::Bytes;

/// What an entry that is passed by costs in memory until its position is saved.
const PASSED_BY: u64 = 128;

/// A kept trace with its payload.
#[derive(Debug, Clone)]
pub(super) struct LoadedTrace {
    pub(super) trace: TraceId,
    /// Bytes and spans.
    pub(super) pieces: Vec<(Bytes, u32)>,
    /// Spans that came twice leave twice.
    pub(super) twins: bool,
}

/// Kept traces that leave in one request, and where the cursor stands behind them.
#[derive(Debug, Default)]
pub(super) struct Load {
    pub(super) traces: Vec<LoadedTrace>,
    pub(super) kept: Vec<Kept>,
    /// Spans that could not be read back.
    pub(super) lost: u64,
    /// Spans that processors have left out.
    pub(super) filtered: u64,
    /// Spans that thinning has left out.
    pub(super) thinned: u64,
    /// Spans of traces that go to other exporters.
    pub(super) not_routed: u64,
    /// Spans of which nothing is left.
    pub(super) erased: u64,
    pub(super) bytes: u64,
    /// Bytes read for it: processors may leave nothing of them, and a load must end all the same.
    pub(super) read: u64,
    pub(super) position: (u64, u64),
}

/// A request made of some traces.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) bytes: Bytes,
    pub(super) spans: u64,
    pub(super) duplicates: u64,
    pub(super) lost: u64,
}

impl Load {
    /// Reads kept traces until `bytes` are together or the decision log ends.
    ///
    /// # Errors
    /// When the decision log cannot be read now.
    pub(super) fn fill(
        &mut self,
        reader: &mut KeptReader,
        log: &dyn Log<Scanned>,
        outbound: &Outbound,
        bytes: u64,
    ) -> Result<(), ReadError> {
        while self.bytes.max(self.read) < bytes
            && let Some(kept) = reader.next()?
        {
            self.position = reader.position();
            self.take(kept, log, outbound);
        }
        if self.kept.is_empty() {
            self.position = reader.position();
        }
        Ok(())
    }

    fn take(&mut self, kept: Kept, log: &dyn Log<Scanned>, outbound: &Outbound) {
        let Some(marks) = outbound.route(&kept) else {
            self.not_routed += kept
                .pieces()
                .map(|(_, spans)| u64::from(spans))
                .sum::<u64>();
            self.read += PASSED_BY;
            self.kept.push(kept);
            return;
        };
        let mut pieces = self.read(&kept, log, outbound);
        outbound.thin(&kept, &mut pieces);
        let mut loaded = LoadedTrace {
            trace: kept.trace,
            pieces: Vec::new(),
            twins: outbound.notation.strict,
        };
        for piece in pieces {
            let leaving = outbound.finish(&kept, piece, &marks);
            self.filtered += u64::from(leaving.filtered);
            self.thinned += u64::from(leaving.thinned);
            self.lost += u64::from(leaving.lost);
            if leaving.spans > 0 {
                self.bytes += leaving.bytes.len() as u64;
                loaded.pieces.push((leaving.bytes, leaving.spans));
            }
        }
        self.traces.push(loaded);
        self.kept.push(kept);
    }

    fn read(&mut self, kept: &Kept, log: &dyn Log<Scanned>, outbound: &Outbound) -> Vec<Leaving> {
        let mut pieces = Vec::new();
        let last = kept.places().len();
        for ((place, spans), number) in kept.pieces().zip(1..) {
            match log.read(place, kept.trace) {
                Ok(piece) => {
                    self.read += piece.len() as u64;
                    pieces.push(outbound.read(piece, spans, number == last));
                }
                Err(ReadError::Erased { .. }) => self.erased += u64::from(spans),
                Err(error) => {
                    self.lost += u64::from(spans);
                    tracing::error!(trace = %kept.trace, %error, "a piece of a kept trace cannot be read back");
                }
            }
        }
        pieces
    }

    /// Everything that the load holds is done with.
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}

/// Stitches traces into one request. A piece that turns out damaged is lost alone.
pub(super) fn stitch(traces: &[LoadedTrace]) -> Request {
    let mut stitch = Stitch::default();
    let mut lost = 0;
    for trace in traces {
        stitch.begin_entry(trace.twins);
        for (piece, spans) in &trace.pieces {
            if let Err(error) = stitch.add(trace.trace, piece.clone()) {
                lost += u64::from(*spans);
                tracing::error!(trace = %trace.trace, %error, "a piece of a kept trace is not what it was");
            }
        }
    }
    let (spans, duplicates) = (stitch.spans(), stitch.duplicates());
    Request {
        bytes: stitch.finish(),
        spans,
        duplicates,
        lost,
    }
}

impl Request {
    /// What is known before it is sent.
    pub(super) fn counts(&self) -> Delivered {
        Delivered {
            duplicate: self.duplicates,
            lost: self.lost,
            ..Delivered::default()
        }
    }
}
