//! The Collector's counters of `tail_sampling` in a scrape, and what they say about policies.

use super::answer::Votes;
use std::collections::BTreeMap;

const PREFIX: &str = "otelcol_processor_tail_sampling_";

/// By `name{label="value",...}` without the common beginning, labels sorted; histograms by their count alone, what
/// measures real time not at all.
pub(crate) fn read(page: &str) -> BTreeMap<String, i64> {
    page.lines().filter_map(counter).collect()
}

fn counter(line: &str) -> Option<(String, i64)> {
    let line = line.strip_prefix(PREFIX)?;
    let (series, value) = line.rsplit_once(' ')?;
    let (name, labels) = match series.split_once('{') {
        Some((name, labels)) => (name, labels.strip_suffix('}')?),
        None => (series, ""),
    };
    let real_time = name.contains("execution_time") || name.contains("timer_latency");
    if real_time || name.ends_with("_bucket") || name.ends_with("_sum") {
        return None;
    }
    let mut labels: Vec<&str> = split_labels(labels);
    labels.retain(|label| !label.starts_with("otel_scope"));
    labels.sort_unstable();
    let series = if labels.is_empty() {
        name.to_owned()
    } else {
        format!("{name}{{{}}}", labels.join(","))
    };
    #[allow(clippy::cast_possible_truncation, reason = "counts of a few thousand")]
    let value = value.parse::<f64>().ok()? as i64;
    Some((series, value))
}

/// Names of policies hold no quotes in the corpus, but may hold commas.
fn split_labels(labels: &str) -> Vec<&str> {
    let mut quoted = false;
    labels
        .split(move |c| {
            quoted ^= c == '"';
            c == ',' && !quoted
        })
        .filter(|label| !label.is_empty())
        .collect()
}

/// What each policy said between two scrapes; what it was asked and did not say is an error.
pub(crate) fn votes(before: &BTreeMap<String, i64>, after: &BTreeMap<String, i64>) -> Votes {
    let mut votes = Votes::new();
    let grown = |series: &String, value: i64| value - before.get(series).unwrap_or(&0);
    for (series, value) in after {
        let Some(labels) = series.strip_prefix("count_traces_sampled{") else {
            continue;
        };
        let (Some(policy), Some(decision)) = (label(labels, "policy"), label(labels, "decision"))
        else {
            continue;
        };
        if grown(series, *value) != 0 {
            let votes = votes.entry(policy).or_default();
            votes.insert(decision, grown(series, *value));
        }
    }
    for (series, value) in after {
        let Some(labels) = series.strip_prefix("sampling_policy_execution_count{") else {
            continue;
        };
        let Some(policy) = label(labels, "policy") else {
            continue;
        };
        let said: i64 = votes.get(&policy).map_or(0, |votes| votes.values().sum());
        let errors = grown(series, *value) - said;
        if errors != 0 {
            votes
                .entry(policy)
                .or_default()
                .insert("error".to_owned(), errors);
        }
    }
    votes
}

fn label(labels: &str, name: &str) -> Option<String> {
    let labels = labels.strip_suffix('}').unwrap_or(labels);
    split_labels(labels).into_iter().find_map(|label| {
        let (found, value) = label.split_once('=')?;
        (found == name).then(|| value.trim_matches('"').to_owned())
    })
}

#[test]
fn reads_a_page() {
    let check = |line: &str, expected: Option<(&str, i64)>| {
        let found = counter(&format!("{PREFIX}{line}"));
        let found = found.as_ref().map(|(name, value)| (name.as_str(), *value));
        assert_eq!(found, expected, "{line}");
    };
    check("a 7", Some(("a", 7)));
    check("a{z=\"1\",b=\"x,y\"} 2", Some(("a{b=\"x,y\",z=\"1\"}", 2)));
    check("a{otel_scope_name=\"s\"} 2", Some(("a", 2)));
    check("a_count 3", Some(("a_count", 3)));
    check("a_bucket{le=\"1\"} 3", None);
    check("a_sum 3", None);
    check("sampling_policy_execution_time_sum{policy=\"p\"} 3", None);
    assert_eq!(counter("# HELP x"), None);
}

#[test]
fn tells_votes_from_errors() {
    let page = |sampled, asked| {
        let sampled = format!(
            "{PREFIX}count_traces_sampled{{policy=\"p\",sampled=\"true\",decision=\"sampled\"}} {sampled}\n"
        );
        read(&format!(
            "{sampled}{PREFIX}sampling_policy_execution_count{{policy=\"p\"}} {asked}\n"
        ))
    };
    let found = votes(&page(1, 1), &page(3, 4));
    assert_eq!(found["p"]["sampled"], 2);
    assert_eq!(found["p"]["error"], 1);
    assert!(votes(&page(3, 4), &page(3, 4)).is_empty());
}
