//! What the model calls of undecided traces come to, by the slot of their skeleton: packed, and of traces with calls only, so
//! that a trace without any takes nothing.

use crate::rules::Features;
use hashbrown::HashMap;

/// Of one partition; empty where nobody asks.
#[derive(Debug, Default)]
pub(crate) struct TraceFeatures {
    by_slot: HashMap<u32, Box<[u8]>, foldhash::fast::RandomState>,
}

/// What features take beside their own bytes: map entry with control byte and load factor.
const FEATURES_BYTES: u64 = 40;

impl TraceFeatures {
    /// Those of the trace's pieces so far.
    pub(crate) fn get(&self, slot: u32) -> Option<Features> {
        // Packed by this process: it can be unpacked.
        Features::unpack(self.by_slot.get(&slot)?)
    }

    /// Adds those of a further piece; the bytes that they took before and take now.
    pub(crate) fn add(&mut self, slot: u32, more: Features) -> (u64, u64) {
        let before = self.bytes(slot);
        let features = match self.get(slot) {
            Some(mut features) => {
                features.merge(&more);
                features
            }
            None => more,
        };
        self.by_slot.insert(slot, features.pack().into());
        (before, self.bytes(slot))
    }

    /// The trace is decided; the bytes that it frees.
    pub(crate) fn forget(&mut self, slot: u32) -> u64 {
        let bytes = self.bytes(slot);
        self.by_slot.remove(&slot);
        bytes
    }

    fn bytes(&self, slot: u32) -> u64 {
        let packed = self.by_slot.get(&slot);
        packed.map_or(0, |packed| FEATURES_BYTES + packed.len() as u64)
    }
}
