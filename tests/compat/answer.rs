//! What came of a case: recorded from the Collector, or seen of ours.

use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The vote counts of one scrape: policy, then outcome.
pub(crate) type Votes = BTreeMap<String, BTreeMap<String, i64>>;

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Answer {
    /// `ran`, `refused`, `crashed`; of ours also `stalled`.
    pub(crate) outcome: String,
    #[serde(default)]
    pub(crate) error: String,
    #[serde(default)]
    pub(crate) traces: BTreeMap<String, Trace>,
    /// Of cases that list no more than this.
    pub(crate) kept: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) votes: Vec<Votes>,
    #[serde(default)]
    pub(crate) metrics: BTreeMap<String, i64>,
    /// By number of the step.
    #[serde(default)]
    pub(crate) send_failures: BTreeMap<String, Value>,
    #[serde(default)]
    pub(crate) released_at_shutdown: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct Trace {
    pub(crate) kept: bool,
    #[serde(default)]
    pub(crate) spans: Vec<String>,
    #[serde(default)]
    pub(crate) out: Vec<Out>,
}

/// The part of a trace in one outgoing request.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Out {
    /// Whole second.
    pub(crate) at: u64,
    pub(crate) spans: Vec<String>,
    /// Of the first span, and those that differ from it by span id.
    #[serde(default)]
    pub(crate) trace_state: String,
    #[serde(default)]
    pub(crate) trace_states: BTreeMap<String, String>,
    /// The attributes `tailsampling.*`: the same.
    #[serde(default)]
    pub(crate) scope: BTreeMap<String, Value>,
    #[serde(default)]
    pub(crate) scopes: BTreeMap<String, BTreeMap<String, Value>>,
    /// Of resource and scope, of the first span; nothing when neither has one.
    #[serde(default)]
    pub(crate) schema_urls: Vec<String>,
    /// Those of all spans, where they are not all the same.
    #[serde(default)]
    pub(crate) all_schema_urls: BTreeSet<Vec<String>>,
}

impl Answer {
    pub(crate) fn read(file: &Path) -> Self {
        let text = std::fs::read(file).unwrap();
        serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
    }
}
