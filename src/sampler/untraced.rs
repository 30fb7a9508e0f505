//! Log records without a trace id: they belong to no trace, so no policy is asked. They pass, or are dropped, by a setting
//! of their own; each piece is settled at once by an entry that names it alone.

use super::entry::{Amends, Decision};
use super::evidence::Evidence;
use super::packed::PackedRef;
use super::worker::Worker;
use crate::otlp::{ALWAYS, TraceId};

impl Worker {
    pub(super) fn settle_untraced(&mut self, trace: TraceId, place: PackedRef, second: u32) {
        let decision = Decision {
            trace,
            policy: None,
            evidence: Evidence::Untraced,
            first_second: second,
            last_second: second,
            thresholds: Vec::new(),
            child: None,
            grants: Vec::new(),
            cached: false,
            amends: None,
            amended_records: Amends::default(),
        };
        let keep = self.parts.settings.keep_untraced;
        self.push(decision, keep, ALWAYS, (&[place], 0));
    }
}
