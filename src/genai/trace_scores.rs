//! The evaluations of a trace by name: least, greatest and how many.

use super::scores::Score;

/// Names that a trace keeps apart.
const MOST: usize = 4;

/// What a trace's spans were judged under one name.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TraceScore {
    /// The name, as a number.
    pub name: u64,
    /// The least value.
    pub least: f64,
    /// The greatest value.
    pub greatest: f64,
    /// How many there are.
    pub count: u32,
}

/// The names with the least numbers: which they are depends on no order.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct TraceScores([TraceScore; MOST]);

impl TraceScores {
    pub(super) fn add(&mut self, score: &Score<u64>) {
        if let (Some(name), Some(value)) = (score.name, score.value) {
            self.put(TraceScore {
                name,
                least: value,
                greatest: value,
                count: 1,
            });
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for score in other.iter() {
            self.put(*score);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &TraceScore> {
        self.0.iter().filter(|score| score.count > 0)
    }

    fn put(&mut self, mut score: TraceScore) {
        for known in &mut self.0 {
            if known.count == 0 {
                *known = score;
                return;
            }
            if known.name == score.name {
                known.least = known.least.min(score.least);
                known.greatest = known.greatest.max(score.greatest);
                known.count = known.count.saturating_add(score.count);
                return;
            }
            // Kept in order; what falls out at the end is counted nowhere.
            if score.name < known.name {
                std::mem::swap(known, &mut score);
            }
        }
    }
}
