//! Which kept traces go to which exporter: `export_to` and `evaluate_percentage` of policies.
//!
//! An exporter that a policy names takes the traces that such policies have kept and no others; every other exporter takes
//! all. A share is a coin by trace id, apart from all coins by which traces are kept, so that pieces of a trace go one way
//! and a share of a share is what it says.

use crate::otlp::{NoteValue, TraceId};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// `export_to` of one policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// The policy.
    pub policy: String,
    /// Ids of exporters of its pipeline.
    pub exporters: Vec<String>,
    /// `evaluate_percentage`: so many percent of its traces go there, marked to be judged; all without it.
    pub percentage: Option<f64>,
}

/// What one exporter takes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Routing {
    /// Policies and shares; `None`: every trace.
    policies: Option<Vec<(String, Option<f64>)>>,
}

/// Tells the coins of `evaluate_percentage` from all others.
const SEED: u64 = 0x6576_616c;

impl Routing {
    pub(crate) fn of(exporter: &str, routes: &[Route]) -> Self {
        let own = routes
            .iter()
            .filter(|route| route.exporters.iter().any(|id| id == exporter));
        let policies: Vec<_> = own
            .map(|route| (route.policy.clone(), route.percentage))
            .collect();
        Self {
            policies: (!policies.is_empty()).then_some(policies),
        }
    }

    /// What a trace kept by `policy` says when it goes here; `None`: it does not. A policy that nobody knows any more
    /// (`None`) names no exporter.
    pub(super) fn takes(
        &self,
        policy: Option<&str>,
        trace: TraceId,
    ) -> Option<Vec<(&'static str, NoteValue)>> {
        let Some(policies) = &self.policies else {
            return Some(Vec::new());
        };
        let (name, share) = policies.iter().find(|(name, _)| Some(&**name) == policy)?;
        let mut marks = vec![("tailwater.routed_by", NoteValue::Text(name.clone()))];
        if let Some(percent) = share {
            if !wins(trace, *percent) {
                return None;
            }
            marks.push(("tailwater.evaluate", NoteValue::Flag(true)));
        }
        Some(marks)
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "53 bits of a hash are more than a percentage needs"
)]
fn wins(trace: TraceId, percent: f64) -> bool {
    let hash = xxh3_64_with_seed(&trace.to_bytes(), SEED);
    let share = (hash >> 11) as f64 / (1_u64 << 53) as f64;
    share * 100.0 < percent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes() -> Vec<Route> {
        let route = |policy: &str, exporters: &[&str], percentage| Route {
            policy: policy.to_owned(),
            exporters: exporters.iter().map(|id| (*id).to_owned()).collect(),
            percentage,
        };
        vec![
            route("slow", &["judge"], Some(10.0)),
            route("bad", &["judge", "alarm"], None),
        ]
    }

    #[test]
    fn only_what_is_named_goes_where_it_is_named() {
        let check = |exporter: &str, policy: Option<&str>, expected: Option<usize>| {
            let marks = Routing::of(exporter, &routes()).takes(policy, TraceId(7));
            assert_eq!(
                marks.map(|marks| marks.len()),
                expected,
                "{exporter} {policy:?}"
            );
        };
        check("judge", Some("bad"), Some(1));
        check("alarm", Some("bad"), Some(1));
        check("alarm", Some("slow"), None);
        check("judge", Some("all"), None);
        check("judge", None, None);
        check("backend", Some("slow"), Some(0));
        check("backend", None, Some(0));
    }

    #[test]
    fn a_share_is_a_share() {
        let judge = Routing::of("judge", &routes());
        let ids = (0..20_000_u128).map(|id| TraceId(id.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let taken = ids.filter_map(|id| judge.takes(Some("slow"), id));
        let marks: Vec<_> = taken.collect();
        // Four standard deviations of a binomial of 20,000 at 10 %.
        assert!((1830..=2170).contains(&marks.len()), "{}", marks.len());
        assert!(marks.iter().all(|marks| marks.len() == 2));
    }
}
