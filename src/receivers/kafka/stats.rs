//! What only a Kafka receiver counts.

use std::sync::atomic::{AtomicU64, Ordering};

/// Totals since the start, and the lag as of a moment.
#[derive(Debug, Default)]
pub struct KafkaStats {
    pub(super) lost: AtomicU64,
    pub(super) dead_lettered: AtomicU64,
    pub(super) rebalances: AtomicU64,
    pub(super) lag: AtomicU64,
    pub(super) partitions: AtomicU64,
}

impl KafkaStats {
    /// Offsets that the topic no longer had when they were to be read.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Records that the dead-letter topic has.
    #[must_use]
    pub fn dead_lettered(&self) -> u64 {
        self.dead_lettered.load(Ordering::Relaxed)
    }

    /// How often partitions came or went.
    #[must_use]
    pub fn rebalances(&self) -> u64 {
        self.rebalances.load(Ordering::Relaxed)
    }

    /// Records of our partitions that are not committed, as of the last ten seconds.
    #[must_use]
    pub fn lag(&self) -> u64 {
        self.lag.load(Ordering::Relaxed)
    }

    /// Partitions that are ours.
    #[must_use]
    pub fn partitions(&self) -> u64 {
        self.partitions.load(Ordering::Relaxed)
    }
}
