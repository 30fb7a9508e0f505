//! Pieces of services that are not sampled at the tail: each has an entry of its own at once, and its trace is not asked.
//!
//! Such a piece opens no trace, joins none and is remembered by nobody. Its entry names it alone by its address, as those
//! of filtered pieces do: other pieces of its trace may lie in the same frame.

use super::entry::{Amends, Decision};
use super::packed::PackedRef;
use super::scanned::ScannedPiece;
use super::service_modes::Passage;
use super::stats::add;
use super::worker::Worker;
use crate::otlp::NEVER;

impl Worker {
    /// A winner leaves. A loser is in the log only when it was stored under other settings: it is dropped.
    pub(super) fn pass(
        &mut self,
        passage: &Passage,
        piece: &ScannedPiece,
        place: PackedRef,
        second: u32,
    ) {
        let evidence = passage.evidence();
        let threshold = passage.threshold(piece.trace);
        let decision = Decision {
            trace: piece.trace,
            policy: None,
            evidence,
            first_second: second,
            last_second: second,
            thresholds: Vec::new(),
            child: None,
            grants: Vec::new(),
            cached: false,
            amends: None,
            amended_records: Amends::default(),
        };
        if threshold.is_some() {
            let passed = self.parts.stats.passed(evidence);
            add(passed, u64::from(place.spans()));
        }
        let (keep, threshold) = (threshold.is_some(), threshold.unwrap_or(NEVER));
        self.push(decision, keep, threshold, (&[place], 0));
    }
}
