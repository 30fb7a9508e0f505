//! The decision over a folded state: `drop` wins, else any vote to sample keeps, else not.

use super::fold::Fold;
use super::program::{Program, Rule};
use crate::otlp::TraceId;

/// What one policy said of one trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vote {
    /// Keep.
    Sampled,
    /// No opinion to keep.
    NotSampled,
    /// Drop, whatever the others say.
    Dropped,
}

/// Keep or drop, and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Keep or not.
    pub keep: bool,
    /// The policy that decided: of a keep the one with the greatest probability (ties to the first), of a drop by policy
    /// that one; `None` when no policy wanted the trace.
    pub policy: Option<u16>,
    /// With which probability a trace like this is kept; 0 for a drop.
    pub probability: f64,
}

impl Verdict {
    /// Drop, and no policy was asked or wanted it.
    pub const NONE: Self = Self {
        keep: false,
        policy: None,
        probability: 0.0,
    };
}

/// Thresholds in ns, one for each of the program's percentile rules, as they stood for this trace.
pub type Thresholds<'a> = &'a [u64];

/// The state that a verdict is made of.
#[derive(Debug, Clone, Copy)]
pub struct State<'a> {
    /// The trace.
    pub trace: TraceId,
    /// Fixed part.
    pub fold: &'a Fold,
    /// The program's words.
    pub words: &'a [u64],
}

impl State<'_> {
    /// Last end minus first start in ns; `None` when the clock readings make no sense (0, or end before start).
    #[must_use]
    pub fn duration(&self) -> Option<u64> {
        let known = self.fold.min_start != 0 && self.fold.max_end >= self.fold.min_start;
        known.then(|| self.fold.max_end - self.fold.min_start)
    }
}

impl Program {
    /// Decides. `vote` hears each policy that was asked, by its index in config order.
    pub fn decide(
        &self,
        state: State<'_>,
        thresholds: Thresholds<'_>,
        mut vote: impl FnMut(usize, Vote),
    ) -> Verdict {
        let mut best: Option<(usize, f64)> = None;
        for index in &self.order {
            let Some(policy) = self.policies.get(*index) else {
                continue;
            };
            let said = evaluate(&policy.rule, state, thresholds);
            let Some(probability) = said else {
                vote(*index, Vote::NotSampled);
                continue;
            };
            if policy.drops {
                vote(*index, Vote::Dropped);
                return Verdict {
                    keep: false,
                    policy: u16::try_from(*index).ok(),
                    probability: 0.0,
                };
            }
            vote(*index, Vote::Sampled);
            if best.is_none_or(|(_, so_far)| probability > so_far) {
                best = Some((*index, probability));
            }
            if self.first_match {
                break;
            }
        }
        match best {
            Some((index, probability)) => Verdict {
                keep: true,
                policy: u16::try_from(index).ok(),
                probability,
            },
            None => Verdict::NONE,
        }
    }
}

/// `Some(probability)` when the rule matches: that of its coins, the smallest in an `and`.
fn evaluate(rule: &Rule, state: State<'_>, thresholds: Thresholds<'_>) -> Option<f64> {
    let plain = |matches: bool| matches.then_some(1.0);
    match rule {
        Rule::Always => Some(1.0),
        Rule::Bit(bit) => plain(
            state
                .words
                .get(*bit as usize / 64)
                .is_some_and(|word| word >> (bit % 64) & 1 == 1),
        ),
        Rule::Spans { min, max } => plain((*min..=*max).contains(&i64::from(state.fold.spans))),
        Rule::Coin(coin) => coin.keeps(state.trace).then_some(coin.ratio),
        Rule::Slower(index) => plain(
            state
                .duration()
                .zip(thresholds.get(*index))
                .is_some_and(|(duration, threshold)| duration > *threshold),
        ),
        Rule::All(children) => children.iter().try_fold(1.0, |least: f64, child| {
            Some(evaluate(child, state, thresholds)?.min(least))
        }),
        Rule::Not(child) => plain(evaluate(child, state, thresholds).is_none()),
    }
}
