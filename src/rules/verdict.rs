//! The decision over a folded state: `drop` wins, else any vote to sample keeps, else not.

use super::features::Features;
use super::fold::Fold;
use super::limits::{Ask, Grant};
use super::prices::UNKNOWN;
use super::program::{Policy, Program, Rule};
use crate::otlp::{ALWAYS, NEVER, TraceId, randomness_of, share_of};

/// What one policy said of one trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vote {
    /// Keep.
    Sampled,
    /// No opinion to keep.
    NotSampled,
    /// Drop, whatever the others say.
    Dropped,
    /// It could not be evaluated (a condition that failed): no vote.
    Failed,
}

/// Keep or drop, and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Keep or not.
    pub keep: bool,
    /// The policy that decided: of a keep the one with the smallest threshold (ties to the first; the first at all in
    /// old releases), of a drop by policy that one; `None` when no policy wanted the trace.
    pub policy: Option<u16>,
    /// Which child sampled in the last `composite` that did, whichever policy is named; counted through all of them.
    pub child: Option<u16>,
    /// The smallest threshold of all policies that sampled; [`NEVER`] for a drop.
    pub threshold: u64,
}

impl Verdict {
    /// Drop, and no policy was asked or wanted it.
    pub const NONE: Self = Self {
        keep: false,
        policy: None,
        child: None,
        threshold: NEVER,
    };

    /// With which probability a trace like this is kept; 0 for a drop.
    #[must_use]
    pub fn probability(&self) -> f64 {
        share_of(self.threshold)
    }
}

/// Thresholds in ns of the program's percentile rules, in order, as they stood for this trace: one for each rule, of a rule
/// that sees spans one for each key that the trace has.
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
    /// Of its model calls, when it has any and somebody asks.
    pub features: Option<&'a Features>,
}

impl State<'_> {
    /// Last end minus first start in ns; `None` when the clock readings make no sense (0, or end before start).
    #[must_use]
    pub fn duration(&self) -> Option<u64> {
        let known = self.fold.min_start != 0 && self.fold.max_end >= self.fold.min_start;
        known.then(|| self.fold.max_end - self.fold.min_start)
    }
}

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    No,
    /// With the threshold that the rule applied.
    Yes(u64),
    Failed,
}

impl Said {
    fn plain(matches: bool) -> Self {
        if matches { Self::Yes(ALWAYS) } else { Self::No }
    }
}

/// The best vote so far.
#[derive(Debug, Default)]
struct Votes {
    /// Policy and threshold of the vote that is recorded.
    recorded: Option<(usize, u64)>,
    /// The child of the last `composite` that sampled, whichever policy is recorded.
    child: Option<u16>,
    least: Option<u64>,
    not_sampled: bool,
    /// Votes of inverted policies (old releases): the first to sample, and whether one vetoes.
    inverted: Option<usize>,
    vetoed: bool,
}

impl Votes {
    fn sampled(&mut self, index: usize, child: Option<u16>, threshold: u64, first: bool) {
        let better = |(_, so_far): (usize, u64)| !first && threshold < so_far;
        if self.recorded.is_none_or(better) {
            self.recorded = Some((index, threshold));
        }
        self.child = child.or(self.child);
        self.least = Some(self.least.map_or(threshold, |least| least.min(threshold)));
    }

    fn verdict(self) -> Verdict {
        let number = |index: usize| u16::try_from(index).ok();
        match (self.recorded, self.inverted) {
            _ if self.vetoed => Verdict::NONE,
            (Some((index, _)), _) => Verdict {
                keep: true,
                policy: number(index),
                child: self.child,
                threshold: self.least.unwrap_or(ALWAYS),
            },
            (None, Some(index)) if !self.not_sampled => Verdict {
                keep: true,
                policy: number(index),
                child: None,
                threshold: ALWAYS,
            },
            _ => Verdict::NONE,
        }
    }
}

impl Program {
    /// Decides. `vote` hears each policy that was asked, by its index in config order.
    pub(crate) fn decide(
        &self,
        state: State<'_>,
        thresholds: Thresholds<'_>,
        grants: &mut dyn Grant,
        mut vote: impl FnMut(usize, Vote),
    ) -> Verdict {
        let mut votes = Votes::default();
        for index in &self.order {
            let Some(policy) = self.policies.get(*index) else {
                continue;
            };
            let (said, child) = self.ask(policy, state, thresholds, grants);
            match said {
                Said::Failed => vote(*index, Vote::Failed),
                Said::Yes(_) if policy.drops => {
                    vote(*index, Vote::Dropped);
                    let policy = u16::try_from(*index).ok();
                    return Verdict {
                        policy,
                        ..Verdict::NONE
                    };
                }
                Said::Yes(_) if policy.votes_inverted => {
                    vote(*index, Vote::Sampled);
                    votes.inverted.get_or_insert(*index);
                }
                Said::Yes(threshold) => {
                    vote(*index, Vote::Sampled);
                    let first = self.semantics.release.records_first_policy();
                    votes.sampled(*index, child, threshold, first);
                    if self.semantics.sample_on_first_match {
                        break;
                    }
                }
                Said::No => {
                    vote(*index, Vote::NotSampled);
                    votes.vetoed |= policy.votes_inverted;
                    votes.not_sampled |= !policy.drops;
                }
            }
        }
        votes.verdict()
    }

    /// Asks for one piece alone, as `span-ingest` does; `None` while the trace stays undecided. A `drop` policy that does
    /// not match keeps the others from being asked; one that fails does not. The first that samples decides.
    pub(crate) fn decide_piece(
        &self,
        state: State<'_>,
        grants: &mut dyn Grant,
        mut vote: impl FnMut(usize, Vote),
    ) -> Option<Verdict> {
        let mut blocked = false;
        for index in &self.order {
            let policy = self.policies.get(*index)?;
            if blocked && !policy.drops {
                return None;
            }
            let number = u16::try_from(*index).ok();
            let (said, child) = self.ask(policy, state, &[], grants);
            match said {
                Said::Failed => vote(*index, Vote::Failed),
                Said::No => {
                    vote(*index, Vote::NotSampled);
                    blocked |= policy.drops;
                }
                Said::Yes(_) if policy.drops => {
                    vote(*index, Vote::Dropped);
                    return Some(Verdict {
                        policy: number,
                        ..Verdict::NONE
                    });
                }
                Said::Yes(threshold) => {
                    vote(*index, Vote::Sampled);
                    return Some(Verdict {
                        keep: true,
                        policy: number,
                        child,
                        threshold,
                    });
                }
            }
        }
        None
    }

    /// Asks one policy.
    fn ask(
        &self,
        policy: &Policy,
        state: State<'_>,
        thresholds: Thresholds<'_>,
        grants: &mut dyn Grant,
    ) -> (Said, Option<u16>) {
        let mut asking = Asking {
            program: self,
            state,
            thresholds,
            grants,
            child: None,
        };
        let said = asking.evaluate(&policy.rule);
        let child = asking
            .child
            .map(|child| policy.first_child.saturating_add(child));
        (said, child)
    }

    /// The threshold under which a policy matches, without percentiles.
    pub(super) fn threshold_of(
        &self,
        policy: &Policy,
        state: State<'_>,
        grants: &mut dyn Grant,
    ) -> Option<u64> {
        match self.ask(policy, state, &[], grants).0 {
            Said::Yes(threshold) => Some(threshold),
            Said::No | Said::Failed => None,
        }
    }

    /// Whether a trace would reach the limiter of a policy: no `drop` takes it, and what stands beside the limiter in an
    /// `and` matches.
    pub(crate) fn reaches(
        &self,
        limiter: usize,
        state: State<'_>,
        thresholds: Thresholds<'_>,
    ) -> bool {
        let mut beside = Beside {
            limiter,
            asked: false,
        };
        for index in &self.order {
            let Some(policy) = self.policies.get(*index) else {
                continue;
            };
            let (said, _) = self.ask(policy, state, thresholds, &mut beside);
            let matches = matches!(said, Said::Yes(_));
            if beside.asked || (policy.drops && matches) {
                return beside.asked && matches;
            }
        }
        false
    }

    /// What a trace asks of its budgets.
    pub(crate) fn ask_of(&self, state: State<'_>) -> Ask {
        Ask {
            shard: self.shard_of(state.trace),
            spans: u64::from(state.fold.spans),
            bytes: self
                .bytes_word()
                .and_then(|index| state.words.get(index).copied())
                .unwrap_or_default(),
            randomness: self
                .randomness(state)
                .unwrap_or_else(|| randomness_of(state.trace)),
        }
    }

    /// The randomness of a trace whose spans carry sampling information.
    fn randomness(&self, state: State<'_>) -> Option<u64> {
        let word = *state.words.get(self.trace_state_word()?)?;
        super::fold::randomness_in(word, state.trace)
    }
}

/// Finds out whether a limiter is asked at all: it and all others grant.
struct Beside {
    limiter: usize,
    asked: bool,
}

impl Grant for Beside {
    fn grant(&mut self, limiter: usize, _: Ask) -> u64 {
        self.asked |= limiter == self.limiter;
        ALWAYS
    }
}

struct Asking<'a> {
    program: &'a Program,
    state: State<'a>,
    thresholds: Thresholds<'a>,
    grants: &'a mut dyn Grant,
    child: Option<u16>,
}

impl Asking<'_> {
    fn features(&self) -> Option<&Features> {
        self.state.features
    }

    fn bit(&self, bit: u32) -> bool {
        let word = self.state.words.get(bit as usize / 64);
        word.is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    fn grant(&mut self, limiter: usize) -> Said {
        let ask = self.program.ask_of(self.state);
        match self.grants.grant(limiter, ask) {
            NEVER.. => Said::No,
            threshold => Said::Yes(threshold),
        }
    }

    fn evaluate(&mut self, rule: &Rule) -> Said {
        match rule {
            Rule::Always => Said::Yes(ALWAYS),
            Rule::Bit(bit) => Said::plain(self.bit(*bit)),
            Rule::Condition { failed, .. } if self.bit(*failed) => Said::Failed,
            Rule::Condition { matched, .. } => Said::plain(self.bit(*matched)),
            Rule::Spans { min, max } => {
                Said::plain((*min..=*max).contains(&i64::from(self.state.fold.spans)))
            }
            Rule::Coin(coin) => match self.program.randomness(self.state) {
                Some(randomness) if randomness >= coin.consistent => Said::Yes(coin.consistent),
                Some(_) => Said::No,
                // A hash may keep what the 56 bits of a threshold cannot tell.
                None if coin.keeps(self.state.trace) => Said::Yes(coin.consistent.min(NEVER - 1)),
                None => Said::No,
            },
            Rule::Slower(index) => {
                Said::plain(self.program.is_slower(*index, self.state, self.thresholds))
            }
            Rule::Limit(limiter) => self.grant(*limiter),
            Rule::Tokens { of, min, max } => {
                let tokens = self.features().and_then(|all| of.of(&all.record));
                Said::plain(tokens.is_some_and(|tokens| (*min..=*max).contains(&tokens)))
            }
            Rule::Ratio { of, to, min, max } => {
                let ratio = self.features().and_then(|all| all.ratio(*of, *to));
                Said::plain(ratio.is_some_and(|ratio| (*min..=*max).contains(&ratio)))
            }
            Rule::Cost { table, min, max } => {
                let cost = self.features().and_then(|all| all.cost(*table));
                let fits = |cost| cost == UNKNOWN || (*min..=*max).contains(&cost);
                Said::plain(cost.is_some_and(fits))
            }
            Rule::All(children) => self.all(children),
            Rule::Not(child) => match self.evaluate(child) {
                Said::Yes(_) => Said::No,
                Said::No => Said::Yes(ALWAYS),
                Said::Failed => Said::Failed,
            },
            Rule::Composite(children) => self.composite(children),
        }
    }

    fn all(&mut self, children: &[Rule]) -> Said {
        let mut most = ALWAYS;
        for child in children {
            match self.evaluate(child) {
                Said::Yes(threshold) => most = most.max(threshold),
                other => return other,
            }
        }
        Said::Yes(most)
    }

    /// The first child that matches decides: its share has room, or the trace is not sampled and no other child is asked.
    fn composite(&mut self, children: &[(Rule, usize)]) -> Said {
        for ((rule, limiter), number) in children.iter().zip(0_u16..) {
            match self.evaluate(rule) {
                Said::No => {}
                Said::Failed => return Said::Failed,
                Said::Yes(_) => {
                    let said = self.grant(*limiter);
                    if said != Said::No {
                        self.child = Some(number);
                        return Said::Yes(ALWAYS);
                    }
                    return Said::No;
                }
            }
        }
        Said::No
    }
}
