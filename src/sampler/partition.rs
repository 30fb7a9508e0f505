//! One partition of one sampler: its undecided traces and what it remembers of the decided ones.

use super::memory::DecisionMemory;
use super::skeletons::Skeletons;

#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) skeletons: Skeletons,
    pub(crate) memory: DecisionMemory,
}
