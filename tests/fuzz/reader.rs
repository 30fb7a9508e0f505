//! Looks at every value that a scan shows, as rules do.

use crate::otlp::{AnyValue, SpanBytes, SpanHead, Visitor};

#[derive(Debug, Default)]
pub(crate) struct Reader;

fn read(value: AnyValue<'_>) {
    value.each_text(&mut |text| {
        std::hint::black_box(text);
    });
}

impl Visitor for Reader {
    fn begin_resource(&mut self) {}

    fn begin_span(&mut self) {}

    fn end_span(&mut self, _: &SpanHead, _: &SpanBytes<'_>) {}

    fn resource_attribute(&mut self, _: &[u8], value: AnyValue<'_>) {
        read(value);
    }

    fn span_attribute(&mut self, _: &[u8], value: AnyValue<'_>) {
        read(value);
    }

    fn event_attribute(&mut self, _: &[u8], value: AnyValue<'_>) {
        read(value);
    }
}
