//! What a kept trace says of its decision when it leaves: the sampling threshold in each span's tracestate, the policy in
//! its scopes' attributes. Both are off unless a feature gate asks for them.
//!
//! The names are the Collector's (observed at v0.161.0). A piece that `span-ingest` had stored before the one that
//! decided is left as it is, as there.

use super::outbound::Marks;
use crate::otlp::{NoteValue, Notes, annotate};
use crate::rules::{PolicyKind, PolicySpec, Release};
use crate::sampler::{Evidence, Kept, SamplerStats};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What to write, for one pipeline.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notation {
    /// Write the threshold.
    pub(crate) thresholds: bool,
    /// Name the policy.
    pub(crate) policies: bool,
    /// Names of policies and, of a `composite`, its children.
    pub(crate) names: Vec<(String, Vec<String>)>,
    /// The rule set that these names belong to.
    pub(crate) rules: u32,
    /// Late spans' thresholds depend on it.
    pub(crate) release: Option<Release>,
    /// As the Collector: spans that came twice leave twice, and old releases lose schema URLs.
    pub(crate) strict: bool,
    /// Where spans whose tracestate is malformed are counted; by one exporter only.
    pub(crate) stats: Option<Arc<SamplerStats>>,
}

/// Policies by name, as notes name them.
pub(crate) fn names_of(policies: &[PolicySpec]) -> Vec<(String, Vec<String>)> {
    let children = |kind: &PolicyKind| match kind {
        PolicyKind::Composite { children, .. } => children
            .iter()
            .map(|(child, _)| child.name.clone())
            .collect(),
        _ => Vec::new(),
    };
    policies
        .iter()
        .map(|policy| (policy.name.clone(), children(&policy.kind)))
        .collect()
}

/// What notes name where no policy was asked.
fn mode_name(evidence: Evidence) -> Option<&'static str> {
    match evidence {
        Evidence::Head => Some("services.head"),
        Evidence::Off => Some("services.off"),
        _ => None,
    }
}

impl Notation {
    /// The piece as it leaves; `last`: no other piece of the entry follows.
    pub(super) fn apply(&self, kept: &Kept, piece: Bytes, last: bool, marks: &Marks) -> Bytes {
        let mut notes = self.notes(kept, last);
        notes.scope_attributes.extend_from_slice(marks);
        if notes.is_empty() {
            return piece;
        }
        // A damaged piece is found and counted where it is stitched.
        let Ok((noted, malformed)) = annotate(&piece, &notes) else {
            return piece;
        };
        if let Some(stats) = &self.stats {
            stats
                .malformed_trace_states
                .fetch_add(malformed, Ordering::Relaxed);
        }
        noted
    }

    /// The policy that has kept the trace; `None` when none has, or when the rules were changed since.
    pub(super) fn policy_of(&self, kept: &Kept) -> Option<&str> {
        // After a change of the rules a number means another policy.
        let policy = kept.decision.policy.filter(|_| kept.rules == self.rules)?;
        let (name, _) = self.names.get(usize::from(policy))?;
        Some(name)
    }

    fn notes(&self, kept: &Kept, last: bool) -> Notes {
        let decision = &kept.decision;
        let release = self.release.unwrap_or(Release::NEWEST);
        let late = decision.evidence == Evidence::Late;
        let stored_before = decision.evidence == Evidence::Early && !last;
        let as_it_came = stored_before || (late && release.late_keep_trace_state());
        Notes {
            threshold: (self.thresholds && !as_it_came).then_some(kept.threshold),
            scope_attributes: if stored_before {
                Vec::new()
            } else {
                self.scope_attributes(kept)
            },
            without_schema_urls: self.strict && release.loses_schema_urls(),
        }
    }

    /// The name of a child: they are counted through all policies.
    fn child(&self, number: u16) -> Option<&String> {
        let mut children = self.names.iter().flat_map(|(_, children)| children);
        children.nth(usize::from(number))
    }

    fn scope_attributes(&self, kept: &Kept) -> Vec<(&'static str, NoteValue)> {
        let decision = &kept.decision;
        let late = decision.evidence == Evidence::Late;
        // After a change of the rules a number means another policy.
        if !self.policies || kept.rules != self.rules || (late && !decision.cached) {
            return Vec::new();
        }
        if let Some(mode) = mode_name(decision.evidence) {
            return vec![("tailsampling.policy", NoteValue::Text(mode.to_owned()))];
        }
        let names = decision
            .policy
            .and_then(|policy| self.names.get(usize::from(policy)));
        let Some((policy, _)) = names else {
            return Vec::new();
        };
        let text = |name: &String| NoteValue::Text(name.clone());
        let mut out = vec![("tailsampling.policy", text(policy))];
        if late {
            out.push(("tailsampling.cached_decision", NoteValue::Flag(true)));
        } else if let Some(child) = decision.child.and_then(|child| self.child(child)) {
            out.push(("tailsampling.composite_policy", text(child)));
        }
        out
    }
}
