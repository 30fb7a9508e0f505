//! How the Collector's own metrics are spelled, as its Prometheus reader is told to.
//!
//! A reader with no more than host and port writes names as they are. Each switch that is turned off adds what the
//! Prometheus conventions want: the type's suffix, the unit's, the labels of the scope. Ours carry their suffixes always.

use super::inventory::{Kind, Metric};
use std::borrow::Cow;

/// What is added to `otelcol_*` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spelling {
    /// `without_type_suffix: false`: counters end in `_total`.
    pub type_suffix: bool,
    /// `without_units: false`: the unit stands in the name.
    pub units: bool,
    /// `without_scope_info: false`: labels tell which part of the Collector the metric is of.
    pub scope: bool,
}

/// Names of the units that become suffixes; those in braces never do.
const UNITS: &[(&str, &str)] = &[
    ("By", "bytes"),
    ("s", "seconds"),
    ("ms", "milliseconds"),
    ("us", "microseconds"),
];

/// The Collector's packages, by the beginning of their metrics' names.
const SCOPES: &[(&str, &str)] = &[
    (
        "otelcol_processor_tail_sampling_",
        "github.com/open-telemetry/opentelemetry-collector-contrib/processor/tailsamplingprocessor",
    ),
    (
        "otelcol_receiver_",
        "go.opentelemetry.io/collector/receiver/receiverhelper",
    ),
    (
        "otelcol_exporter_",
        "go.opentelemetry.io/collector/exporter/exporterhelper",
    ),
    ("otelcol_process_", "go.opentelemetry.io/collector/service"),
];

impl Spelling {
    /// The name on the page.
    pub(super) fn name(self, metric: &Metric) -> Cow<'static, str> {
        if !metric.name.starts_with("otelcol_") {
            return Cow::Borrowed(metric.name);
        }
        let mut name = Cow::Borrowed(metric.name);
        if let Some((_, suffix)) = UNITS
            .iter()
            .find(|(unit, _)| self.units && *unit == metric.unit)
            && !name.ends_with(&format!("_{suffix}"))
        {
            name = Cow::Owned(format!("{name}_{suffix}"));
        }
        if self.type_suffix && metric.kind == Kind::Counter {
            name = Cow::Owned(format!("{name}_total"));
        }
        name
    }

    /// Labels that stand behind the metric's own.
    pub(super) fn labels(self, metric: &Metric) -> Vec<(&'static str, &'static str)> {
        let scope = SCOPES
            .iter()
            .find(|(prefix, _)| self.scope && metric.name.starts_with(prefix));
        scope.map_or_else(Vec::new, |(_, scope)| {
            vec![
                ("otel_scope_name", *scope),
                ("otel_scope_schema_url", ""),
                ("otel_scope_version", ""),
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::inventory::{ACCEPTED_SPANS, Appears, INVENTORY, LOG_BYTES, TRACES, UPTIME};
    use super::*;

    const FULL: Spelling = Spelling {
        type_suffix: true,
        units: true,
        scope: true,
    };

    fn of(name: &'static str, kind: Kind, unit: &'static str) -> Metric {
        Metric {
            name,
            kind,
            unit,
            labels: &[],
            appears: Appears::Always,
            help: "",
        }
    }

    #[test]
    fn names() {
        let check = |metric: &Metric, spelling: Spelling, expected: &str| {
            assert_eq!(spelling.name(metric), expected);
        };
        let time = of("otelcol_x_execution_time_sum", Kind::Counter, "us");
        check(
            &time,
            FULL,
            "otelcol_x_execution_time_sum_microseconds_total",
        );
        check(
            &time,
            Spelling {
                type_suffix: true,
                ..Spelling::default()
            },
            "otelcol_x_execution_time_sum_total",
        );
        check(
            &time,
            Spelling {
                units: true,
                ..Spelling::default()
            },
            "otelcol_x_execution_time_sum_microseconds",
        );
        check(
            &of("otelcol_x_count_bytes_sampled", Kind::Counter, "By"),
            FULL,
            "otelcol_x_count_bytes_sampled_bytes_total",
        );
        check(
            &of("otelcol_x_age", Kind::Gauge, "s"),
            FULL,
            "otelcol_x_age_seconds",
        );
        check(
            &ACCEPTED_SPANS,
            FULL,
            "otelcol_receiver_accepted_spans_total",
        );
        check(&UPTIME, FULL, "otelcol_process_uptime_seconds_total");
        // Ours are whole already.
        check(&TRACES, FULL, TRACES.name);
        check(&LOG_BYTES, FULL, LOG_BYTES.name);
        for metric in INVENTORY {
            check(metric, Spelling::default(), metric.name);
        }
    }

    #[test]
    fn every_metric_of_the_collector_has_a_scope() {
        for metric in INVENTORY {
            let theirs = metric.name.starts_with("otelcol_");
            assert_eq!(!FULL.labels(metric).is_empty(), theirs, "{}", metric.name);
            assert!(Spelling::default().labels(metric).is_empty());
        }
    }
}
