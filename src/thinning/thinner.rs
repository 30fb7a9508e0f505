//! The rules of an instance, over the pieces of one kept trace.

use super::candidates::{At, candidates};
use super::plan::{Plan, plan};
use super::rewrite::{Fate, int_attribute, rewrite};
use super::settings::ThinningRule;
use crate::otlp::WireError;
use bytes::Bytes;

/// On the root: spans of the trace (of this delivery of it) that were left out.
const LEFT_OUT: &str = "tailwater.thinned.spans";
/// On a span that stands for others: how many it stands for, itself among them...
const COUNT: &str = "tailwater.folded.count";
/// ...and their durations in ns, and the end of the last one in Unix ns.
const SUM: &str = "tailwater.folded.duration.sum";
const MIN: &str = "tailwater.folded.duration.min";
const MAX: &str = "tailwater.folded.duration.max";
const LAST_END: &str = "tailwater.folded.end";

/// Thins kept traces.
#[derive(Debug, Default)]
pub struct Thinner {
    rules: Vec<ThinningRule>,
}

/// What is left of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thinned {
    /// Empty when nothing is.
    pub bytes: Bytes,
    /// Spans that were left out.
    pub left_out: u32,
}

impl Thinner {
    /// With these rules, in their order.
    #[must_use]
    pub fn new(rules: Vec<ThinningRule>) -> Self {
        Self { rules }
    }

    /// Nothing is ever left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// What leaves of the pieces of one entry, kept by `policy`; `None` when nobody knows any more which policy that was:
    /// then rules that make exceptions leave it alone.
    ///
    /// # Errors
    /// When a piece is damaged: nothing is left out then.
    pub fn apply(&self, pieces: &[Bytes], policy: Option<&str>) -> Result<Vec<Thinned>, WireError> {
        let rules: Vec<_> = self
            .rules
            .iter()
            .filter(|rule| holds(rule, policy))
            .collect();
        let plan = if rules.is_empty() {
            Plan::default()
        } else {
            plan(&candidates(pieces)?, &rules)
        };
        let left_out = plan.out.len() as u64;
        let each = pieces.iter().enumerate().map(|(piece, bytes)| {
            let mut gone = 0;
            let new = rewrite(bytes, &mut |number| {
                let fate = fate(&plan, (piece, number), left_out);
                gone += u32::from(matches!(fate, Fate::Goes));
                fate
            })?;
            Ok(Thinned {
                bytes: new.map_or_else(|| bytes.clone(), Bytes::from),
                left_out: gone,
            })
        });
        each.collect()
    }
}

fn holds(rule: &ThinningRule, policy: Option<&str>) -> bool {
    let excepted = |policy: &str| rule.unless_kept_by.iter().any(|name| name == policy);
    rule.unless_kept_by.is_empty() || policy.is_some_and(|policy| !excepted(policy))
}

fn fate(plan: &Plan, at: At, left_out: u64) -> Fate {
    if plan.out.contains(&at) {
        return Fate::Goes;
    }
    let mut notes = Vec::new();
    if let Some(folded) = plan.folded.get(&at) {
        let attributes = [
            (COUNT, folded.count),
            (SUM, folded.sum),
            (MIN, folded.min),
            (MAX, folded.max),
            (LAST_END, folded.last_end),
        ];
        notes.extend(attributes.map(|(key, value)| int_attribute(key, value)));
    }
    if left_out > 0 && plan.counted_on == Some(at) {
        notes.push(int_attribute(LEFT_OUT, left_out));
    }
    if notes.is_empty() {
        Fate::Stays
    } else {
        Fate::Noted(notes)
    }
}
