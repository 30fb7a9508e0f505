//! Spans that can be compared whatever request they came in: each with its own resource, scope and schema URLs.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A span and all that stands around it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Flat {
    pub(crate) trace: String,
    pub(crate) span: String,
    /// A `ResourceSpans` with this span alone, as prost writes it: equal bytes are equal fields.
    bytes: Vec<u8>,
}

impl Flat {
    pub(crate) fn message(&self) -> ResourceSpans {
        ResourceSpans::decode(self.bytes.as_slice()).unwrap()
    }
}

/// Every span of the requests, sorted.
pub(crate) fn flatten<'a>(
    requests: impl IntoIterator<Item = &'a ExportTraceServiceRequest>,
) -> Vec<Flat> {
    let mut flat = Vec::new();
    for resource_spans in requests
        .into_iter()
        .flat_map(|request| &request.resource_spans)
    {
        for scope_spans in &resource_spans.scope_spans {
            for span in &scope_spans.spans {
                let alone = ResourceSpans {
                    resource: resource_spans.resource.clone(),
                    scope_spans: vec![ScopeSpans {
                        scope: scope_spans.scope.clone(),
                        spans: vec![span.clone()],
                        schema_url: scope_spans.schema_url.clone(),
                    }],
                    schema_url: resource_spans.schema_url.clone(),
                };
                let (trace, id) = (hex(&span.trace_id), hex(&span.span_id));
                flat.push(Flat {
                    trace,
                    span: id,
                    bytes: alone.encode_to_vec(),
                });
            }
        }
    }
    flat.sort();
    flat
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Ids of the traces.
pub(crate) fn traces(spans: &[Flat]) -> BTreeSet<String> {
    spans.iter().map(|span| span.trace.clone()).collect()
}

/// The spans of some traces.
pub(crate) fn of_traces(spans: &[Flat], traces: &BTreeSet<String>) -> Vec<Flat> {
    spans
        .iter()
        .filter(|span| traces.contains(&span.trace))
        .cloned()
        .collect()
}

/// The same spans, each as often, field for field; what differs is named.
pub(crate) fn assert_same(expected: &[Flat], got: &[Flat], what: &str) {
    if expected == got {
        return;
    }
    let difference = difference(expected, got);
    panic!(
        "{what}: {} spans expected, {} came\n{difference}",
        expected.len(),
        got.len()
    );
}

/// Every expected span is there, field for field; more may be.
pub(crate) fn assert_contains(expected: &[Flat], got: &[Flat], what: &str) {
    let have: BTreeSet<&Flat> = got.iter().collect();
    let missing: Vec<&Flat> = expected
        .iter()
        .filter(|span| !have.contains(span))
        .collect();
    let first: Vec<String> = missing
        .iter()
        .take(5)
        .map(|span| format!("{}/{}", span.trace, span.span))
        .collect();
    assert!(
        missing.is_empty(),
        "{what}: {} of {} are missing, as {first:?}",
        missing.len(),
        expected.len()
    );
}

/// How many spans came more than once.
pub(crate) fn repeated(spans: &[Flat]) -> usize {
    spans.len() - spans.iter().collect::<BTreeSet<_>>().len()
}

fn difference(expected: &[Flat], got: &[Flat]) -> String {
    let mut counts: BTreeMap<&Flat, i64> = BTreeMap::new();
    for span in expected {
        *counts.entry(span).or_default() += 1;
    }
    for span in got {
        *counts.entry(span).or_default() -= 1;
    }
    let mut text = String::new();
    for (span, count) in counts.into_iter().filter(|(_, count)| *count != 0).take(6) {
        let side = if count > 0 { "missing" } else { "surplus" };
        writeln!(
            text,
            "{side} x{}: {}/{}: {:?}",
            count.abs(),
            span.trace,
            span.span,
            span.message()
        )
        .unwrap();
    }
    text
}

/// The comparison itself must be able to fail.
mod tests {
    use super::{assert_contains, assert_same, flatten};
    use crate::support::traffic::request;

    #[test]
    #[should_panic(expected = "missing x1")]
    fn a_changed_attribute_is_seen() {
        let sent = request(0..3, 0);
        let mut got = sent.clone();
        got.resource_spans[0].scope_spans[0].spans[2].attributes[0].key = "other".to_owned();
        assert_same(&flatten([&sent]), &flatten([&got]), "changed");
    }

    #[test]
    #[should_panic(expected = "surplus x1")]
    fn a_repeated_span_is_seen() {
        let (sent, again) = (request(0..3, 0), request(1..2, 0));
        assert_same(&flatten([&sent]), &flatten([&sent, &again]), "repeated");
    }

    #[test]
    #[should_panic(expected = "1 of 3 are missing")]
    fn a_lost_span_is_seen() {
        assert_contains(
            &flatten([&request(0..3, 0)]),
            &flatten([&request(0..2, 0)]),
            "lost",
        );
    }
}
