//! Who stays: rules first, then the tree.

use super::candidates::{At, Candidate};
use super::fold::{Folded, fold};
use super::settings::{Thin, ThinningRule};
use hashbrown::{HashMap, HashSet};
use xxhash_rust::xxh3::Xxh3;

/// What leaves changed.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Spans that do not leave.
    pub(super) out: HashSet<At>,
    /// Spans that stand for others.
    pub(super) folded: HashMap<At, Folded>,
    /// The span on which what was left out is counted.
    pub(super) counted_on: Option<At>,
}

/// What the rules say of a span, before the tree is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Stays,
    Goes,
    /// It may become one with its siblings, by this rule.
    Folds(usize),
}

/// `rules` are those that hold for this trace.
pub(super) fn plan(spans: &[Candidate<'_>], rules: &[&ThinningRule]) -> Plan {
    let mut said: Vec<Said> = spans.iter().map(|span| say(span, rules)).collect();
    if said.iter().all(|said| *said == Said::Stays) {
        return Plan::default();
    }
    keep_parents(spans, &mut said);
    let mut plan = Plan::default();
    let goes = |(_, said): &(&Candidate<'_>, &Said)| **said == Said::Goes;
    plan.out = spans
        .iter()
        .zip(&said)
        .filter(goes)
        .map(|(span, _)| span.at)
        .collect();
    for (number, rule) in rules.iter().enumerate() {
        if let Thin::Fold(least) = rule.thin {
            let own = spans.iter().zip(&said);
            let own = own.filter(|(_, said)| **said == Said::Folds(number));
            fold(own.map(|(span, _)| span), least, &mut plan);
        }
    }
    plan.counted_on = counted_on(spans, &plan.out);
    plan
}

fn say(span: &Candidate<'_>, rules: &[&ThinningRule]) -> Said {
    if span.is_root() || span.failed {
        return Said::Stays;
    }
    let mut meant = rules.iter().enumerate();
    match meant.find(|(_, rule)| rule.spans.matches(span.name)) {
        None => Said::Stays,
        Some((number, rule)) => match rule.thin {
            Thin::Keep(percent) if wins(span, percent) => Said::Stays,
            Thin::Keep(_) => Said::Goes,
            Thin::Fold(_) => Said::Folds(number),
        },
    }
}

/// The coin of a span: the same in every process and after every restart.
#[allow(
    clippy::cast_precision_loss,
    reason = "53 bits of a hash are more than a percentage needs"
)]
fn wins(span: &Candidate<'_>, percent: f64) -> bool {
    let mut hash = Xxh3::new();
    hash.update(span.trace);
    hash.update(span.id);
    let share = (hash.digest() >> 11) as f64 / (1_u64 << 53) as f64;
    share * 100.0 < percent
}

/// What stays keeps its ancestors. Of those that fold one stays, so their parents stay, and do not fold themselves.
fn keep_parents(spans: &[Candidate<'_>], said: &mut [Said]) {
    let mut by_id: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (number, span) in spans.iter().enumerate() {
        by_id.entry(span.id).or_default().push(number);
    }
    let staying = said.iter().zip(spans);
    let staying = staying.filter(|(said, _)| **said != Said::Goes);
    let mut parents: Vec<&[u8]> = staying.map(|(_, span)| span.parent).collect();
    let mut seen = HashSet::new();
    while let Some(parent) = parents.pop() {
        if !seen.insert(parent) {
            continue;
        }
        for number in by_id.get(parent).into_iter().flatten() {
            if let (Some(said), Some(span)) = (said.get_mut(*number), spans.get(*number)) {
                *said = Said::Stays;
                parents.push(span.parent);
            }
        }
    }
}

/// The root; in an entry without one (late spans, a parent elsewhere) the earliest span that stays.
fn counted_on(spans: &[Candidate<'_>], out: &HashSet<At>) -> Option<At> {
    let staying = spans.iter().filter(|span| !out.contains(&span.at));
    let first = staying.min_by_key(|span| (!span.is_root(), span.start, span.id, span.at));
    first.map(|span| span.at)
}
