//! A batch as what becomes records: whole, or one part for each trace; and a part cut in two.

use crate::otlp::{Signal, Trusting, halves, scan_as, split};
use bytes::Bytes;

/// What one record will hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) signal: Signal,
    /// The trace's id in lower-case hex, as the Collector's exporter writes it; an id of zeros is empty.
    pub(super) key: Option<Vec<u8>>,
    /// An `ExportTraceServiceRequest`, or one of logs.
    pub(super) request: Bytes,
    pub(super) spans: u64,
    /// It leaves in a request of its own, so that the broker's word on the size is about this record and no other.
    pub(super) alone: bool,
}

impl Part {
    /// The batch in one.
    pub(super) fn whole(signal: Signal, request: Bytes, spans: u64) -> Self {
        Self {
            signal,
            key: None,
            request,
            spans,
            alone: false,
        }
    }

    /// Both halves, under the same key; `None` for one span.
    pub(super) fn halves(&self) -> Option<[Self; 2]> {
        Some(
            halves(self.signal, &self.request)?.map(|(request, spans)| Self {
                signal: self.signal,
                key: self.key.clone(),
                request,
                spans: u64::from(spans),
                alone: self.alone,
            }),
        )
    }
}

/// A part for each trace of the batch; `None` when it is damaged.
pub(super) fn by_trace(signal: Signal, request: &Bytes) -> Option<Vec<Part>> {
    let scan = scan_as(signal, request, &mut Trusting).ok()?;
    let one_service = vec![0; scan.resources.len()];
    let split = split(request, &scan, &one_service, 1, 0);
    let blocks: Vec<Bytes> = split
        .blocks
        .into_iter()
        .map(|block| block.bytes.into())
        .collect();
    let part = |piece: crate::otlp::Piece| {
        let block = blocks.get(piece.block as usize)?;
        let bytes = piece.bytes.start as usize..piece.bytes.end as usize;
        let hex = || piece.trace.hex().to_vec();
        Some(Part {
            signal,
            key: Some(if piece.trace.0 == 0 {
                Vec::new()
            } else {
                hex()
            }),
            request: (bytes.end <= block.len()).then(|| block.slice(bytes))?,
            spans: u64::from(piece.spans.end - piece.spans.start),
            alone: false,
        })
    };
    split.pieces.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
    use prost::Message;

    /// Trace and span numbers under one resource each.
    fn request(resources: &[&[(u8, u8)]]) -> ExportTraceServiceRequest {
        let span = |(trace, id): &(u8, u8)| Span {
            trace_id: vec![*trace; 16],
            span_id: vec![*id; 8],
            ..Span::default()
        };
        let resource = |spans: &&[(u8, u8)]| ResourceSpans {
            scope_spans: vec![ScopeSpans {
                spans: spans.iter().map(span).collect(),
                ..ScopeSpans::default()
            }],
            schema_url: format!("{}", spans.len()),
            ..ResourceSpans::default()
        };
        ExportTraceServiceRequest {
            resource_spans: resources.iter().map(resource).collect(),
        }
    }

    fn ids(part: &Part) -> Vec<(u8, u8)> {
        let request = ExportTraceServiceRequest::decode(&*part.request).unwrap();
        let resources = request.resource_spans.iter();
        let scopes = resources.flat_map(|resource| &resource.scope_spans);
        let spans = scopes.flat_map(|scope| &scope.spans);
        spans
            .map(|span| (span.trace_id[0], span.span_id[0]))
            .collect()
    }

    #[test]
    fn each_trace_is_a_part_with_its_key() {
        let batch = request(&[&[(1, 1), (2, 2), (1, 3)], &[(2, 4)]]);
        let parts = by_trace(Signal::Traces, &batch.encode_to_vec().into()).unwrap();
        let seen: Vec<_> = parts
            .iter()
            .map(|part| (part.key.clone().unwrap(), ids(part), part.spans))
            .collect();
        let key = |n: &str| n.repeat(16).into_bytes();
        let expected = [
            (key("01"), vec![(1, 1), (1, 3)], 2),
            (key("02"), vec![(2, 2), (2, 4)], 2),
        ];
        assert_eq!(seen, expected);
        let zero = by_trace(
            Signal::Traces,
            &request(&[&[(0, 1)]]).encode_to_vec().into(),
        )
        .unwrap();
        assert_eq!(zero[0].key, Some(Vec::new()));
        assert!(by_trace(Signal::Traces, &Bytes::from_static(&[0x0a, 9])).is_none());
    }

    #[test]
    fn a_part_is_cut_down_to_its_spans() {
        let batch = request(&[&[(1, 1), (1, 2), (1, 3)]]).encode_to_vec();
        let part = by_trace(Signal::Traces, &batch.into()).unwrap().remove(0);
        let [first, second] = part.halves().unwrap();
        assert_eq!((ids(&first), first.spans), (vec![(1, 1)], 1));
        assert_eq!((ids(&second), second.spans), (vec![(1, 2), (1, 3)], 2));
        assert!(first.key == part.key && second.key == part.key);
        assert!(first.halves().is_none());
    }
}
