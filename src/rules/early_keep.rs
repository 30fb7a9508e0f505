//! Early keep: which policies may keep a trace before its time is over.
//!
//! Only those whose vote no further span can take back, and only where no other policy could still change the outcome: not
//! where one drops, spends a budget, or vetoes. A vote under a sampling threshold is waited with: a later span may
//! have the trace kept for certain, and its weight would be another one. Percentiles are, too: they observe whole traces.

use super::program::{Program, Rule};
use super::release::Release;
use super::spec::PolicyKind;
use super::verdict::State;
use crate::otlp::ALWAYS;

impl PolicyKind {
    /// Beside it no trace can be kept early.
    #[must_use]
    pub fn hinders_early_keep(&self, release: Release) -> bool {
        match self {
            Self::Drop(_)
            | Self::RateLimiting { .. }
            | Self::BytesLimiting { .. }
            | Self::Composite { .. } => true,
            Self::StringAttribute { invert_match, .. }
            | Self::NumericAttribute { invert_match, .. }
            | Self::BooleanAttribute { invert_match, .. } => {
                *invert_match && release.inverted_votes()
            }
            Self::And(children) => children
                .iter()
                .any(|child| child.kind.hinders_early_keep(release)),
            Self::Not(child) => child.kind.hinders_early_keep(release),
            _ => false,
        }
    }
}

impl Program {
    /// The policies that may keep a trace early, by their index; none where another could still change the outcome.
    pub(crate) fn early_policies(&self) -> Vec<usize> {
        let hinders = self.policies.iter().any(|p| p.drops || p.votes_inverted);
        if hinders || !self.limiters.is_empty() {
            return Vec::new();
        }
        let lasting = |index: &usize| {
            let policy = self.policies.get(*index);
            policy.is_some_and(|policy| lasts(&policy.rule))
        };
        (0..self.policies.len()).filter(lasting).collect()
    }

    /// One of `policies` keeps the trace for certain.
    pub(crate) fn keeps_early(&self, policies: &[usize], state: State<'_>) -> bool {
        let certain = |index: &usize| self.matches(*index, state) == Some(ALWAYS);
        policies.iter().any(certain)
    }
}

/// What it says of a trace it says of the trace with further spans.
fn lasts(rule: &Rule) -> bool {
    match rule {
        Rule::Always | Rule::Bit(_) | Rule::Condition { .. } | Rule::Coin(_) => true,
        Rule::Spans { max, .. } => *max == i64::MAX,
        Rule::All(children) => children.iter().all(lasts),
        Rule::Limit(_) | Rule::Composite(_) | Rule::Slower(_) | Rule::Not(_) => false,
        // A further span may show a layer that is believed more, and counts less.
        Rule::Tokens { .. } | Rule::Ratio { .. } | Rule::Cost { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::{
        AtomsBuilder, Compiler, PolicyKind, PolicySpec, Release, Semantics, StatusCode,
    };

    fn spec(kind: PolicyKind) -> PolicySpec {
        PolicySpec {
            name: kind.type_name().to_owned(),
            kind,
        }
    }

    fn errors() -> PolicyKind {
        PolicyKind::StatusCode {
            codes: vec![StatusCode::Error],
        }
    }

    fn flag(invert_match: bool) -> PolicyKind {
        PolicyKind::BooleanAttribute {
            key: "a".to_owned(),
            value: true,
            invert_match,
        }
    }

    fn spans(max_spans: i32) -> PolicyKind {
        PolicyKind::SpanCount {
            min_spans: 2,
            max_spans,
        }
    }

    fn coin() -> PolicyKind {
        PolicyKind::Probabilistic {
            sampling_percentage: 50.0,
            hash_salt: "salt".to_owned(),
        }
    }

    fn limit() -> PolicyKind {
        PolicyKind::RateLimiting {
            spans_per_second: 10,
            burst_capacity: 0,
        }
    }

    #[test]
    fn only_lasting_votes_keep_early_and_only_where_nothing_can_change_the_outcome() {
        let check = |kinds: Vec<PolicyKind>, release: u16, expected: &[usize]| {
            let policies: Vec<_> = kinds.into_iter().map(spec).collect();
            let release = Release(release);
            let semantics = Semantics {
                release,
                ..Semantics::default()
            };
            let mut builder = AtomsBuilder::default();
            let compiler = Compiler::new(&mut builder, semantics);
            let program = compiler.compile(&policies).unwrap();
            assert_eq!(program.early_policies(), expected, "{policies:?}");
            let hinder = |policy: &PolicySpec| policy.kind.hinders_early_keep(release);
            if policies.iter().any(hinder) {
                assert!(expected.is_empty(), "{policies:?}");
            }
        };
        let of = |children: Vec<PolicyKind>| children.into_iter().map(spec).collect::<Vec<_>>();
        check(vec![errors(), spans(0), spans(9)], 165, &[0, 1]);
        check(vec![flag(false), flag(true)], 165, &[0]);
        check(vec![flag(false), flag(true)], 143, &[]);
        check(vec![errors(), limit()], 165, &[]);
        check(
            vec![errors(), PolicyKind::Drop(of(vec![errors()]))],
            165,
            &[],
        );
        let not = PolicyKind::Not(Box::new(spec(errors())));
        check(vec![errors(), not.clone()], 165, &[0]);
        check(
            vec![PolicyKind::And(of(vec![errors(), spans(0)]))],
            165,
            &[0],
        );
        check(vec![PolicyKind::And(of(vec![errors(), not]))], 165, &[]);
        check(vec![PolicyKind::And(of(vec![errors(), limit()]))], 165, &[]);
        check(vec![coin(), PolicyKind::AlwaysSample], 165, &[0, 1]);
    }
}
