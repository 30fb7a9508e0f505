//! The policies as a page of the documentation: keys from the tables of this module, an example for each type from the one
//! below.

use super::policies::POLICY;
use super::{Key, Shape};
use std::fmt::Write;

const HEAD: &str = "\
# Policies

Printed from the tables in `src/config/schema`; a test keeps it so, and loads every example.

`tail_sampling.policies` is a list. A trace is kept when any policy matches and no `drop` does; a policy looks at every span
of the trace. Each has a `name`, unique in the list, a `type`, and a block of settings with the name of its type. `and` and
`drop` hold any but themselves and `composite`, `not` one policy that holds no other, `composite` any of these and `and`.
Defaults stand behind the meaning of a key. Bytes of a span are looked at once, when it comes; what a policy needs of it is
folded into the state of its trace, of which decisions are made.
";

const OVER_CALLS: &str = "\
## Over model calls

These ask what libraries for LLMs say on their spans, in whatever dialect (`docs/dialects.md`). A call that several layers
report (SDK, framework, gateway, engine) counts once. A trace without model calls matches none of them, so that under `not`
it does. Spans of no known library cost a look-up for each attribute where one of these policies, or a percentile over times
to tokens, is set, and nothing where none is. Evaluations are those on spans.
";

const OVER_TEXTS: &str = "\
## Over prompts and answers

These look for text in the attributes of spans and events that hold a prompt or an answer (`docs/dialects.md`, at the end),
as it is meant: JSON escapes are undone, up to three levels deep. `fields` goes by the attribute: an attribute that holds a
whole conversation is `prompt`, whoever said what in it. Of one span the first 8 MiB of text are searched; spans with more are
counted in `tailwater_prompt_scan_truncated_total`. Words, expressions and what they match are printed nowhere.
";

/// A type, a word more on it, and an example.
type About = (&'static str, &'static str, &'static str);

const PLAIN: &[About] = &[
    ("always_sample", "", "{name: all, type: always_sample}"),
    (
        "latency",
        "",
        "{name: slow, type: latency, latency: {threshold_ms: 5000}}",
    ),
    (
        "latency_percentile",
        "A distribution is kept for each combination of key values, newer traces weighing more (half-life one hour). `by` \
         goes from coarse to fine: a key with fewer than `min_count` observations uses its parent's threshold. `of: span` \
         observes every span that has all keys, by itself, and keeps a trace with one that is slower than its like; \
         `ttft`, `time_per_output_token` and `queue` observe the longest of the trace's calls where it is told. With \
         `by_tokens` long answers are compared with long answers.",
        "{name: slow, type: latency_percentile, latency_percentile: {percentile: 99, by: [service.name, \
         gen_ai.request.model], by_tokens: output, floor_ms: 500}}",
    ),
    (
        "status_code",
        "",
        "{name: failed, type: status_code, status_code: {status_codes: [ERROR]}}",
    ),
    (
        "string_attribute",
        "",
        "{name: paid, type: string_attribute, string_attribute: {key: tenant.tier, values: [gold, platinum]}}",
    ),
    (
        "numeric_attribute",
        "",
        "{name: refused, type: numeric_attribute, numeric_attribute: {key: http.response.status_code, min_value: 400}}",
    ),
    (
        "boolean_attribute",
        "",
        "{name: wanted, type: boolean_attribute, boolean_attribute: {key: app.debug, value: true}}",
    ),
    (
        "probabilistic",
        "",
        "{name: some, type: probabilistic, probabilistic: {sampling_percentage: 1}}",
    ),
    (
        "span_count",
        "",
        "{name: large, type: span_count, span_count: {min_spans: 500}}",
    ),
    (
        "trace_state",
        "",
        "{name: marked, type: trace_state, trace_state: {key: vendor, values: [keep]}}",
    ),
    ("trace_flags", "", "{name: sampled, type: trace_flags}"),
    (
        "ottl_condition",
        "",
        "{name: puts, type: ottl_condition, ottl_condition: {span: ['attributes[\"http.request.method\"] == \"PUT\"']}}",
    ),
    (
        "rate_limiting",
        "",
        "{name: few, type: rate_limiting, rate_limiting: {spans_per_second: 100}}",
    ),
    (
        "bytes_limiting",
        "",
        "{name: small, type: bytes_limiting, bytes_limiting: {bytes_per_second: 1000000}}",
    ),
    (
        "and",
        "",
        "{name: slow-gold, type: and, and: {and_sub_policy: [{name: slow, type: latency, latency: {threshold_ms: 500}}, \
         {name: gold, type: string_attribute, string_attribute: {key: tenant.tier, values: [gold]}}]}}",
    ),
    (
        "not",
        "",
        "{name: others, type: not, not: {not_sub_policy: {name: local, type: string_attribute, string_attribute: {key: \
         service.name, values: [local]}}}}",
    ),
    (
        "drop",
        "",
        "{name: health, type: drop, drop: {drop_sub_policy: [{name: path, type: string_attribute, string_attribute: {key: \
         url.path, values: [/health]}}]}}",
    ),
    (
        "composite",
        "",
        "{name: shares, type: composite, composite: {max_total_spans_per_second: 1000, composite_sub_policy: [{name: \
         failed, type: status_code, status_code: {status_codes: [ERROR]}}, {name: rest, type: always_sample}], \
         rate_allocation: [{policy: failed, percent: 80}, {policy: rest, percent: 20}]}}",
    ),
];

const CALLS: &[About] = &[
    (
        "token_count",
        "The sum over the trace's calls. `total` needs both sides to be told.",
        "{name: long, type: token_count, token_count: {of: output, min: 4000}}",
    ),
    (
        "token_ratio",
        "",
        "{name: wordy, type: token_ratio, token_ratio: {of: output, to: input, min: 10}}",
    ),
    (
        "cost",
        "Prices are for a million tokens, in the unit of `min` and `max`. A call's price is that of the model that answered, \
         else of the one asked for, else of its name without version. Calls for text are counted, embeddings are not.",
        "{name: dear, type: cost, cost: {min: 0.5, unknown_model: match, prices: [{model: gpt-4o, input: 2.5, output: 10, \
         cached: 1.25}, {model: gpt-4o-mini, input: 0.15, output: 0.6}]}}",
    ),
    (
        "finish_reason",
        "The words of all libraries are folded to these classes (`docs/dialects.md`).",
        "{name: cut, type: finish_reason, finish_reason: {reasons: [length, content_filter]}}",
    ),
    (
        "cache_hit",
        "",
        "{name: cold, type: cache_hit, cache_hit: {hit: false}}",
    ),
    (
        "evaluation_score",
        "Without `above`, `below` and `labels` any evaluation of that name matches; with both numbers and labels either is \
         enough.",
        "{name: bad-answer, type: evaluation_score, evaluation_score: {name: hallucination, above: 0.7, labels: [fail]}}",
    ),
    (
        "tool_error",
        "",
        "{name: broken-tool, type: tool_error, tool_error: {tools: [search]}}",
    ),
    (
        "gen_ai_error",
        "By status, error type, exception or a finish reason of `error` or `abort`.",
        "{name: throttled, type: gen_ai_error, gen_ai_error: {types: [RateLimitError]}}",
    ),
];

const TEXTS: &[About] = &[
    (
        "prompt_keyword",
        "Case does not count, nor in which form a letter stands (NFKC: full width, ligatures, an accent apart). With `whole_words` nothing of a word may stand before or behind; scripts without spaces \
         (Chinese, Japanese, Thai and others) have no such ends. Any number of keywords costs about the same.",
        "{name: risky, type: prompt_keyword, prompt_keyword: {keywords: [ignore previous instructions, 请解释], fields: \
         [prompt, tool_results]}}",
    ),
    (
        "prompt_regex",
        "RE2, as in the Collector's policies, in time linear in the text. Case counts unless the expression says `(?i)`.",
        "{name: cards, type: prompt_regex, prompt_regex: {expressions: ['\\b\\d{4}(-\\d{4}){3}\\b'], fields: [answer]}}",
    ),
];

/// The page, in Markdown.
#[must_use]
pub fn rules_reference() -> String {
    let mut out = HEAD.to_owned();
    PLAIN.iter().for_each(|about| policy(&mut out, about));
    for (head, policies) in [(OVER_CALLS, CALLS), (OVER_TEXTS, TEXTS)] {
        out += "\n";
        out += head;
        policies.iter().for_each(|about| policy(&mut out, about));
    }
    out
}

fn policy(out: &mut String, (name, more, example): &About) {
    let Shape::Block(keys) = POLICY else {
        return;
    };
    let Some(key) = keys.iter().find(|key| key.name == *name) else {
        return;
    };
    let gap = if more.is_empty() { "" } else { " " };
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(out, "\n### {name}\n\n{}{gap}{more}", key.about);
    let mut rows = String::new();
    table(&mut rows, "", &key.shape);
    if !rows.is_empty() {
        let _ = write!(
            out,
            "\n| key | value | meaning; default |\n| --- | --- | --- |\n{rows}"
        );
    }
    let _ = writeln!(out, "\n```yaml\n- {example}\n```");
}

/// A row for each key below `shape`.
fn table(out: &mut String, before: &str, shape: &Shape) {
    match shape {
        Shape::Shared(name, _) if name.starts_with("policy_") => {}
        Shape::Shared(_, inner) => table(out, before, inner),
        Shape::Many(inner) => table(out, &format!("{before}[]"), inner),
        Shape::Block(keys) => keys.iter().for_each(|key| row(out, before, key)),
        _ => {}
    }
}

fn row(out: &mut String, before: &str, key: &Key) {
    let gap = if before.is_empty() { "" } else { "." };
    let name = format!("{before}{gap}{}", key.name);
    let _ = writeln!(out, "| `{name}` | {} | {} |", value(&key.shape), key.about);
    table(out, &name, &key.shape);
}

fn value(shape: &Shape) -> String {
    match shape {
        Shape::Text => "text".into(),
        Shape::Flag => "true, false".into(),
        Shape::Whole => "whole number".into(),
        Shape::Number => "number".into(),
        Shape::Words(words) => words
            .iter()
            .map(|word| format!("`{word}`"))
            .collect::<Vec<_>>()
            .join(", "),
        Shape::Many(inner) => format!("list of: {}", value(inner)),
        Shape::Shared(name, _) if name.starts_with("policy_") => "policy".into(),
        Shape::Shared(_, inner) => value(inner),
        _ => "mapping".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Source, load};

    fn all() -> Vec<&'static About> {
        PLAIN.iter().chain(CALLS).chain(TEXTS).collect()
    }

    #[test]
    fn every_type_has_an_example_that_loads() {
        let Shape::Block(keys) = POLICY else {
            panic!("no block")
        };
        let types = keys.iter().map(|key| key.name);
        let mut types: Vec<_> = types
            .filter(|name| !["name", "type", "export_to", "evaluate_percentage"].contains(name))
            .collect();
        let mut told: Vec<_> = all().iter().map(|(name, _, _)| *name).collect();
        types.sort_unstable();
        told.sort_unstable();
        assert_eq!(told, types);
        for (name, _, example) in all() {
            assert!(example.contains(&format!("type: {name}")), "{name}");
            let text = format!(
                "receivers: {{otlp: {{protocols: {{grpc: }}}}}}\nexporters: {{debug: }}\n\
                 processors:\n  tail_sampling:\n    policies:\n      - {example}\n\
                 service: {{pipelines: {{traces: {{receivers: [otlp], processors: [tail_sampling], exporters: [debug]}}}}}}\n"
            );
            let source = Source {
                name: "example.yaml".into(),
                directory: ".".into(),
                text,
            };
            let loaded = load(&[source], &[], &|_| None);
            let loaded = loaded.unwrap_or_else(|found| panic!("{name}: {found:?}"));
            assert!(loaded.warnings.is_empty(), "{name}: {:?}", loaded.warnings);
        }
    }

    #[test]
    fn the_page_in_docs_is_fresh() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, rules_reference()).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == rules_reference(),
            "docs/rules.md is not what the tables say: UPDATE_DOCS=1 writes it"
        );
    }
}
