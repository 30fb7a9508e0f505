//! The client's registry for one process part, filled anew at each scrape.
//!
//! No recorder is installed for the whole process, so that two pipelines in one process keep apart.

use super::histograms::{Counted, Histograms};
use super::inventory::{INVENTORY, Kind, Metric};
use super::spelling::Spelling;
use metrics::{Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use std::cell::RefCell;

static METADATA: Metadata<'static> = Metadata::new("tailwater", Level::INFO, None);

pub(super) struct Page {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    spelling: Spelling,
    histograms: RefCell<Histograms>,
}

impl Page {
    pub(super) fn new(spelling: Spelling) -> Self {
        let recorder = PrometheusBuilder::new().build_recorder();
        for metric in INVENTORY {
            // The client's units would become suffixes; the names are whole already.
            let name = spelling.name(metric).into_owned().into();
            match metric.kind {
                Kind::Counter => recorder.describe_counter(name, None, metric.help.into()),
                Kind::Gauge => recorder.describe_gauge(name, None, metric.help.into()),
                // Written by `histograms`: the client counts observations, ours are counted where they happen.
                Kind::Histogram => {}
            }
        }
        let handle = recorder.handle();
        Self {
            recorder,
            handle,
            spelling,
            histograms: RefCell::default(),
        }
    }

    /// Sets a histogram without labels of its own to what it has counted.
    pub(super) fn histogram(&self, metric: &'static Metric, counted: &Counted) {
        debug_assert!(metric.kind == Kind::Histogram, "{}", metric.name);
        let labels = self.spelling.labels(metric);
        let name = self.spelling.name(metric);
        self.histograms
            .borrow_mut()
            .set(metric, &name, &labels, counted);
    }

    /// Sets a counter to its total; it never goes back.
    pub(super) fn count(&self, metric: &Metric, labels: &[&str], total: u64) {
        debug_assert!(metric.kind == Kind::Counter, "{}", metric.name);
        self.recorder
            .register_counter(&self.key(metric, labels), &METADATA)
            .absolute(total);
    }

    /// The same, but not before the first event.
    pub(super) fn count_events(&self, metric: &Metric, labels: &[&str], total: u64) {
        if total > 0 {
            self.count(metric, labels, total);
        }
    }

    /// Sets a gauge.
    pub(super) fn gauge(&self, metric: &Metric, labels: &[&str], value: f64) {
        debug_assert!(metric.kind == Kind::Gauge, "{}", metric.name);
        self.recorder
            .register_gauge(&self.key(metric, labels), &METADATA)
            .set(value);
    }

    /// Sets a gauge to a count; beyond 2^53 it is rounded.
    #[allow(clippy::cast_precision_loss, reason = "a metric, not an account")]
    pub(super) fn amount(&self, metric: &Metric, labels: &[&str], value: u64) {
        self.gauge(metric, labels, value as f64);
    }

    fn key(&self, metric: &Metric, values: &[&str]) -> Key {
        debug_assert_eq!(metric.labels.len(), values.len(), "{}", metric.name);
        let own = metric
            .labels
            .iter()
            .zip(values)
            .map(|(name, value)| Label::new(*name, escaped(value)));
        let scope = self.spelling.labels(metric);
        let scope = scope
            .into_iter()
            .map(|(name, value)| Label::new(name, value));
        let name = self.spelling.name(metric).into_owned();
        Key::from_parts(name, own.chain(scope).collect::<Vec<_>>())
    }

    pub(super) fn render(&self) -> String {
        self.handle.render() + &self.histograms.borrow().text()
    }
}

/// The client takes two backslashes for one that is escaped already, and drops one before a quote: then two services
/// could share a series. With each doubled it writes just what was meant.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\")
}

#[cfg(test)]
mod tests {
    use super::super::inventory::{BUFFER_CAP, LOG_FRAMES, UPTIME};
    use super::*;

    #[test]
    fn names_and_values_are_written_as_they_are() {
        let page = Page::new(Spelling::default());
        page.count(&UPTIME, &[], 7);
        page.count_events(&LOG_FRAMES, &[], 0);
        page.amount(&BUFFER_CAP, &["a"], 1 << 40);
        let text = page.render();
        assert!(
            text.contains("# TYPE otelcol_process_uptime counter\notelcol_process_uptime 7\n"),
            "{text}"
        );
        assert!(
            text.contains("tailwater_buffer_cap_bytes{service=\"a\"} 1099511627776\n"),
            "{text}"
        );
        assert!(!text.contains("tailwater_log"), "{text}");
    }

    #[test]
    fn hostile_label_values_stay_apart() {
        let check = |value: &str, expected: &str| {
            let page = Page::new(Spelling::default());
            page.amount(&BUFFER_CAP, &[value], 1);
            let line = format!("tailwater_buffer_cap_bytes{{service=\"{expected}\"}} 1\n");
            assert!(
                page.render().contains(&line),
                "{value:?}: {}",
                page.render()
            );
        };
        check("\"", r#"\""#);
        check("\\", r"\\");
        check("\\\\", r"\\\\");
        check("\\\"", r#"\\\""#);
        check("\n", r"\n");
        check("\\n", r"\\n");
        check("\\\n", r"\\\n");
        check("\"} 1\nx{a=\"", r#"\"} 1\nx{a=\""#);
        check("服务 é", "服务 é");
    }
}
