//! How many spans a request holds, for the counters of refused requests.

use super::fields::{Fields, WireValue};

/// Spans of an `ExportTraceServiceRequest`, as far as its framing can be followed.
pub(crate) fn count_spans(request: &[u8]) -> u64 {
    // resource_spans = 1, scope_spans = 2, spans = 2 (opentelemetry/proto/trace/v1/trace.proto).
    messages(request, 1)
        .flat_map(|resource_spans| messages(resource_spans, 2))
        .map(|scope_spans| messages(scope_spans, 2).count() as u64)
        .sum()
}

fn messages(message: &[u8], number: u32) -> impl Iterator<Item = &[u8]> {
    Fields::of(message).filter_map(move |field| match field {
        Ok((found, WireValue::Bytes(bytes))) if found == number => Some(bytes),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_counted_over_all_scopes_up_to_broken_framing() {
        // Two resources: scopes with two spans and one span; one scope without any.
        let request = [
            0x0a, 10, 0x12, 4, 0x12, 0, 0x12, 0, 0x12, 2, 0x12, 0, 0x0a, 2, 0x12, 0,
        ];
        assert_eq!(count_spans(&request), 3);
        assert_eq!(count_spans(&[]), 0);
        assert_eq!(count_spans(&[request.as_slice(), &[0x0a, 9]].concat()), 3);
    }
}
