//! A recorded case: one `tail_sampling` block and what was sent to it when. The format is described in `README.md`.

use super::accepted::LEFT_OUT;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) tail_sampling: Value,
    pub(crate) tail_sampling_yaml: Option<String>,
    pub(crate) component: Option<String>,
    #[serde(default)]
    pub(crate) gates: Vec<String>,
    pub(crate) steps: Vec<Step>,
    pub(crate) end: f64,
    #[serde(default)]
    pub(crate) traces: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) compact: bool,
    #[serde(default)]
    pub(crate) async_send: bool,
    #[serde(default)]
    pub(crate) unstable_metrics: Vec<String>,
    /// Traces whose fate the recording does not fix.
    #[serde(default)]
    pub(crate) unstable: Vec<String>,
    #[serde(skip)]
    folder: PathBuf,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Step {
    pub(crate) at: f64,
    send: Option<Value>,
    bare_traces: Option<String>,
    #[serde(default)]
    votes: bool,
    #[serde(default)]
    stop: bool,
}

/// What a step does.
#[derive(Debug)]
pub(crate) enum Act {
    /// An OTLP request in JSON.
    Send(Vec<u8>),
    Votes,
    Stop,
}

impl Case {
    pub(crate) fn read(file: &Path) -> Self {
        let text = fs::read(file).unwrap();
        let mut case: Self =
            serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        case.folder = file.parent().unwrap().to_owned();
        case.leave_out();
        case
    }

    /// Takes out policies that are refused for a reason that `accepted` gives.
    fn leave_out(&mut self) {
        let policies = self.tail_sampling.get_mut("policies");
        if let Some(policies) = policies.and_then(Value::as_array_mut) {
            let left = |policy: &Value| {
                LEFT_OUT.contains(&(&self.name, policy["name"].as_str().unwrap_or_default()))
            };
            policies.retain(|policy| !left(policy));
        }
    }

    /// The processor's id.
    pub(crate) fn processor(&self) -> &str {
        self.component.as_deref().unwrap_or("tail_sampling")
    }

    pub(crate) fn act(&self, step: &Step) -> Act {
        if step.votes {
            return Act::Votes;
        }
        if step.stop {
            return Act::Stop;
        }
        let body = match &step.bare_traces {
            Some(file) => bare(&fs::read_to_string(self.folder.join(file)).unwrap()),
            None => step.send.clone().unwrap(),
        };
        Act::Send(body.to_string().into_bytes())
    }
}

/// One request with one span for each id: its last half is the span's id, unless that is zero.
fn bare(ids: &str) -> Value {
    let span = |id: &str| {
        let half = match &id[16..] {
            "0000000000000000" => "0000000000000001",
            half => half,
        };
        json!({
            "traceId": id, "spanId": half, "name": "bare", "kind": 1,
            "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000000001000000",
        })
    };
    let spans: Vec<Value> = ids.split_whitespace().map(span).collect();
    json!({"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]})
}
