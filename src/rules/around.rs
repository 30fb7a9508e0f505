//! What stands around a span: its resource and scope, found once for all spans that share them.

use super::ottl::SpanView;
use crate::otlp::{SpanBytes, singular_fields};
use std::ops::Range;

/// Where the resource or scope and the schema URL lie in the message in hand.
#[derive(Debug, Default)]
struct Envelope {
    /// Address and length tell one message of a request from another.
    message: (usize, usize),
    child: Range<usize>,
    schema_url: Range<usize>,
}

impl Envelope {
    /// Looks again when it is another message than before.
    fn find(&mut self, message: &[u8]) {
        let own = (message.as_ptr().addr(), message.len());
        if self.message == own {
            return;
        }
        let [child, schema_url] = singular_fields(message, [1, 3]);
        *self = Self {
            message: own,
            child,
            schema_url,
        };
    }
}

/// The envelopes of the span in hand, of one request.
#[derive(Debug, Default)]
pub(crate) struct Around {
    resource: Envelope,
    scope: Envelope,
}

impl Around {
    pub(crate) fn view<'a>(&mut self, bytes: &SpanBytes<'a>, schema_urls: bool) -> SpanView<'a> {
        self.resource.find(bytes.resource_spans);
        self.scope.find(bytes.scope_spans);
        let part = |message: &'a [u8], range: &Range<usize>| {
            message.get(range.clone()).unwrap_or_default()
        };
        let url = |message: &'a [u8], range: &Range<usize>| {
            if schema_urls {
                part(message, range)
            } else {
                &[]
            }
        };
        SpanView {
            span: bytes.span,
            event: &[],
            resource: part(bytes.resource_spans, &self.resource.child),
            scope: part(bytes.scope_spans, &self.scope.child),
            resource_schema_url: url(bytes.resource_spans, &self.resource.schema_url),
            scope_schema_url: url(bytes.scope_spans, &self.scope.schema_url),
        }
    }
}
