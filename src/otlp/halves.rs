//! Cuts a piece in two, for far sides that take no message of its size.

use super::scan::scan_as;
use super::signal::Signal;
use super::span::Trusting;
use super::stitch::Stitch;
use bytes::Bytes;

/// The first and the second half of a piece's spans with their counts, each below its own resources and scopes. `None`
/// when there are fewer than two, or the piece is damaged.
pub(crate) fn halves(signal: Signal, piece: &Bytes) -> Option<[(Bytes, u32); 2]> {
    let spans = scan_as(signal, piece, &mut Trusting).ok()?.spans();
    let middle = spans / 2;
    let half = |range: std::ops::Range<usize>| {
        let count = u32::try_from(range.len()).ok()?;
        Some((Stitch::of_spans(signal, piece, &range)?.finish(), count))
    };
    (middle > 0).then_some([half(0..middle)?, half(middle..spans)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
    use prost::Message;

    fn spans(ids: std::ops::RangeInclusive<u8>) -> ScopeSpans {
        let span = |id| Span {
            trace_id: vec![1; 16],
            span_id: vec![id; 8],
            ..Span::default()
        };
        ScopeSpans {
            spans: ids.map(span).collect(),
            schema_url: "u".to_owned(),
            ..ScopeSpans::default()
        }
    }

    fn request(scopes: Vec<ScopeSpans>) -> ExportTraceServiceRequest {
        let resource_spans = vec![ResourceSpans {
            scope_spans: scopes,
            ..ResourceSpans::default()
        }];
        ExportTraceServiceRequest { resource_spans }
    }

    #[test]
    fn every_span_is_in_one_half_below_its_scope() {
        let piece = request(vec![spans(1..=3), spans(4..=5)])
            .encode_to_vec()
            .into();
        let [(first, two), (second, three)] = halves(Signal::Traces, &piece).unwrap();
        assert_eq!((two, three), (2, 3));
        assert_eq!(
            ExportTraceServiceRequest::decode(first).unwrap(),
            request(vec![spans(1..=2)])
        );
        // Scopes that are the same bytes are one.
        assert_eq!(
            ExportTraceServiceRequest::decode(second).unwrap(),
            request(vec![spans(3..=5)])
        );
        assert!(
            halves(
                Signal::Traces,
                &request(vec![spans(1..=1)]).encode_to_vec().into()
            )
            .is_none()
        );
        assert!(halves(Signal::Traces, &Bytes::from_static(&[0x0a, 9])).is_none());
    }
}
