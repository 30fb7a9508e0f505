//! A histogram of whole numbers with fixed bounds, counted without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts by upper bound; what is above the last counts in the sum and the number only.
#[derive(Debug)]
pub struct Histogram<const N: usize> {
    bounds: [u64; N],
    counts: [AtomicU64; N],
    number: AtomicU64,
    sum: AtomicU64,
}

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Self::new(&[0; N])
    }
}

impl<const N: usize> Histogram<N> {
    /// Empty, with these inclusive upper bounds in rising order.
    #[must_use]
    pub fn new(bounds: &[u64; N]) -> Self {
        Self {
            bounds: *bounds,
            counts: [const { AtomicU64::new(0) }; N],
            number: AtomicU64::new(0),
            sum: AtomicU64::new(0),
        }
    }

    /// Counts one value.
    pub fn observe(&self, value: u64) {
        let at = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get(at) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(value, Ordering::Relaxed);
        self.number.fetch_add(1, Ordering::Relaxed);
    }

    #[cfg(feature = "kafka")]
    /// Adds what another with the same bounds has counted.
    pub(crate) fn add(&self, other: &Self) {
        let pairs = self.counts.iter().zip(&other.counts);
        let pairs = pairs.chain([(&self.number, &other.number), (&self.sum, &other.sum)]);
        for (sum, part) in pairs {
            sum.fetch_add(part.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Bounds with the number of values at or below each; the number and the sum of all.
    #[must_use]
    pub fn read(&self) -> (Vec<(u64, u64)>, u64, u64) {
        let mut below = 0;
        let buckets = self.bounds.iter().zip(&self.counts).map(|(bound, count)| {
            below += count.load(Ordering::Relaxed);
            (*bound, below)
        });
        let buckets = buckets.collect();
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (buckets, load(&self.number), load(&self.sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_bound() {
        let histogram = Histogram::new(&[0, 5, 10]);
        [0, 1, 5, 6, 10, 11, 100]
            .into_iter()
            .for_each(|value| histogram.observe(value));
        assert_eq!(histogram.read(), (vec![(0, 1), (5, 3), (10, 5)], 7, 133));
    }
}
