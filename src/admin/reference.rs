//! The inventory as a page of the documentation.

use super::inventory::{Appears, INVENTORY, Kind, Metric};
use std::fmt::Write;

const HEAD: &str = "\
# Metrics

Printed from the table in `src/admin/inventory.rs`; a test keeps it so. Served as Prometheus text at `/metrics` on
`service.telemetry.metrics`' address (`localhost:8888` unless set), and by `Pipeline::render_metrics` in process.

Names are exactly as here. `otelcol_*` are the Collector's, with its labels, where the meaning is the same.
Counters begin at 0 with the process; the ledger's states go on from where the directory stood. Metrics marked with \\* appear
with their first event, those with \\*\\* so and only under `compat: strict`, with a feature gate, a Kafka receiver, or (`gen_ai_*`,
`tailwater_llm_*`) with `llm_metrics`. A scraper that accepts OpenMetrics gets it, with exemplars that lead to kept traces.

| metric | type | unit | labels | meaning |
| --- | --- | --- | --- | --- |
";

/// The page, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut out = HEAD.to_owned();
    for metric in INVENTORY {
        row(&mut out, metric);
    }
    out
}

fn row(out: &mut String, metric: &Metric) {
    let kind = match metric.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    };
    let mark = match metric.appears {
        Appears::Always => "",
        Appears::FirstEvent => " \\*",
        Appears::WhenAsked => " \\*\\*",
    };
    let labels = metric.labels.join(", ");
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "| `{}`{mark} | {kind} | {} | {labels} | {} |",
        metric.name, metric.unit, metric.help
    );
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_in_docs_is_fresh() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, super::reference()).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == super::reference(),
            "docs/metrics.md is stale: run this test with UPDATE_DOCS=1"
        );
    }
}
