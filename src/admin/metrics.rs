//! The metrics page: every family filled from its source, then printed.

use super::families;
use super::openmetrics::{Format, to_openmetrics, to_prometheus};
use super::page::Page;
use super::sources::Sources;
use super::spelling::Spelling;
use parking_lot::Mutex;

/// The metrics of one pipeline process.
pub struct Metrics {
    sources: Sources,
    /// Filling and printing is one step: two scrapes at once would each print half of the other's.
    page: Mutex<Page>,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics")
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}

impl Metrics {
    /// The metrics of these parts.
    #[must_use]
    pub fn new(sources: Sources, spelling: Spelling) -> Self {
        Self {
            sources,
            page: Mutex::new(Page::new(spelling)),
        }
    }

    /// The page. Reads a few bytes of a file and may wait for a write to the log: not for an async thread.
    #[must_use]
    pub fn render(&self, format: Format) -> String {
        let own = {
            let page = self.page.lock();
            families::fill(&page, &self.sources);
            page.render()
        };
        let meter = self.sources.meter.as_ref();
        let calls = meter.map(|meter| meter.openmetrics(self.sources.clock.unix()));
        let calls = calls.unwrap_or_default();
        match format {
            Format::Prometheus => own + &to_prometheus(&calls),
            Format::OpenMetrics => to_openmetrics(&own) + &calls + "# EOF\n",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::inventory::{Appears, INVENTORY, Kind};
    use super::super::openmetrics::to_prometheus;
    use crate::genai::meter::tests::full;
    use std::collections::BTreeMap;

    /// Names of the help and type lines of a page.
    fn described<'a>(page: &'a str, what: &str) -> BTreeMap<&'a str, &'a str> {
        page.lines()
            .filter_map(|line| line.strip_prefix(what)?.split_once(' '))
            .collect()
    }

    #[test]
    fn metrics_of_model_calls_are_in_the_table() {
        let page = to_prometheus(&full().openmetrics(0));
        let (help, kinds) = (described(&page, "# HELP "), described(&page, "# TYPE "));
        let of_calls =
            |name: &str| name.starts_with("gen_ai_") || name.starts_with("tailwater_llm_");
        let table = INVENTORY.iter().filter(|metric| of_calls(metric.name));
        let table: Vec<_> = table.collect();
        assert_eq!(table.len(), kinds.len());
        for metric in table {
            let kind = match metric.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Histogram => "histogram",
            };
            assert_eq!(kinds.get(metric.name), Some(&kind), "{}", metric.name);
            assert_eq!(help.get(metric.name), Some(&metric.help), "{}", metric.name);
            assert_eq!(metric.appears, Appears::WhenAsked, "{}", metric.name);
        }
    }
}
