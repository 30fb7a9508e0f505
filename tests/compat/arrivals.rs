//! From the requests that the sink took to what is known of each trace.

use super::answer::{Out, Trace};
use serde_json::Value;
use std::collections::BTreeMap;

const MARKS: &str = "tailsampling.";

/// Requests and the second of their arrival, by trace.
pub(crate) fn traces(arrivals: &[(u64, Value)]) -> BTreeMap<String, Trace> {
    let mut traces = BTreeMap::<String, Trace>::new();
    for (at, request) in arrivals {
        for (id, out) in parts(*at, request) {
            let trace = traces.entry(id).or_default();
            trace.kept = true;
            trace.spans.extend_from_slice(&out.spans);
            trace.out.push(out);
        }
    }
    traces
}

/// The part of each trace in one request.
fn parts(at: u64, request: &Value) -> BTreeMap<String, Out> {
    let mut parts = BTreeMap::<String, Out>::new();
    for resource in list(request, "resourceSpans") {
        for scope in list(resource, "scopeSpans") {
            let marks = marks(&scope["scope"]);
            let urls = [text(resource, "schemaUrl"), text(scope, "schemaUrl")];
            for span in list(scope, "spans") {
                let out = parts.entry(trace_id(span)).or_default();
                add(out, span, &marks, &urls);
                out.at = at;
            }
        }
    }
    parts
}

fn add(out: &mut Out, span: &Value, marks: &BTreeMap<String, Value>, urls: &[String; 2]) {
    let urls = if urls.iter().all(String::is_empty) {
        Vec::new()
    } else {
        urls.to_vec()
    };
    out.all_schema_urls.insert(urls);
    let (id, state) = (span_id(span), text(span, "traceState"));
    if out.spans.is_empty() {
        out.trace_state = state;
        out.scope = marks.clone();
    } else {
        if out.trace_state != state {
            out.trace_states.insert(id.clone(), state);
        }
        if out.scope != *marks {
            out.scopes.insert(id.clone(), marks.clone());
        }
    }
    out.spans.push(id);
}

/// Sixteen zero bytes may be written as none.
fn trace_id(span: &Value) -> String {
    match text(span, "traceId") {
        id if id.is_empty() => "0".repeat(32),
        id => id,
    }
}

/// The Collector writes eight zero bytes as none.
fn span_id(span: &Value) -> String {
    match text(span, "spanId") {
        id if id.bytes().all(|digit| digit == b'0') => String::new(),
        id => id,
    }
}

fn marks(scope: &Value) -> BTreeMap<String, Value> {
    list(scope, "attributes")
        .map(|attribute| (text(attribute, "key"), &attribute["value"]))
        .filter(|(key, _)| key.starts_with(MARKS))
        .map(|(key, value)| {
            let value = value.as_object().and_then(|kinds| kinds.values().next());
            (key, value.cloned().unwrap_or_default())
        })
        .collect()
}

fn list<'v>(of: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    of[key].as_array().into_iter().flatten()
}

fn text(of: &Value, key: &str) -> String {
    of[key].as_str().unwrap_or_default().to_owned()
}
