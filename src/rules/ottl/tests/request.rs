//! The views of every span, event, scope and resource of a request.

use super::super::SpanView;
use super::super::wire;

/// Calls `each` with every message of a field.
fn messages<'a>(message: &'a [u8], field: u32, mut each: impl FnMut(&'a [u8])) {
    wire::each(message, field, |value| {
        each(value.bytes().unwrap());
        Ok(true)
    })
    .unwrap();
}

/// The views that a context has in a request, in wire order.
pub(super) fn views<'a>(request: &'a [u8], context: &str) -> Vec<SpanView<'a>> {
    let mut out = Vec::new();
    messages(request, 1, |resource_spans| {
        let mut view = SpanView {
            resource: wire::bytes(resource_spans, 1).unwrap(),
            resource_schema_url: wire::bytes(resource_spans, 3).unwrap(),
            ..SpanView::default()
        };
        if context == "resource" {
            out.push(view);
            return;
        }
        messages(resource_spans, 2, |scope_spans| {
            view.scope = wire::bytes(scope_spans, 1).unwrap();
            view.scope_schema_url = wire::bytes(scope_spans, 3).unwrap();
            if context == "scope" {
                out.push(view);
                return;
            }
            messages(scope_spans, 2, |span| {
                view.span = span;
                if context == "span" {
                    out.push(view);
                    return;
                }
                messages(span, 11, |event| out.push(SpanView { event, ..view }));
            });
        });
    });
    out
}
