//! From entries of the decision log to batches of payload: kept traces read back from the cache or the log.

use super::outbound::{Leaving, Outbound};
use crate::log::{Log, ReadError};
use crate::otlp::{Signal, Stitch, TraceId};
use crate::sampler::{Delivered, DeliveredRecords, Kept, KeptReader, Scanned};
use bytes::Bytes;

/// What an entry that is passed by costs in memory until its position is saved.
const PASSED_BY: u64 = 128;

/// A kept trace with its payload.
#[derive(Debug, Clone)]
pub(super) struct LoadedTrace {
    pub(super) trace: TraceId,
    /// What its pieces are of.
    pub(super) signal: Signal,
    /// Bytes and spans, or log records.
    pub(super) pieces: Vec<(Bytes, u32)>,
    /// Spans that came twice leave twice.
    pub(super) twins: bool,
    /// What cutting the trace has found already.
    pub(super) known: Known,
}

/// Spans of a trace that do not leave, as stitching has found.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) duplicates: u64,
    pub(super) lost: u64,
}

/// Kept traces that leave in one request, and where the cursor stands behind them.
#[derive(Debug, Default)]
pub(super) struct Load {
    pub(super) traces: Vec<LoadedTrace>,
    /// The log records of these traces; they leave in a request of their own.
    pub(super) logs: Vec<LoadedTrace>,
    pub(super) kept: Vec<Kept>,
    /// Spans that could not be read back.
    pub(super) lost: u64,
    /// What became of log records already.
    pub(super) records: DeliveredRecords,
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
    pub(super) signal: Signal,
    pub(super) bytes: Bytes,
    pub(super) spans: u64,
    pub(super) known: Known,
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
            for (_, signal, count) in kept.pieces() {
                *(match signal {
                    Signal::Traces => &mut self.not_routed,
                    Signal::Logs => &mut self.records.not_routed,
                }) += u64::from(count);
            }
            self.read += PASSED_BY;
            self.kept.push(kept);
            return;
        };
        let part = |signal| LoadedTrace {
            trace: kept.trace,
            signal,
            pieces: Vec::new(),
            twins: outbound.notation.strict,
            known: Known::default(),
        };
        let (mut loaded, mut logs) = (part(Signal::Traces), part(Signal::Logs));
        let mut pieces = self.read(&kept, log, (outbound, &mut logs));
        outbound.thin(&kept, &mut pieces);
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
        if !logs.pieces.is_empty() {
            self.logs.push(logs);
        }
        self.kept.push(kept);
    }

    fn read(
        &mut self,
        kept: &Kept,
        log: &dyn Log<Scanned>,
        (outbound, logs): (&Outbound, &mut LoadedTrace),
    ) -> Vec<Leaving> {
        let mut pieces = Vec::new();
        let last = kept.places().len();
        for ((place, signal, spans), number) in kept.pieces().zip(1..) {
            match log.read(place, kept.trace) {
                // Processors and notes are for spans.
                Ok(piece) if signal == Signal::Logs => {
                    self.read += piece.len() as u64;
                    match outbound.redact(kept, signal, &piece) {
                        Some(piece) => {
                            self.bytes += piece.len() as u64;
                            logs.pieces.push((piece, spans));
                        }
                        None => self.records.lost += u64::from(spans),
                    }
                }
                Ok(piece) => {
                    self.read += piece.len() as u64;
                    pieces.push(outbound.read(piece, spans, number == last));
                }
                Err(ReadError::Erased { .. }) => {
                    *(match signal {
                        Signal::Traces => &mut self.erased,
                        Signal::Logs => &mut self.records.erased,
                    }) += u64::from(spans);
                }
                Err(error) => {
                    *(match signal {
                        Signal::Traces => &mut self.lost,
                        Signal::Logs => &mut self.records.lost,
                    }) += u64::from(spans);
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

/// Stitches traces, all of one signal, into one request. A piece that turns out damaged is lost alone.
pub(super) fn stitch(traces: &[LoadedTrace]) -> Request {
    let signal = traces.first().map_or(Signal::Traces, |trace| trace.signal);
    let mut stitch = Stitch::of(signal);
    let mut known = Known::default();
    for trace in traces {
        known.duplicates += trace.known.duplicates;
        known.lost += trace.known.lost;
        stitch.begin_entry(trace.twins);
        for (piece, spans) in &trace.pieces {
            if let Err(error) = stitch.add(trace.trace, piece.clone()) {
                known.lost += u64::from(*spans);
                tracing::error!(trace = %trace.trace, %error, "a piece of a kept trace is not what it was");
            }
        }
    }
    let spans = stitch.spans();
    known.duplicates += stitch.duplicates();
    Request {
        signal,
        bytes: stitch.finish(),
        spans,
        known,
    }
}

/// What became of the spans, or log records, of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Outcome {
    pub(super) delivered: u64,
    pub(super) duplicate: u64,
    pub(super) rejected: u64,
    pub(super) lost: u64,
    pub(super) expired: u64,
}

impl Request {
    /// What is known before it is sent.
    pub(super) fn counts(&self) -> Outcome {
        Outcome {
            duplicate: self.known.duplicates,
            lost: self.known.lost,
            ..Outcome::default()
        }
    }
}

impl Outcome {
    /// Adds it to what became of a load.
    pub(super) fn add_to(self, signal: Signal, sum: &mut Delivered) {
        match signal {
            Signal::Traces => {
                sum.delivered += self.delivered;
                sum.duplicate += self.duplicate;
                sum.rejected += self.rejected;
                sum.lost += self.lost;
                sum.expired += self.expired;
            }
            Signal::Logs => {
                // Log records have no twins.
                let records = sum.records_mut();
                records.delivered += self.delivered;
                records.rejected += self.rejected;
                records.lost += self.lost;
                records.expired += self.expired;
            }
        }
    }
}
