//! `latency_percentile`: a distribution for each key, and the thresholds that come from it at ticks.
//!
//! Invariants: thresholds change in [`Percentiles::refresh`] only, which the worker calls at a tick; between two ticks all
//! traces of a key see the same one. Below the minimum count the last threshold stays, else the parent key's (one
//! attribute fewer), else the warm-up's. Bounded in keys; what comes after the bound uses its parent.

use super::call_rule::Tokens;
use super::program::PercentileRule;
use super::seen::Seen;
use super::sketch::{Decay, Sketch};
use super::spec::PercentileOf;
use super::values::{ABSENT, ValueIds};
use hashbrown::HashMap;

/// Log time in which an observation's weight halves: long against an incident, so that a slow hour does not become
/// normal within it, short against a release.
const HALF_LIFE_NS: u64 = 3600 * 1_000_000_000;
/// Keys of one rule, at most 12 KiB each.
const MAX_KEYS: usize = 4096;

/// The state of all percentile rules of one pipeline.
#[derive(Debug)]
pub struct Percentiles {
    rules: Vec<RuleState>,
    decay: Decay,
}

#[derive(Debug)]
struct RuleState {
    rule: PercentileRule,
    keys: HashMap<Box<[u32]>, Entry>,
}

#[derive(Debug, Default)]
struct Entry {
    sketch: Sketch,
    threshold: Option<u64>,
    touched: bool,
}

impl Entry {
    fn add(&mut self, duration_ns: u64, weight: f64) {
        self.sketch.add(duration_ns, weight);
        self.touched = true;
    }
}

/// One key's distribution as it goes into a snapshot.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SketchSnapshot {
    /// The policy.
    #[prost(string, tag = "1")]
    pub rule: String,
    /// Which of the policy's percentile rules (an `and` can hold several).
    #[prost(uint32, tag = "2")]
    pub number: u32,
    /// Key values; fewer than the rule's keys: a parent.
    #[prost(string, repeated, tag = "3")]
    pub key: Vec<String>,
    /// The threshold in force, ns.
    #[prost(uint64, optional, tag = "4")]
    pub threshold: Option<u64>,
    /// Bins and their weights, as of the snapshot's time.
    #[prost(sint32, repeated, tag = "5")]
    pub bins: Vec<i32>,
    /// Weights, by position.
    #[prost(float, repeated, tag = "6")]
    pub weights: Vec<f32>,
}

impl Percentiles {
    /// Empty distributions; `now` is log time.
    #[must_use]
    pub fn new(rules: &[PercentileRule], now: u64) -> Self {
        let rules = rules
            .iter()
            .map(|rule| RuleState {
                rule: rule.clone(),
                keys: HashMap::new(),
            })
            .collect();
        Self {
            rules,
            decay: Decay::new(now, HALF_LIFE_NS),
        }
    }

    /// There is no percentile rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Writes the thresholds of each rule for a trace: one, or one for each key of the spans that the rule sees.
    pub fn thresholds(&self, seen: &Seen, out: &mut Vec<u64>) {
        out.clear();
        for (number, state) in self.rules.iter().enumerate() {
            if state.rule.of == PercentileOf::Span {
                let own = seen.spans.iter().filter(|(rule, _)| *rule == number);
                out.extend(own.map(|(_, key)| state.threshold(key)));
            } else {
                out.push(state.threshold(&state.key(seen)));
            }
        }
    }

    /// Takes one trace's times.
    pub fn observe(&mut self, seen: &Seen, now: u64) {
        let weight = self.decay.weight(now);
        for state in &mut self.rules {
            if let Some(time) = seen.time(state.rule.of) {
                state.observe(&state.key(seen), time, weight);
            }
        }
    }

    /// Takes one span's duration.
    pub(crate) fn observe_span(&mut self, rule: usize, key: &[u32], duration_ns: u64, now: u64) {
        let weight = self.decay.weight(now);
        if let Some(state) = self.rules.get_mut(rule) {
            state.observe(key, duration_ns, weight);
        }
    }

    /// Takes new thresholds into force; called at each tick.
    pub fn refresh(&mut self, now: u64) {
        let scale = self.decay.renew(now);
        let weight = self.decay.weight(now);
        for state in &mut self.rules {
            for entry in state.keys.values_mut() {
                if let Some(factor) = scale {
                    entry.sketch.scale(factor);
                }
                if std::mem::take(&mut entry.touched)
                    && entry.sketch.total() / weight >= state.rule.min_count
                {
                    entry.threshold = entry.sketch.quantile(state.rule.percentile);
                }
            }
        }
    }

    /// All distributions, scaled to weight 1 at `now`.
    #[must_use]
    pub fn snapshot(&self, now: u64, ids: &ValueIds) -> Vec<SketchSnapshot> {
        let weight = self.decay.weight(now);
        let mut out = Vec::new();
        for (number, state) in (0..).zip(&self.rules) {
            for (key, entry) in &state.keys {
                #[allow(clippy::cast_possible_truncation, reason = "weights are f32 by design")]
                let (bins, weights) = entry
                    .sketch
                    .export()
                    .map(|(bin, w)| (bin, (f64::from(w) / weight) as f32))
                    .unzip();
                out.push(SketchSnapshot {
                    rule: state.rule.name.clone(),
                    number,
                    key: key.iter().map(|id| ids.text(*id).to_string()).collect(),
                    threshold: entry.threshold,
                    bins,
                    weights,
                });
            }
        }
        out
    }

    /// Takes a snapshot back; distributions of rules that are no longer there are left out.
    pub fn restore(&mut self, snapshot: &[SketchSnapshot], now: u64, ids: &ValueIds) {
        let weight = self.decay.weight(now);
        for saved in snapshot {
            let Some(state) = self
                .rules
                .get_mut(saved.number as usize)
                .filter(|state| state.rule.name == saved.rule)
            else {
                continue;
            };
            if saved.key.len() > state.rule.keys() {
                continue;
            }
            let mut sketch = Sketch::import(
                saved
                    .bins
                    .iter()
                    .copied()
                    .zip(saved.weights.iter().copied()),
            );
            sketch.scale(weight);
            let id = |text: &String| {
                if text.is_empty() {
                    ABSENT
                } else {
                    ids.id(text.as_bytes())
                }
            };
            let key = saved.key.iter().map(id).collect();
            state.keys.insert(
                key,
                Entry {
                    sketch,
                    threshold: saved.threshold,
                    touched: true,
                },
            );
        }
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let entries = self.rules.iter().flat_map(|state| &state.keys);
        entries
            .map(|(key, entry)| key.len() * 4 + entry.sketch.bytes())
            .sum()
    }
}

impl PercentileRule {
    /// Parts of a key.
    fn keys(&self) -> usize {
        self.slots.len() + usize::from(self.tokens.is_some())
    }
}

impl RuleState {
    fn key(&self, seen: &Seen) -> Vec<u32> {
        let slots = self.rule.slots.iter();
        let of_slots = slots.map(|slot| seen.values.get(*slot).copied().unwrap_or(ABSENT));
        let bucket = |tokens: Tokens| seen.buckets.get(tokens as usize).copied();
        let tokens = self.rule.tokens.iter();
        let of_tokens = tokens.map(|tokens| bucket(*tokens).unwrap_or(ABSENT));
        of_slots.chain(of_tokens).collect()
    }

    /// For the key and all its parents.
    fn observe(&mut self, key: &[u32], time_ns: u64, weight: f64) {
        for depth in 0..=key.len() {
            self.add(&key[..depth], time_ns, weight);
        }
    }

    fn threshold(&self, key: &[u32]) -> u64 {
        let known = (0..=key.len())
            .rev()
            .find_map(|depth| self.keys.get(&key[..depth])?.threshold);
        known.unwrap_or(self.rule.warmup_ns).max(self.rule.floor_ns)
    }

    fn add(&mut self, key: &[u32], duration_ns: u64, weight: f64) {
        if !self.keys.contains_key(key) && self.keys.len() >= MAX_KEYS {
            return;
        }
        if let Some(entry) = self.keys.get_mut(key) {
            entry.add(duration_ns, weight);
        } else {
            self.keys
                .entry(key.into())
                .or_default()
                .add(duration_ns, weight);
        }
    }
}
