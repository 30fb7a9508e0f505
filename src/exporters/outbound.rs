//! A kept piece on its way out: the processors before `tail_sampling` once more, what the decision has to say, the
//! processors behind it. So it leaves as it would have left a Collector with this pipeline. What the exporter redacts is
//! redacted last, so that no processor brings it back.

use super::notation::Notation;
use crate::processors::Chain;
use crate::redaction::Redactor;
use crate::sampler::Kept;
use bytes::Bytes;
use std::sync::Arc;

/// What is done with pieces, for one exporter of one pipeline.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outbound {
    pub(crate) front: Arc<Chain>,
    pub(crate) notation: Notation,
    pub(crate) back: Arc<Chain>,
    pub(crate) redactor: Arc<Redactor>,
}

/// A piece as it leaves.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Leaving {
    pub(super) bytes: Bytes,
    /// 0: it does not leave.
    pub(super) spans: u32,
    pub(super) filtered: u32,
    /// What cannot be redacted must not leave.
    pub(super) lost: u32,
}

impl Outbound {
    /// `last`: no other piece of the entry follows.
    pub(super) fn apply(&self, kept: &Kept, piece: Bytes, spans: u32, last: bool) -> Leaving {
        let (piece, before) = run(&self.front, piece);
        let piece = self.notation.apply(kept, piece, last);
        let (bytes, behind) = run(&self.back, piece);
        let filtered = u32::try_from(before + behind)
            .unwrap_or(u32::MAX)
            .min(spans);
        let left = spans - filtered;
        let (bytes, lost) = match self.redactor.apply(&bytes) {
            Ok(bytes) => (bytes, 0),
            Err(error) => {
                tracing::error!(trace = %kept.trace, %error, "a piece of a kept trace is damaged and cannot be redacted");
                (Bytes::new(), left)
            }
        };
        Leaving {
            bytes,
            spans: left - lost,
            filtered,
            lost,
        }
    }
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
