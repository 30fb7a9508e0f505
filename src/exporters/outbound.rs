//! A kept trace on its way out: the processors before `tail_sampling` once more, thinning, what the decision has to say, the
//! processors behind it. So it leaves as it would have left a Collector with this pipeline. What the exporter redacts is
//! redacted last, so that no processor brings it back. Log records are redacted, and nothing else is done with them.

use super::notation::Notation;
use super::routing::Routing;
use crate::otlp::{NoteValue, Signal};
use crate::processors::Chain;
use crate::redaction::Redactor;
use crate::sampler::Kept;
use crate::thinning::Thinner;
use bytes::Bytes;
use std::sync::Arc;

/// What is done with traces, for one exporter of one pipeline.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outbound {
    pub(crate) routing: Routing,
    pub(crate) front: Arc<Chain>,
    pub(crate) thinner: Arc<Thinner>,
    pub(crate) notation: Notation,
    pub(crate) back: Arc<Chain>,
    pub(crate) redactor: Arc<Redactor>,
}

/// Attributes that a trace carries to where it is routed.
pub(super) type Marks = Vec<(&'static str, NoteValue)>;

/// A piece as it leaves.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Leaving {
    pub(super) bytes: Bytes,
    /// 0: it does not leave.
    pub(super) spans: u32,
    pub(super) filtered: u32,
    pub(super) thinned: u32,
    /// What cannot be redacted must not leave.
    pub(super) lost: u32,
    /// No other piece of the entry follows.
    last: bool,
}

impl Outbound {
    /// What the trace says when it leaves by this exporter; `None`: it does not.
    pub(super) fn route(&self, kept: &Kept) -> Option<Marks> {
        self.routing
            .takes(self.notation.policy_of(kept), kept.trace)
    }

    /// A piece as the rules saw it; `last`: no other piece of the entry follows.
    pub(super) fn read(&self, piece: Bytes, spans: u32, last: bool) -> Leaving {
        let (bytes, filtered) = run(&self.front, piece);
        let filtered = small(filtered).min(spans);
        Leaving {
            bytes,
            spans: spans - filtered,
            filtered,
            thinned: 0,
            lost: 0,
            last,
        }
    }

    /// Leaves spans out of a whole entry.
    pub(super) fn thin(&self, kept: &Kept, pieces: &mut [Leaving]) {
        if self.thinner.is_empty() {
            return;
        }
        let bytes: Vec<Bytes> = pieces.iter().map(|piece| piece.bytes.clone()).collect();
        // Damaged pieces are found and counted where they are stitched.
        let Ok(thinned) = self.thinner.apply(&bytes, self.notation.policy_of(kept)) else {
            return;
        };
        for (piece, thinned) in pieces.iter_mut().zip(thinned) {
            piece.thinned = thinned.left_out.min(piece.spans);
            piece.spans -= piece.thinned;
            piece.bytes = thinned.bytes;
        }
    }

    /// What is left of a piece, as it leaves.
    pub(super) fn finish(&self, kept: &Kept, mut piece: Leaving, marks: &Marks) -> Leaving {
        if piece.spans == 0 {
            return piece;
        }
        let noted = self.notation.apply(kept, piece.bytes, piece.last, marks);
        let (bytes, filtered) = run(&self.back, noted);
        let filtered = small(filtered).min(piece.spans);
        piece.filtered += filtered;
        piece.spans -= filtered;
        piece.bytes = self
            .redact(kept, Signal::Traces, &bytes)
            .unwrap_or_else(|| {
                piece.lost = std::mem::take(&mut piece.spans);
                Bytes::new()
            });
        piece
    }

    /// A piece without what is redacted; `None`: it must not leave.
    pub(super) fn redact(&self, kept: &Kept, signal: Signal, piece: &Bytes) -> Option<Bytes> {
        let redacted = self.redactor.apply(signal, piece);
        if let Err(error) = &redacted {
            tracing::error!(trace = %kept.trace, %error, "a piece of a kept trace is damaged and cannot be redacted");
        }
        redacted.ok()
    }
}

fn small(spans: u64) -> u32 {
    u32::try_from(spans).unwrap_or(u32::MAX)
}

/// The piece, and how many spans it has lost. A damaged one is found and counted where it is stitched.
fn run(chain: &Chain, piece: Bytes) -> (Bytes, u64) {
    if chain.is_empty() {
        return (piece, 0);
    }
    match chain.apply(&piece) {
        Ok(applied) => (applied.bytes, applied.spans_filtered),
        Err(_) => (piece, 0),
    }
}
