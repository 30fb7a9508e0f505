//! Processors before `tail_sampling`: they run when a piece is folded, and on the same bytes again whenever it is read
//! back. What the rules see of a piece is what they leave of it.
//!
//! A piece of which nothing is left opens no trace and belongs to none: it is settled by an entry of its own (evidence
//! `filtered`), which names it alone by the address of its first byte.

use super::entry::{Amends, Decision, Entry, Extent};
use super::evidence::Evidence;
use super::packed::PackedRef;
use super::scanned::{Scanned, ScannedPiece, size_of_piece};
use super::stats::add;
use super::worker::Worker;
use crate::log::Ref;
use crate::otlp::{CollectorSize, Signal, TraceId, scan_as};
use crate::processors::Chain;
use crate::rules::{Atoms, Facts, Observer, ObserverScratch};
use bytes::Bytes;
use std::sync::Arc;

/// A piece behind the processors; without facts when nothing is left of it.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) facts: Facts,
    pub(super) size: CollectorSize,
}

/// Runs the processors over a piece and scans what they leave; `None` when it is damaged.
pub(super) fn see(
    (signal, piece): (Signal, &Bytes),
    front: &Chain,
    atoms: &Atoms,
    scratch: &mut ObserverScratch,
) -> Option<Seen> {
    // Processors are for spans.
    let (left, processed) = if front.is_empty() || signal == Signal::Logs {
        (piece.clone(), false)
    } else {
        (front.apply(piece).ok()?.bytes, true)
    };
    let mut observer = Observer::new(atoms, scratch).trusting();
    let scanned = scan_as(signal, &left, &mut observer);
    let facts = observer.finish();
    scanned.ok()?;
    if signal == Signal::Logs {
        let size = CollectorSize::default();
        return Some(Seen { facts, size });
    }
    let mut size = size_of_piece(&left, atoms);
    if processed && size.resource_spans == 0 {
        // Nobody asks for the Collector's count: what is left on the wire, not what lies in the log.
        size.resource_spans = left.len() as u64;
    }
    Some(Seen { facts, size })
}

impl Worker {
    /// A frame that came live, as the processors leave it. A piece that cannot be read is taken as it came.
    pub(super) fn behind_front(&mut self, position: u64, scanned: Arc<Scanned>) -> Arc<Scanned> {
        if self.parts.front.is_empty() || scanned.signal == Signal::Logs {
            return scanned;
        }
        let mut out = Scanned::default();
        for piece in &scanned.pieces {
            let place = Ref {
                position,
                offset: piece.offset,
                length: piece.length,
            };
            let (front, atoms) = (&self.parts.front, &self.parts.atoms);
            let bytes = self.parts.log.read(place, piece.trace).ok();
            let seen = bytes
                .and_then(|bytes| see((Signal::Traces, &bytes), front, atoms, &mut self.scratch));
            let Seen { facts, size } = seen.unwrap_or_else(|| {
                add(&self.parts.stats.damaged, 1);
                let order: Vec<u32> = piece.spans.clone().collect();
                Seen {
                    facts: scanned.facts.reordered(&order),
                    size: piece.size,
                }
            });
            let first = out.facts.len();
            out.facts.append(&facts);
            out.pieces.push(ScannedPiece {
                spans: first..out.facts.len(),
                size,
                ..piece.clone()
            });
        }
        Arc::new(out)
    }

    /// Settles a piece of which nothing is left.
    pub(super) fn settle_filtered(&mut self, trace: TraceId, place: PackedRef, second: u32) {
        let decision = Decision {
            trace,
            policy: None,
            evidence: Evidence::Filtered,
            first_second: second,
            last_second: second,
            thresholds: Vec::new(),
            child: None,
            grants: Vec::new(),
            cached: false,
            amends: None,
            amended_records: Amends::default(),
        };
        let extent = Extent::of_piece(place);
        self.batch.filtered += extent.spans;
        self.batch.push(&Entry::Drop(decision, extent));
        self.batch.last = self.batch.last.max(extent.last);
        self.batch.settled.push(place);
    }
}
