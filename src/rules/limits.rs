//! Budgets that policies spend: `rate_limiting`, `bytes_limiting` and the shares of `composite`.
//!
//! A token bucket as Go's `x/time/rate` counts it (starts full, refills continuously, a refusal spends nothing), a counter
//! by the second for `composite` and for old releases. Pure: the time is handed in. What was granted stands in the entry
//! of the decision (`Recorded` gives it back to a checker), and the state behind it, so that a restart neither doubles nor
//! zeroes a budget.

use super::release::Release;
use crate::otlp::{ALWAYS, NEVER};
use prost::Message;

const SECOND: u64 = 1_000_000_000;

/// What a budget is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cost {
    Spans,
    /// Bytes of the trace as the Collector would encode it.
    Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Budget {
    /// Tokens.
    Bucket { per_second: i64, burst: i64 },
    /// Strictly fewer in each second of the clock (before v0.153).
    BySecond { per_second: i64 },
    /// No more in each second of the clock, nor than `most` (the maximum of the whole `composite`, tested alone).
    Share { per_second: i64, most: i64 },
}

/// One budget of a rule set.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limiter {
    /// Policy and place below it: its state is found by it after a restart.
    pub(crate) name: String,
    pub(crate) budget: Budget,
    pub(crate) cost: Cost,
    /// With the gate `usetracestate` the traces of a tick share it by randomness: at the top level and in an `and`.
    pub(crate) cuts: bool,
}

impl Limiter {
    /// `rate_limiting` or `bytes_limiting`, its rate divided by the number of shards (the burst is not).
    pub(crate) fn rate(
        name: String,
        cost: Cost,
        rate: i64,
        burst: i64,
        shards: u32,
        release: Release,
    ) -> Self {
        let per_second = divided(rate, shards);
        let budget = if release.rate_by_second() {
            Budget::BySecond { per_second }
        } else {
            let burst = if burst == 0 {
                rate.saturating_mul(2)
            } else {
                burst
            };
            Budget::Bucket {
                per_second,
                burst: burst.max(0),
            }
        };
        Self {
            name,
            budget,
            cost,
            cuts: false,
        }
    }
}

/// At least 1 when it was positive.
pub(crate) fn divided(rate: i64, shards: u32) -> i64 {
    let shards = i64::from(shards.max(1));
    if rate > 0 {
        (rate / shards).max(1)
    } else {
        rate
    }
}

/// What a trace asks of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) shard: u32,
    pub(crate) spans: u64,
    pub(crate) bytes: u64,
    /// For budgets that prefer the most random traces.
    pub(crate) randomness: u64,
}

impl Ask {
    fn cost(self, cost: Cost) -> u64 {
        match cost {
            Cost::Spans => self.spans,
            Cost::Bytes => self.bytes,
        }
    }
}

/// Answers what a rule set asks of its budgets: a threshold, [`NEVER`] for a refusal.
pub(crate) trait Grant {
    fn grant(&mut self, limiter: usize, ask: Ask) -> u64;
}

/// Refuses everything: for rule sets without budgets.
#[cfg(test)]
pub(crate) struct NoBudgets;

#[cfg(test)]
impl Grant for NoBudgets {
    fn grant(&mut self, _: usize, _: Ask) -> u64 {
        NEVER
    }
}

/// Gives back the answers that an entry carries, in the order in which they were asked for.
#[derive(Debug)]
pub(crate) struct Recorded<'a> {
    pub(crate) answers: std::slice::Iter<'a, u64>,
}

impl Grant for Recorded<'_> {
    fn grant(&mut self, _: usize, _: Ask) -> u64 {
        self.answers.next().copied().unwrap_or(NEVER)
    }
}

/// The state of one budget.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct State {
    tokens: f64,
    /// When `tokens` stood so, or the second that `count` counts; ns.
    at: u64,
    count: u64,
    /// At this tick: what the traces of the tick may have (with the gate `usetracestate`).
    cut: Option<u64>,
}

/// The state of all budgets of a rule set.
#[derive(Debug, Default)]
pub struct Limits {
    limiters: Vec<Limiter>,
    /// Shard by shard.
    states: Vec<State>,
    changed: bool,
}

/// One budget in a snapshot.
#[derive(Clone, PartialEq, Message)]
pub struct LimitSnapshot {
    /// Policy and place below it.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Which of the shards.
    #[prost(uint32, tag = "2")]
    pub shard: u32,
    /// Tokens left at `at`.
    #[prost(double, tag = "3")]
    pub tokens: f64,
    /// Log time, ns.
    #[prost(uint64, tag = "4")]
    pub at: u64,
    /// Granted in the second of `at`.
    #[prost(uint64, tag = "5")]
    pub count: u64,
}

impl Limits {
    /// Full budgets.
    pub(crate) fn new(limiters: &[Limiter], shards: u32) -> Self {
        let full = |limiter: &Limiter| State {
            tokens: match limiter.budget {
                Budget::Bucket { burst, .. } => float(burst),
                _ => 0.0,
            },
            ..State::default()
        };
        let states = (0..shards.max(1)).flat_map(|_| limiters.iter().map(full));
        Self {
            states: states.collect(),
            limiters: limiters.to_vec(),
            changed: false,
        }
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.limiters.is_empty()
    }

    /// Whether something was granted since the last call.
    pub(crate) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// What a restart needs.
    pub(crate) fn snapshot(&self) -> Vec<LimitSnapshot> {
        let names = self.limiters.iter().cycle();
        let each = self.limiters.len().max(1);
        let saved = self.states.iter().zip(names).enumerate();
        saved
            .map(|(index, (state, limiter))| LimitSnapshot {
                name: limiter.name.clone(),
                shard: u32::try_from(index / each).unwrap_or(u32::MAX),
                tokens: state.tokens,
                at: state.at,
                count: state.count,
            })
            .collect()
    }

    /// Takes over what fits: budgets that are new stay full, tokens above a lowered burst are gone.
    pub(crate) fn restore(&mut self, saved: &[LimitSnapshot]) {
        for snapshot in saved {
            let Some(index) = self
                .limiters
                .iter()
                .position(|limiter| limiter.name == snapshot.name)
            else {
                continue;
            };
            let most = match self.limiters.get(index).map(|limiter| limiter.budget) {
                Some(Budget::Bucket { burst, .. }) => float(burst),
                _ => 0.0,
            };
            if let Some(state) = self.state(index, snapshot.shard) {
                state.tokens = snapshot.tokens.clamp(0.0, most);
                (state.at, state.count) = (snapshot.at, snapshot.count);
            }
        }
    }

    fn state(&mut self, limiter: usize, shard: u32) -> Option<&mut State> {
        let index = shard as usize * self.limiters.len() + limiter;
        self.states.get_mut(index)
    }

    /// Spends the cost when the budget has it.
    pub(crate) fn take(&mut self, index: usize, ask: Ask, now: u64) -> bool {
        let Some(limiter) = self.limiters.get(index) else {
            return false;
        };
        let (budget, cost) = (limiter.budget, ask.cost(limiter.cost));
        let Some(state) = self.state(index, ask.shard) else {
            return false;
        };
        let granted = match budget {
            Budget::Bucket { per_second, burst } => state.take_tokens(per_second, burst, cost, now),
            Budget::BySecond { per_second } => {
                state.count_up(now, cost, |sum| signed(sum) < per_second)
            }
            Budget::Share { per_second, most } => state.count_up(now, cost, |sum| {
                signed(sum) <= per_second && signed(sum) <= most
            }),
        };
        self.changed |= granted;
        granted
    }

    /// Sets what the traces of one tick may have of a budget: in order of falling randomness as many as fit; the threshold
    /// lies just above the first that does not. Traces dearer than the burst are passed over.
    pub(crate) fn cut(&mut self, index: usize, asks: &mut [Ask], now: u64) {
        let Some(limiter) = self.limiters.get(index).cloned() else {
            return;
        };
        asks.sort_by_key(|ask| std::cmp::Reverse(ask.randomness));
        let shards = asks.iter().map(|ask| ask.shard).max().unwrap_or(0);
        for shard in 0..=shards {
            let of_shard: Vec<Ask> = asks
                .iter()
                .filter(|ask| ask.shard == shard)
                .copied()
                .collect();
            if of_shard.is_empty() {
                continue;
            }
            let cut = self.cut_shard(index, &limiter, &of_shard, now);
            if let Some(state) = self.state(index, shard) {
                state.cut = Some(cut);
            }
        }
    }

    fn cut_shard(&mut self, index: usize, limiter: &Limiter, asks: &[Ask], now: u64) -> u64 {
        let burst = match limiter.budget {
            Budget::Bucket { burst, .. } => burst,
            Budget::BySecond { per_second } | Budget::Share { per_second, .. } => per_second,
        };
        let fits = |ask: &&Ask| signed(ask.cost(limiter.cost)) <= burst;
        let mut candidates: Vec<Ask> = asks.iter().filter(fits).copied().collect();
        let Some(state) = asks.first().and_then(|ask| self.state(index, ask.shard)) else {
            return NEVER;
        };
        let left = match limiter.budget {
            Budget::Bucket { per_second, burst } => state.tokens_at(per_second, burst, now),
            _ => float(burst),
        };
        let mut sum = 0_u64;
        let within = candidates.iter().take_while(|ask| {
            sum = sum.saturating_add(ask.cost(limiter.cost));
            float(signed(sum)) <= left
        });
        let count = within.count();
        let cut = match candidates.get(count) {
            None if candidates.is_empty() => NEVER,
            None => ALWAYS,
            Some(_) if count == 0 => NEVER,
            Some(rejected) => rejected.randomness + 1,
        };
        candidates.retain(|ask| ask.randomness >= cut);
        for ask in candidates {
            self.take(index, ask, now);
        }
        cut
    }

    /// Forgets the cuts of a tick.
    pub(crate) fn end_tick(&mut self) {
        self.states.iter_mut().for_each(|state| state.cut = None);
    }
}

impl State {
    fn tokens_at(&self, per_second: i64, burst: i64, now: u64) -> f64 {
        #[allow(
            clippy::cast_precision_loss,
            reason = "nanoseconds of a pause; a rounding of tokens"
        )]
        let elapsed = now.saturating_sub(self.at) as f64 / SECOND as f64;
        (self.tokens + elapsed * float(per_second.max(0))).min(float(burst))
    }

    fn take_tokens(&mut self, per_second: i64, burst: i64, cost: u64, now: u64) -> bool {
        let tokens = self.tokens_at(per_second, burst, now);
        let cost = signed(cost);
        if cost > burst || tokens < float(cost) {
            return false;
        }
        (self.tokens, self.at) = (tokens - float(cost), now.max(self.at));
        true
    }

    fn count_up(&mut self, now: u64, cost: u64, allowed: impl Fn(u64) -> bool) -> bool {
        if self.at / SECOND != now / SECOND {
            (self.at, self.count) = (now, 0);
        }
        let sum = self.count.saturating_add(cost);
        let granted = allowed(sum);
        if granted {
            self.count = sum;
        }
        granted
    }
}

/// Asks the budgets at `now` and notes the answers.
#[derive(Debug)]
pub(crate) struct Granting<'a> {
    pub(crate) limits: &'a mut Limits,
    /// Moves on with each question, as the clock of whoever asks one after another does: a bucket that is full again
    /// within microseconds is full at the next question.
    pub(crate) now: &'a mut u64,
    pub(crate) answers: &'a mut Vec<u64>,
}

/// From one question to the next. What it adds is not added again at the next tick: tokens come for the time since the
/// last grant.
const QUESTION: u64 = 1000;

impl Grant for Granting<'_> {
    fn grant(&mut self, limiter: usize, ask: Ask) -> u64 {
        let cut = self
            .limits
            .state(limiter, ask.shard)
            .and_then(|state| state.cut);
        let answer = match cut {
            Some(cut) if ask.randomness >= cut && self.limits.affords(limiter, ask) => cut,
            Some(_) => NEVER,
            None if self.limits.take(limiter, ask, *self.now) => ALWAYS,
            None => NEVER,
        };
        *self.now += QUESTION;
        self.answers.push(answer);
        answer
    }
}

impl Limits {
    /// The cost is not above the burst: such a trace is passed over when a tick is cut.
    fn affords(&self, index: usize, ask: Ask) -> bool {
        self.limiters
            .get(index)
            .is_some_and(|limiter| match limiter.budget {
                Budget::Bucket { burst, .. } => signed(ask.cost(limiter.cost)) <= burst,
                _ => true,
            })
    }
}

#[allow(clippy::cast_precision_loss, reason = "as Go's float64 tokens")]
fn float(number: i64) -> f64 {
    number as f64
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(spans: u64) -> Ask {
        Ask {
            shard: 0,
            spans,
            bytes: 0,
            randomness: 0,
        }
    }

    fn limits(rate: i64, burst: i64, release: Release) -> Limits {
        Limits::new(
            &[Limiter::rate(
                "p".into(),
                Cost::Spans,
                rate,
                burst,
                1,
                release,
            )],
            1,
        )
    }

    /// Rows R1 to R5 and those of section 2.2: (second, spans, granted).
    #[test]
    fn a_bucket_grants_as_the_collectors() {
        let check = |rate, burst, release, steps: &[(u64, u64, bool)]| {
            let mut limits = limits(rate, burst, Release(release));
            for (second, cost, expected) in steps {
                let granted = limits.take(0, spans(*cost), (100 + second) * SECOND);
                assert_eq!(
                    granted, *expected,
                    "rate {rate} burst {burst}: {cost} at {second}"
                );
            }
        };
        check(10, 0, 165, &[(1, 20, true), (2, 12, false)]);
        check(10, 0, 165, &[(1, 21, false), (2, 20, true)]);
        check(10, 0, 165, &[(1, 20, true), (2, 9, true), (3, 9, true)]);
        check(10, 10, 165, &[(1, 11, false)]);
        check(
            10,
            0,
            152,
            &[(1, 10, false), (1, 9, true), (1, 1, false), (2, 9, true)],
        );
        check(0, 0, 165, &[(1, 1, false)]);
        check(-5, 0, 165, &[(1, 1, false)]);
        check(0, 5, 165, &[(1, 5, true), (1000, 1, false)]);
    }

    #[test]
    fn a_restart_neither_doubles_nor_zeroes() {
        let mut before = limits(10, 0, Release::NEWEST);
        assert!(before.take(0, spans(15), 100 * SECOND));
        let saved = before.snapshot();
        let mut after = limits(10, 0, Release::NEWEST);
        after.restore(&saved);
        assert!(!after.take(0, spans(6), 100 * SECOND));
        assert!(after.take(0, spans(5), 100 * SECOND));
        let mut lowered = limits(1, 2, Release::NEWEST);
        lowered.restore(&saved);
        assert!(
            !lowered.take(0, spans(3), 100 * SECOND),
            "not above the new burst"
        );
    }

    #[test]
    fn a_tick_is_cut_by_randomness() {
        let mut limits = limits(10, 20, Release::NEWEST);
        let ask = |randomness, spans| Ask {
            shard: 0,
            spans,
            bytes: 0,
            randomness,
        };
        let mut asks = vec![
            ask(10, 6),
            ask(50, 6),
            ask(40, 6),
            ask(30, 6),
            ask(20, 6),
            ask(60, 21),
        ];
        limits.cut(0, &mut asks, 100 * SECOND);
        let mut answers = Vec::new();
        let mut now = 100 * SECOND;
        let mut granting = Granting {
            limits: &mut limits,
            now: &mut now,
            answers: &mut answers,
        };
        let said: Vec<u64> = [50, 40, 30, 20, 10]
            .map(|r| granting.grant(0, ask(r, 6)))
            .into();
        assert_eq!(said, [21, 21, 21, NEVER, NEVER]);
        assert_eq!(
            granting.grant(0, ask(60, 21)),
            NEVER,
            "dearer than the burst"
        );
        limits.end_tick();
        assert!(
            !limits.take(0, spans(3), 100 * SECOND),
            "18 of 20 are spent"
        );
        assert!(limits.take(0, spans(2), 100 * SECOND));
    }

    #[test]
    fn rates_are_divided_by_shards() {
        assert_eq!(
            [divided(10, 4), divided(3, 4), divided(0, 4), divided(-1, 4)],
            [2, 1, 0, -1]
        );
    }
}
