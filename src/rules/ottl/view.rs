//! What a condition looks at: the bytes of one span, event, scope or resource and of what stands around it.

use std::fmt;

/// Raw protobuf messages. What is absent is empty. A message that came in parts may be given as their concatenation,
/// which protobuf reads as one.
#[derive(Clone, Copy, Default)]
pub struct SpanView<'a> {
    /// `Span`.
    pub span: &'a [u8],
    /// `Span.Event`, in the context of an event.
    pub event: &'a [u8],
    /// `Resource`.
    pub resource: &'a [u8],
    /// `InstrumentationScope`.
    pub scope: &'a [u8],
    /// `ResourceSpans.schema_url`.
    pub resource_schema_url: &'a [u8],
    /// `ScopeSpans.schema_url`.
    pub scope_schema_url: &'a [u8],
}

impl fmt::Debug for SpanView<'_> {
    /// Lengths only: spans hold prompts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpanView")
            .field("span", &self.span.len())
            .field("event", &self.event.len())
            .field("resource", &self.resource.len())
            .field("scope", &self.scope.len())
            .finish_non_exhaustive()
    }
}
