//! Late evidence: what a late piece alone says of a trace that was dropped.
//!
//! Only rules that one piece can fulfil for good may be asked: tests of a span. Rules over the whole trace (its length,
//! its number of spans, what it does not have, budgets) would say something else of a part.

use super::limits::{Ask, Grant};
use super::program::Program;
use super::spec::PolicyKind;
use super::verdict::{State, Verdict};
use crate::otlp::NEVER;

impl PolicyKind {
    /// It may be named in `late_evidence`.
    #[must_use]
    pub fn takes_late_evidence(&self) -> bool {
        match self {
            Self::StatusCode { .. }
            | Self::TraceState { .. }
            | Self::TraceFlags
            | Self::OttlCondition { .. }
            | Self::PromptKeyword { .. }
            | Self::PromptRegex { .. } => true,
            Self::Calls(rule) => !rule.is_stateful(),
            Self::StringAttribute { invert_match, .. }
            | Self::NumericAttribute { invert_match, .. }
            | Self::BooleanAttribute { invert_match, .. } => !invert_match,
            Self::And(children) => {
                let coin = |kind: &Self| matches!(kind, Self::Probabilistic { .. });
                let tests = |kind: &Self| kind.takes_late_evidence();
                children.iter().any(|child| tests(&child.kind))
                    && children
                        .iter()
                        .all(|child| tests(&child.kind) || coin(&child.kind))
            }
            _ => false,
        }
    }
}

/// No budget is spent.
struct Nothing;

impl Grant for Nothing {
    fn grant(&mut self, _: usize, _: Ask) -> u64 {
        NEVER
    }
}

impl Program {
    /// The first of `policies` that matches a late piece, unless a policy that drops does.
    pub(crate) fn late_evidence(&self, policies: &[u16], state: State<'_>) -> Option<Verdict> {
        let drops = |index: usize| self.policies.get(index).is_some_and(|policy| policy.drops);
        let mut drops = (0..self.policies.len()).filter(|index| drops(*index));
        if drops.any(|index| self.matches(index, state).is_some()) {
            return None;
        }
        policies.iter().find_map(|policy| {
            let threshold = self.matches(usize::from(*policy), state)?;
            Some(Verdict {
                keep: true,
                policy: Some(*policy),
                child: None,
                threshold,
            })
        })
    }

    /// The threshold under which a policy matches, without percentiles and budgets.
    pub(crate) fn matches(&self, policy: usize, state: State<'_>) -> Option<u64> {
        self.threshold_of(self.policies.get(policy)?, state, &mut Nothing)
    }
}
