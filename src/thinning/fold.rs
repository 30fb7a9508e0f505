//! Repeated siblings as one span: the first of them stays and says what it stands for.

use super::candidates::Candidate;
use super::plan::Plan;
use hashbrown::{HashMap, HashSet};

/// Durations of the spans that one stands for, itself among them, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Folded {
    pub(super) count: u64,
    pub(super) sum: u64,
    pub(super) min: u64,
    pub(super) max: u64,
    /// When the last of them ended, Unix ns.
    pub(super) last_end: u64,
}

/// Spans of one parent, name, resource and scope become one where there are at least `least` of them.
pub(super) fn fold<'a>(
    spans: impl Iterator<Item = &'a Candidate<'a>>,
    least: usize,
    plan: &mut Plan,
) {
    let mut groups: HashMap<_, Vec<&Candidate<'_>>> = HashMap::new();
    for span in spans {
        let group = (span.parent, span.name, span.origin);
        groups.entry(group).or_default().push(span);
    }
    for spans in groups.values_mut() {
        spans.sort_unstable_by_key(|span| (span.start, span.id, span.at));
        // One that came twice is one.
        let mut seen = HashSet::new();
        let own: Vec<_> = spans.iter().filter(|span| seen.insert(span.id)).collect();
        let (Some(first), true) = (own.first(), own.len() >= least) else {
            continue;
        };
        let durations = || own.iter().map(|span| span.duration());
        let folded = Folded {
            count: own.len() as u64,
            sum: durations().fold(0, u64::saturating_add),
            min: durations().min().unwrap_or_default(),
            max: durations().max().unwrap_or_default(),
            last_end: own.iter().map(|span| span.end).max().unwrap_or_default(),
        };
        plan.folded.insert(first.at, folded);
        let others = spans.iter().map(|span| span.at);
        plan.out.extend(others.filter(|at| *at != first.at));
    }
}
