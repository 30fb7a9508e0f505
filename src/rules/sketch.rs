//! A time-decayed DDSketch: quantiles within a relative error, newer observations weighing more.
//!
//! Decay is forward: an observation's weight grows with time instead of old weights shrinking, so that nothing is touched
//! between observations. Published sketch crates count in integers and cannot decay; merging and error are as in
//! DDSketch (Masson et al., VLDB 2019).

/// Relative error: bins are 0.5 % wide.
const ALPHA: f64 = 0.0025;
/// Observations are clamped to 1 us .. 30 days.
const MIN_NS: u64 = 1_000;
const MAX_NS: u64 = 30 * 24 * 3600 * 1_000_000_000;
/// Above this weights are scaled down; far from where an f32 loses the light ones.
const MAX_WEIGHT: f64 = 1e12;

/// The distribution of one key.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Sketch {
    /// Index of the first bin.
    first: i32,
    bins: Vec<f32>,
    total: f64,
}

/// Weights of observations by time: doubles every half-life.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Decay {
    origin: u64,
    half_life: u64,
}

impl Decay {
    /// Weights are 1 at `origin` and double every `half_life` (the same unit, not 0).
    #[must_use]
    pub(super) fn new(origin: u64, half_life: u64) -> Self {
        Self {
            origin,
            half_life: half_life.max(1),
        }
    }

    /// The weight of an observation at `now`.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a ratio")]
    pub(super) fn weight(&self, now: u64) -> f64 {
        (now.saturating_sub(self.origin) as f64 / self.half_life as f64).exp2()
    }

    /// Begins anew at `now` when weights have become large; the factor by which all sketches must be scaled.
    #[must_use]
    pub(super) fn renew(&mut self, now: u64) -> Option<f64> {
        let weight = self.weight(now);
        (weight > MAX_WEIGHT).then(|| {
            self.origin = now;
            1.0 / weight
        })
    }
}

fn gamma() -> f64 {
    (1.0 + ALPHA) / (1.0 - ALPHA)
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a logarithm of a clamped value"
)]
fn bin_of(ns: u64) -> i32 {
    ((ns.clamp(MIN_NS, MAX_NS) as f64).ln() / gamma().ln()).ceil() as i32
}

impl Sketch {
    /// Adds one observation of `ns` nanoseconds.
    pub(super) fn add(&mut self, ns: u64, weight: f64) {
        self.add_bin(bin_of(ns), weight);
    }

    fn add_bin(&mut self, bin: i32, weight: f64) {
        if self.bins.is_empty() {
            self.first = bin;
        }
        if bin < self.first {
            let grow = usize::try_from(self.first - bin).unwrap_or_default();
            self.bins.splice(0..0, std::iter::repeat_n(0.0, grow));
            self.first = bin;
        }
        let at = usize::try_from(bin - self.first).unwrap_or_default();
        if at >= self.bins.len() {
            self.bins.resize(at + 1, 0.0);
        }
        if let Some(slot) = self.bins.get_mut(at) {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "weights are summed in f32 by design"
            )]
            let sum = (f64::from(*slot) + weight) as f32;
            *slot = sum;
        }
        self.total += weight;
    }

    /// Sum of the weights.
    #[must_use]
    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// Multiplies all weights.
    pub(super) fn scale(&mut self, factor: f64) {
        #[allow(clippy::cast_possible_truncation, reason = "weights are f32 by design")]
        self.bins
            .iter_mut()
            .for_each(|bin| *bin = (f64::from(*bin) * factor) as f32);
        self.total = self.bins.iter().map(|bin| f64::from(*bin)).sum();
    }

    /// The value in ns below which `percentile` per cent of the weight lies, interpolated within its bin.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive time below 2^63 ns"
    )]
    pub(super) fn quantile(&self, percentile: f64) -> Option<u64> {
        let mut above = self.total * (1.0 - percentile / 100.0);
        let end = self.first + i32::try_from(self.bins.len()).unwrap_or_default();
        for (weight, bin) in self.bins.iter().rev().zip((self.first..end).rev()) {
            let weight = f64::from(*weight);
            if weight > 0.0 && above <= weight {
                let position = f64::from(bin) - above / weight;
                return Some(gamma().powf(position) as u64);
            }
            above -= weight;
        }
        None
    }

    /// Bins that hold weight, for a snapshot.
    pub(super) fn export(&self) -> impl Iterator<Item = (i32, f32)> {
        self.bins
            .iter()
            .zip(self.first..)
            .filter(|(weight, _)| **weight > 0.0)
            .map(|(weight, bin)| (bin, *weight))
    }

    /// A sketch from a snapshot; bins out of range and weights that are no weights are left out.
    pub(super) fn import(bins: impl IntoIterator<Item = (i32, f32)>) -> Self {
        let mut sketch = Self::default();
        let range = bin_of(MIN_NS)..=bin_of(MAX_NS);
        for (bin, weight) in bins {
            if range.contains(&bin) && weight.is_finite() && weight > 0.0 {
                sketch.add_bin(bin, f64::from(weight));
            }
        }
        sketch
    }

    /// Bytes held.
    #[must_use]
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.bins.capacity() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quantiles_are_within_the_error(values in proptest::collection::vec(1_000_u64..10_000_000_000, 50..400), p in 1.0..99.9_f64) {
            let mut sketch = Sketch::default();
            values.iter().for_each(|value| sketch.add(*value, 1.0));
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let found = sketch.quantile(p).unwrap() as f64;
            let rank = p / 100.0 * sorted.len() as f64;
            let low = sorted[(rank.floor() as usize).saturating_sub(1)] as f64;
            let high = sorted[(rank.ceil() as usize).min(sorted.len() - 1)] as f64;
            prop_assert!(found >= low * (1.0 - 2.1 * ALPHA) && found <= high * (1.0 + 2.1 * ALPHA), "{low} {found} {high}");
        }

        #[test]
        fn a_snapshot_is_the_sketch(values in proptest::collection::vec(any::<u64>(), 0..99)) {
            let mut sketch = Sketch::default();
            values.iter().for_each(|value| sketch.add(*value, 1.5));
            let copy = Sketch::import(sketch.export());
            prop_assert_eq!(copy.quantile(99.0), sketch.quantile(99.0));
        }
    }

    #[test]
    fn old_observations_fade() {
        let mut decay = Decay::new(0, 10);
        let mut sketch = Sketch::default();
        (0..1000).for_each(|_| sketch.add(1_000_000, decay.weight(0)));
        (0..1000).for_each(|_| sketch.add(9_000_000, decay.weight(100)));
        let median = sketch.quantile(50.0).unwrap();
        assert!(median > 8_900_000, "{median}");
        let effective = sketch.total() / decay.weight(100);
        assert!((effective - 1001.0).abs() < 1.0, "{effective}");
        let factor = decay.renew(1000).unwrap();
        sketch.scale(factor);
        assert!(sketch.quantile(50.0).unwrap().abs_diff(median) < 10);
        assert!(decay.weight(1000) == 1.0);
    }
}
