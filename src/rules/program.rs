//! Policies compiled to one program over a trace's folded state.
//!
//! Every test of a span is a bit (`atoms`), every policy an expression over the bits, the times, the count and the id.
//! Deciding reads the state and nothing else.

use super::call_rule::Tokens;
use super::limits::{Limiter, Limits};
use super::probabilistic::Coin;
use super::release::Semantics;
use super::spec::PercentileOf;
use crate::otlp::TraceId;

/// What a policy asks of a trace's state.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Rule {
    Always,
    /// The bit is set in the state.
    Bit(u32),
    Spans {
        min: i64,
        max: i64,
    },
    Coin(Coin),
    /// Bits of a condition, of which at most one is set: it was true of a span, or it failed on one before.
    Condition {
        matched: u32,
        failed: u32,
    },
    /// Index into [`Program::limiters`].
    Limit(usize),
    /// Children, each with the limiter of its share.
    Composite(Vec<(Rule, usize)>),
    /// Index into [`Program::percentiles`].
    Slower(usize),
    Tokens {
        of: Tokens,
        min: u64,
        max: u64,
    },
    Ratio {
        of: Tokens,
        to: Tokens,
        min: f64,
        max: f64,
    },
    /// `table` is an index into [`Program::prices`].
    Cost {
        table: usize,
        min: u64,
        max: u64,
    },
    All(Vec<Rule>),
    Not(Box<Rule>),
}

/// `latency`: whole milliseconds, looked at after each span, since with an upper bound the order counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Latency {
    pub(crate) over_ms: i64,
    /// 0: none.
    pub(crate) up_to_ms: i64,
    pub(crate) bit: u32,
}

/// `latency_percentile`.
#[derive(Debug, Clone, PartialEq)]
pub struct PercentileRule {
    /// The policy's name (of the top-level policy): its state is found by it after a restart.
    pub name: String,
    /// 0 to 100.
    pub percentile: f64,
    /// Never a threshold below this.
    pub floor_ns: u64,
    /// The threshold before there is one.
    pub warmup_ns: u64,
    /// Observations before the percentile counts.
    pub min_count: f64,
    /// Which of the program's slots make the key, coarsest first...
    pub(crate) slots: Vec<usize>,
    /// ...and which tokens its last part.
    pub(crate) tokens: Option<Tokens>,
    pub(crate) of: PercentileOf,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Policy {
    pub(crate) name: String,
    pub(crate) drops: bool,
    /// Its votes are inverted ones, which rank apart (old releases).
    pub(crate) votes_inverted: bool,
    /// Number of its first child: those of all `composite` policies are counted through.
    pub(crate) first_child: u16,
    /// Names of a `composite`'s children.
    pub(crate) children: Vec<String>,
    pub(crate) rule: Rule,
}

/// The rule set of one pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// In config order.
    pub(crate) policies: Vec<Policy>,
    /// `drop` policies first, then the rest, each in config order: the order of evaluation.
    pub(crate) order: Vec<usize>,
    pub(crate) latencies: Vec<Latency>,
    /// Facts slot of each of the program's slots.
    pub(crate) slots: Vec<u32>,
    pub(crate) percentiles: Vec<PercentileRule>,
    pub(crate) limiters: Vec<Limiter>,
    /// Bits of conditions that may fail: in each pair the one that is set first keeps the other out.
    pub(crate) ordered: Vec<(u32, u32)>,
    /// Bits that are not in these pairs, set once the atoms are complete.
    pub(crate) joined: Vec<u64>,
    pub(crate) semantics: Semantics,
    /// Number of each price table in the atoms.
    pub(crate) prices: Vec<usize>,
    /// Traces' features are to be folded.
    pub(crate) features: bool,
    /// Bits of the facts, set once the atoms are complete.
    pub(crate) fact_bits: u32,
}

/// Marks the bit of a latency before `link`.
pub(super) const LATENCY: u32 = 1 << 31;

impl Program {
    /// Places the latency bits behind the atoms' bits, of which there are `fact_bits`.
    #[must_use]
    pub fn link(mut self, fact_bits: u32) -> Self {
        self.fact_bits = fact_bits;
        self.joined = self.joined_bits();
        if self.semantics.use_trace_state {
            let kept = self.policies.iter().filter(|policy| !policy.drops);
            kept.for_each(|policy| cut_limiters(&policy.rule, &mut self.limiters));
        }
        for latency in &mut self.latencies {
            latency.bit += fact_bits;
        }
        for policy in &mut self.policies {
            place(&mut policy.rule, fact_bits);
        }
        self
    }

    /// Names of the policies, in config order: their indices stand in decisions.
    #[must_use]
    pub fn policy_names(&self) -> Vec<String> {
        self.policies
            .iter()
            .map(|policy| policy.name.clone())
            .collect()
    }

    /// Name of a `composite`'s child.
    #[must_use]
    pub fn child_name(&self, child: u16) -> Option<&str> {
        let mut children = self.policies.iter().flat_map(|policy| &policy.children);
        children.nth(usize::from(child)).map(String::as_str)
    }

    /// Full budgets of this rule set.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits::new(&self.limiters, self.semantics.shards)
    }

    /// The shard of a trace as the Collector chooses it: both halves of the id, mixed.
    pub(crate) fn shard_of(&self, trace: TraceId) -> u32 {
        shard_of(trace, self.semantics.shards)
    }

    /// Budgets that the traces of a tick share by randomness.
    pub(crate) fn cuts(&self) -> impl Iterator<Item = usize> {
        let cuts = self
            .limiters
            .iter()
            .enumerate()
            .filter(|(_, limiter)| limiter.cuts);
        cuts.map(|(index, _)| index)
    }

    /// The percentile rules, in the order in which thresholds are asked for.
    #[must_use]
    pub fn percentiles(&self) -> &[PercentileRule] {
        &self.percentiles
    }
}

/// Marks the limiters that a rule asks itself or in an `and`.
fn cut_limiters(rule: &Rule, limiters: &mut [Limiter]) {
    match rule {
        Rule::Limit(index) => {
            if let Some(limiter) = limiters.get_mut(*index) {
                limiter.cuts = true;
            }
        }
        Rule::All(children) => children
            .iter()
            .for_each(|child| cut_limiters(child, limiters)),
        _ => {}
    }
}

fn place(rule: &mut Rule, fact_bits: u32) {
    match rule {
        Rule::Bit(bit) if *bit & LATENCY != 0 => *bit = (*bit & !LATENCY) + fact_bits,
        Rule::All(children) => children
            .iter_mut()
            .for_each(|child| place(child, fact_bits)),
        Rule::Composite(children) => children
            .iter_mut()
            .for_each(|(child, _)| place(child, fact_bits)),
        Rule::Not(child) => place(child, fact_bits),
        _ => {}
    }
}

/// `num_shards`: splitmix64's last step over the xor of the id's little-endian halves.
pub(crate) fn shard_of(trace: TraceId, shards: u32) -> u32 {
    if shards <= 1 {
        return 0;
    }
    let bytes = trace.to_bytes();
    let (low, high) = bytes.split_at(8);
    let half = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    let mut mixed = half(low) ^ half(high);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    u32::try_from(mixed % u64::from(shards)).unwrap_or_default()
}
