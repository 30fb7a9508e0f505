//! What an OTLP export request is of: a [`Signal`] that the log takes, or something that is only passed on.

use super::fields::{Fields, WireValue};
use super::signal::Signal;
use super::span_count::count_spans;

/// The kinds of export requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Telemetry {
    /// `TraceService`.
    Traces,
    /// `LogsService`.
    Logs,
    /// `MetricsService`.
    Metrics,
}

impl From<Signal> for Telemetry {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Traces => Self::Traces,
            Signal::Logs => Self::Logs,
        }
    }
}

impl Telemetry {
    /// What it is for the log; `None`: the log takes none of it.
    #[must_use]
    pub fn signal(self) -> Option<Signal> {
        match self {
            Self::Traces => Some(Signal::Traces),
            Self::Logs => Some(Signal::Logs),
            Self::Metrics => None,
        }
    }

    /// As pipelines are called.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Logs => "logs",
            Self::Metrics => "metrics",
        }
    }

    /// Spans, log records or data points of a request, as far as its framing can be followed.
    pub(crate) fn count(self, request: &[u8]) -> u64 {
        match self {
            // Both lie equally deep, in fields of the same numbers.
            Self::Traces | Self::Logs => count_spans(request),
            Self::Metrics => count_points(request),
        }
    }
}

/// Of an `ExportMetricsServiceRequest` (opentelemetry/proto/metrics/v1/metrics.proto).
fn count_points(request: &[u8]) -> u64 {
    /// `gauge`, `sum`, `histogram`, `exponential_histogram`, `summary`: each has its points in field 1.
    const KINDS: [u32; 5] = [5, 7, 9, 10, 11];
    messages(request, &[1])
        .flat_map(|resource| messages(resource, &[2]))
        .flat_map(|scope| messages(scope, &[2]))
        .flat_map(|metric| messages(metric, &KINDS))
        .map(|data| messages(data, &[1]).count() as u64)
        .sum()
}

fn messages<'a>(message: &'a [u8], numbers: &'static [u32]) -> impl Iterator<Item = &'a [u8]> {
    Fields::of(message).filter_map(move |field| match field {
        Ok((found, WireValue::Bytes(bytes))) if numbers.contains(&found) => Some(bytes),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
    use opentelemetry_proto::tonic::metrics::v1::{
        Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Summary, SummaryDataPoint,
        metric::Data,
    };
    use prost::Message;

    #[test]
    fn points_of_every_kind_are_counted() {
        let metric = |data| Metric {
            name: "m".into(),
            data: Some(data),
            ..Metric::default()
        };
        let gauge = Data::Gauge(Gauge {
            data_points: vec![NumberDataPoint::default(); 3],
        });
        let summary = Data::Summary(Summary {
            data_points: vec![SummaryDataPoint::default(); 2],
        });
        let scope = ScopeMetrics {
            metrics: vec![metric(gauge), metric(summary), Metric::default()],
            ..ScopeMetrics::default()
        };
        let resource = ResourceMetrics {
            scope_metrics: vec![scope.clone(), scope],
            ..ResourceMetrics::default()
        };
        let request = ExportMetricsServiceRequest {
            resource_metrics: vec![resource],
        };
        let bytes = request.encode_to_vec();
        assert_eq!(Telemetry::Metrics.count(&bytes), 10);
        assert_eq!(Telemetry::Metrics.count(&bytes[..bytes.len() - 1]), 0);
        assert_eq!(Telemetry::Metrics.count(&[]), 0);
    }
}
