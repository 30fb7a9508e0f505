//! For any trace, cut into any pieces: nobody is an orphan who was none, what stays is what it was, and the numbers add up.

use super::traces::{failed, id, note, piece, rule, span, thinned};
use crate::thinning::{Thin, ThinningRule};
use opentelemetry_proto::tonic::trace::v1::Span;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::{BTreeMap, BTreeSet};

fn rules() -> impl Strategy<Value = Vec<ThinningRule>> {
    let thin = prop_oneof![
        select(vec![0.0, 30.0, 100.0]).prop_map(Thin::Keep),
        (2..4_usize).prop_map(Thin::Fold),
    ];
    let one = (select(vec!["a", "b", "*", "name =~ \"a|b\""]), thin);
    vec(one.prop_map(|(spans, thin)| rule(spans, thin)), 1..3)
}

prop_compose! {
    fn spans()(
        each in vec((any::<prop::sample::Index>(), select(vec!["a", "b", "c"]), prop::bool::weighted(0.1)), 1..24),
    ) -> Vec<Span> {
        each.iter().enumerate().map(|(at, (parent, name, fails))| {
            let number = u8::try_from(at + 1).unwrap();
            // Of an earlier one, of none, or of one that is not here.
            let parent = match u8::try_from(parent.index(at + 2)).unwrap() {
                parent if parent == number => 99,
                parent => parent,
            };
            let span = span(number, parent, name);
            if *fails { failed(span) } else { span }
        }).collect()
    }
}

/// A span as it was before anything was written on it.
fn bare(span: &Span) -> Span {
    let mut span = span.clone();
    span.attributes
        .retain(|pair| !pair.key.starts_with("tailwater."));
    span
}

proptest! {
    #![proptest_config(crate::cases::cases(400))]

    #[test]
    fn what_stays_is_whole(
        spans in spans(),
        cuts in vec(any::<prop::sample::Index>(), 0..4),
        rules in rules(),
        seed in any::<u64>(),
    ) {
        let mut spans = spans;
        // Any order.
        spans.sort_by_key(|span| u64::from(span.span_id[0]).wrapping_mul(seed | 1));
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(spans.len() + 1)).collect();
        cuts.extend([0, spans.len()]);
        cuts.sort_unstable();
        let pieces: Vec<_> = cuts.windows(2).map(|cut| piece(&spans[cut[0]..cut[1]])).collect();
        let (found, out) = thinned(&rules, &pieces, None);
        let whole = thinned(&rules, &[piece(&spans)], None);
        prop_assert_eq!(&whole.0, &found, "wherever it is cut");

        prop_assert_eq!(found.len() as u64 + out, spans.len() as u64);
        let before: BTreeMap<_, _> = spans.iter().map(|span| (span.span_id.clone(), span)).collect();
        for span in &found {
            prop_assert_eq!(&&bare(span), &before[&span.span_id]);
        }
        let ids = |spans: &[Span]| spans.iter().map(|span| span.span_id.clone()).collect::<BTreeSet<_>>();
        let (all, left) = (ids(&spans), ids(&found));
        for span in &found {
            prop_assert!(left.contains(&span.parent_span_id) || !all.contains(&span.parent_span_id));
        }
        for span in &spans {
            if span.parent_span_id == id(0) || span.status.is_some() {
                prop_assert!(left.contains(&span.span_id));
            }
        }
        // The root, or the first that stays, tells how many are missing; each fold tells how many it stands for.
        let sum = |key: &str| found.iter().filter_map(|span| note(span, key)).sum::<i64>();
        let counted = if found.is_empty() { 0 } else { i64::try_from(out).unwrap() };
        prop_assert_eq!(sum("tailwater.thinned.spans"), counted);
        let folds = i64::try_from(found.iter().filter(|span| note(span, "tailwater.folded.count").is_some()).count()).unwrap();
        prop_assert!(sum("tailwater.folded.count") - folds <= i64::try_from(out).unwrap());
    }
}
