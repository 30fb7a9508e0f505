//! One partition of one sampler: its undecided traces and what it remembers of the decided ones.

use super::collector_table::CollectorTable;
use super::memory::DecisionMemory;
use super::skeletons::Skeletons;

#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) skeletons: Skeletons,
    pub(crate) memory: DecisionMemory,
    /// In the place of the timers and the memory, with `compat: strict`.
    pub(crate) table: Option<CollectorTable>,
}
