//! A scan that sees nothing but model calls: for tests, measurements and whoever has no rules to ask.

use super::anomaly::Anomalies;
use super::dialects::Dialects;
use super::record::SpanRecord;
use super::spotter::Spotter;
use crate::otlp::{AnyValue, SpanBytes, SpanHead, Visitor};

/// Hands every record of one request to `take`, with the head of its span.
pub struct Recorder<'d, F> {
    spotter: Spotter<'d>,
    take: F,
}

impl<F> std::fmt::Debug for Recorder<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl<'d, F: FnMut(&SpanHead, &SpanBytes<'_>, &SpanRecord<&[u8]>)> Recorder<'d, F> {
    /// For one request.
    pub fn new(dialects: &'d Dialects, take: F) -> Self {
        Self {
            spotter: Spotter::new(dialects),
            take,
        }
    }

    /// Values that were left out.
    #[must_use]
    pub fn anomalies(&self) -> Anomalies {
        self.spotter.anomalies()
    }
}

impl<F: FnMut(&SpanHead, &SpanBytes<'_>, &SpanRecord<&[u8]>)> Visitor for Recorder<'_, F> {
    fn begin_resource(&mut self) {
        self.spotter.begin_resource();
    }

    fn resource_attribute(&mut self, key: &[u8], value: AnyValue<'_>) {
        self.spotter.resource_attribute(key, value);
    }

    #[inline]
    fn begin_span(&mut self) {
        self.spotter.begin_span();
    }

    #[inline]
    fn span_attribute(&mut self, key: &[u8], value: AnyValue<'_>) {
        self.spotter.span_attribute(key, value);
    }

    fn event_attribute(&mut self, _: &[u8], _: AnyValue<'_>) {}

    #[inline]
    fn end_span(&mut self, head: &SpanHead, bytes: &SpanBytes<'_>) {
        if let Some(record) = self.spotter.end_span(head, bytes) {
            (self.take)(head, bytes, &record);
        }
    }
}
