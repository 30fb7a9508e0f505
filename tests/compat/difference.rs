//! Where an answer is not the recorded one, in lines that say what was got and what was wanted.

use super::answer::{Answer, Out, Trace, Votes};
use super::case::Case;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// All differences that count. Within a second the spans of a trace may come in any order and in any requests; a refusal may
/// have any words.
pub(crate) fn differences(case: &Case, want: &Answer, got: &Answer) -> Vec<String> {
    if want.outcome != got.outcome {
        let (got, wanted, error) = (&got.outcome, &want.outcome, &got.error);
        return vec![format!("outcome: {got}, want {wanted}: {error}")];
    }
    let mut found = Vec::new();
    // Refused for what the harness adds is no answer.
    if got.error.contains(".compat_version: ") {
        found.push(format!("refused for the harness: {}", got.error));
    }
    compact(want, got, &mut found);
    for trace in want
        .traces
        .keys()
        .chain(got.traces.keys())
        .collect::<BTreeSet<_>>()
    {
        if !case.unstable.contains(trace) {
            let label = case.traces.get(trace).map_or("?", String::as_str);
            let title = format!("trace {trace} ({label})");
            traces(
                &title,
                want.traces.get(trace),
                got.traces.get(trace),
                &mut found,
            );
        }
    }
    votes(&want.votes, &got.votes, &mut found);
    metrics(case, want, got, &mut found);
    let failed = |answer: &Answer| answer.send_failures.keys().cloned().collect::<Vec<_>>();
    differ("failed sends", &failed(want), &failed(got), &mut found);
    // How many requests carry them is a matter of batches.
    let released = |answer: &Answer| answer.released_at_shutdown > 0;
    differ(
        "traces at the stop",
        &released(want),
        &released(got),
        &mut found,
    );
    found
}

fn differ<T: PartialEq + Debug>(what: &str, want: &T, got: &T, found: &mut Vec<String>) {
    if want != got {
        found.push(format!("{what}: {got:?}, want {want:?}"));
    }
}

fn compact(want: &Answer, got: &Answer, found: &mut Vec<String>) {
    let set =
        |answer: &Answer| -> BTreeSet<String> { answer.kept.iter().flatten().cloned().collect() };
    let (want, got) = (set(want), set(got));
    if want != got {
        let (missing, extra) = (want.difference(&got).count(), got.difference(&want).count());
        found.push(format!(
            "kept: {missing} missing, {extra} too many of {}",
            want.len()
        ));
    }
}

fn traces(title: &str, want: Option<&Trace>, got: Option<&Trace>, found: &mut Vec<String>) {
    let none = Trace::default();
    let (want, got) = (want.unwrap_or(&none), got.unwrap_or(&none));
    if want.kept != got.kept {
        let word = |kept| if kept { "kept" } else { "not kept" };
        found.push(format!(
            "{title}: {}, want {}",
            word(got.kept),
            word(want.kept)
        ));
        return;
    }
    let sorted = |trace: &Trace| {
        let mut spans = trace.spans.clone();
        spans.sort_unstable();
        spans
    };
    differ(
        &format!("{title} spans"),
        &sorted(want),
        &sorted(got),
        found,
    );
    let mut field = |name: &str, of: &dyn Fn(&Out) -> Vec<String>| {
        let what = format!("{title} {name}");
        differ(&what, &lines(want, of), &lines(got, of), found);
    };
    field("at", &|out| by_span(out, &out.at, &BTreeMap::new()));
    field("traceState", &|out| {
        by_span(out, &out.trace_state, &out.trace_states)
    });
    field("scope", &|out| by_span(out, &out.scope, &out.scopes));
    let urls = |trace: &Trace| {
        let mut of_second = BTreeMap::<u64, BTreeSet<Vec<String>>>::new();
        for out in &trace.out {
            let urls = of_second.entry(out.at).or_default();
            urls.extend(out.all_schema_urls.iter().cloned());
            if out.all_schema_urls.is_empty() {
                urls.insert(out.schema_urls.clone());
            }
        }
        of_second
    };
    differ(
        &format!("{title} schemaUrls"),
        &urls(want),
        &urls(got),
        found,
    );
}

/// Sorted: in which request of a second a span left, and where in it, is a matter of batches.
fn lines(trace: &Trace, of: &dyn Fn(&Out) -> Vec<String>) -> Vec<String> {
    let mut lines: Vec<String> = trace.out.iter().flat_map(of).collect();
    lines.sort_unstable();
    lines
}

/// What each span has.
fn by_span<T: Debug>(out: &Out, first: &T, others: &BTreeMap<String, T>) -> Vec<String> {
    let value = |id: &String| format!("{id}: {:?}", others.get(id).unwrap_or(first));
    out.spans.iter().map(value).collect()
}

fn votes(want: &[Votes], got: &[Votes], found: &mut Vec<String>) {
    differ("scrapes", &want.len(), &got.len(), found);
    for (number, (want, got)) in want.iter().zip(got).enumerate() {
        for policy in want.keys().chain(got.keys()).collect::<BTreeSet<_>>() {
            let what = format!("votes {number} of {policy}");
            differ(&what, &want.get(policy), &got.get(policy), found);
        }
    }
}

fn metrics(case: &Case, want: &Answer, got: &Answer, found: &mut Vec<String>) {
    let stable = |name: &&String| {
        let name = name.split('{').next().unwrap_or_default();
        !case
            .unstable_metrics
            .iter()
            .any(|unstable| unstable == name)
    };
    let names = want.metrics.keys().chain(got.metrics.keys()).filter(stable);
    for name in names.collect::<BTreeSet<_>>() {
        let value = |metrics: &BTreeMap<String, i64>| metrics.get(name).copied();
        differ(
            &format!("metric {name}"),
            &value(&want.metrics),
            &value(&got.metrics),
            found,
        );
    }
}
