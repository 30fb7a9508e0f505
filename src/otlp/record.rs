//! Whose spans lie where in a record of a shared log, which any producer may have written.
//!
//! Ours lay a trace's spans side by side under resources of its own; then a piece is a stretch of the record. Where a
//! resource holds spans of several traces, the piece of each is the whole record, and is cut out when it is read.

use super::raw_fields::raw_fields;
use super::scan::{Scan, scan};
use super::span::{Blind, Trusting};
use super::split::split;
use super::{TraceId, WireError};
use bytes::Bytes;
use std::ops::Range;

/// The spans of one trace in a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordPiece {
    pub(crate) trace: TraceId,
    /// A stretch that holds no other trace, or the whole record.
    pub(crate) bytes: Range<usize>,
    pub(crate) spans: u32,
    /// Other traces lie in the stretch.
    pub(crate) mixed: bool,
}

/// The pieces of a record, in its order, and how many of its spans are broken.
pub(crate) fn record_pieces(record: &[u8]) -> Result<(Vec<RecordPiece>, u64), WireError> {
    // Not `Trusting`: nobody has looked at it before.
    let scan = scan(record, &mut Blind)?;
    if scan.rejected > 0 {
        // What is cut out leaves them behind.
        return Ok((mixed(record, &scan), scan.rejected));
    }
    let mut pieces: Vec<RecordPiece> = Vec::new();
    let mut spans = scan.spans.iter().peekable();
    for (resource, bytes) in resources(record).enumerate() {
        let mut fresh = true;
        while let Some(place) = spans.next_if(|place| resource_of(&scan, place.scope) == resource) {
            let last = pieces.last_mut();
            match last.filter(|last| last.trace == place.trace) {
                Some(last) => {
                    last.bytes.end = bytes.end;
                    last.spans += 1;
                }
                None if fresh => pieces.push(RecordPiece {
                    trace: place.trace,
                    bytes: bytes.clone(),
                    spans: 1,
                    mixed: false,
                }),
                None => return Ok((mixed(record, &scan), 0)),
            }
            fresh = false;
        }
    }
    Ok((pieces, 0))
}

fn resource_of(scan: &Scan, scope: u32) -> usize {
    let scope = scan.scopes.get(scope as usize);
    scope.map_or(usize::MAX, |scope| scope.resource as usize)
}

/// The stretches of the record's resources, tags included.
fn resources(record: &[u8]) -> impl Iterator<Item = Range<usize>> {
    raw_fields(record)
        .filter_map(Result::ok)
        .filter(|field| field.message(1).is_some())
        .map(|field| field.range)
}

/// One piece for each trace.
fn mixed(record: &[u8], scan: &Scan) -> Vec<RecordPiece> {
    let mut pieces: Vec<RecordPiece> = Vec::new();
    let mut numbers = hashbrown::HashMap::new();
    for trace in scan.traces() {
        let number = *numbers.entry(trace).or_insert_with(|| {
            pieces.push(RecordPiece {
                trace,
                bytes: 0..record.len(),
                spans: 0,
                mixed: true,
            });
            pieces.len() - 1
        });
        if let Some(piece) = pieces.get_mut(number) {
            piece.spans += 1;
        }
    }
    pieces
}

/// What lies in `bytes` of this trace alone; `None` when they are damaged, or nothing does.
pub(crate) fn only_trace(bytes: &Bytes, trace: TraceId) -> Option<Bytes> {
    let scan = scan(bytes, &mut Trusting).ok()?;
    if scan.traces().all(|other| other == trace) && scan.rejected == 0 {
        return (scan.spans() > 0).then(|| bytes.clone());
    }
    let one_service = vec![0; scan.resources.len()];
    let split = split(bytes, &scan, &one_service, 1, 0);
    let piece = split.pieces.iter().find(|piece| piece.trace == trace)?;
    let block = split.blocks.get(piece.block as usize)?;
    let stretch = piece.bytes.start as usize..piece.bytes.end as usize;
    block.bytes.get(stretch).map(Bytes::copy_from_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
    use prost::Message;

    /// A record with these spans (trace, number) under each resource; trace 9 is no id.
    fn record(resources: &[&[(u8, u8)]]) -> Bytes {
        let span = |(trace, number): &(u8, u8)| Span {
            trace_id: vec![*trace; if *trace == 9 { 3 } else { 16 }],
            span_id: vec![*number; 8],
            ..Span::default()
        };
        let resource = |spans: &&[(u8, u8)]| ResourceSpans {
            scope_spans: vec![ScopeSpans {
                spans: spans.iter().map(span).collect(),
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        };
        let request = ExportTraceServiceRequest {
            resource_spans: resources.iter().map(resource).collect(),
        };
        request.encode_to_vec().into()
    }

    fn numbers(bytes: &Bytes) -> Vec<(u8, u8)> {
        let request = ExportTraceServiceRequest::decode(&bytes[..]).unwrap();
        let resources = request.resource_spans.iter();
        let scopes = resources.flat_map(|resource| &resource.scope_spans);
        let spans = scopes.flat_map(|scope| &scope.spans);
        spans
            .map(|span| (span.trace_id[0], span.span_id[0]))
            .collect()
    }

    /// The spans of each piece, as they are read back.
    fn check(resources: &[&[(u8, u8)]], expected: &[&[(u8, u8)]], mixed: bool, broken: u64) {
        let record = record(resources);
        let (pieces, rejected) = record_pieces(&record).unwrap();
        let read: Vec<_> = pieces
            .iter()
            .map(|piece| only_trace(&record.slice(piece.bytes.clone()), piece.trace).unwrap())
            .collect();
        let found: Vec<_> = read.iter().map(numbers).collect();
        assert_eq!(found, expected);
        assert!(pieces.iter().all(|piece| piece.mixed == mixed));
        let counts: Vec<_> = pieces.iter().map(|piece| piece.spans as usize).collect();
        assert_eq!(counts, found.iter().map(Vec::len).collect::<Vec<_>>());
        assert_eq!(rejected, broken);
    }

    #[test]
    fn traces_side_by_side_are_stretches() {
        check(
            &[&[(1, 1), (1, 2)], &[(1, 3)]],
            &[&[(1, 1), (1, 2), (1, 3)]],
            false,
            0,
        );
        check(
            &[&[(1, 1)], &[(2, 2)], &[(1, 3)]],
            &[&[(1, 1)], &[(2, 2)], &[(1, 3)]],
            false,
            0,
        );
        check(&[&[], &[(2, 2)]], &[&[(2, 2)]], false, 0);
        check(&[], &[], false, 0);
    }

    #[test]
    fn traces_under_one_resource_are_cut_out() {
        check(
            &[&[(1, 1), (2, 2), (1, 3)]],
            &[&[(1, 1), (1, 3)], &[(2, 2)]],
            true,
            0,
        );
        check(
            &[&[(1, 1)], &[(1, 2), (3, 3)]],
            &[&[(1, 1), (1, 2)], &[(3, 3)]],
            true,
            0,
        );
    }

    #[test]
    fn broken_spans_stay_behind() {
        check(&[&[(1, 1), (9, 2)]], &[&[(1, 1)]], true, 1);
        assert!(record_pieces(&[0x0a, 9]).is_err());
    }
}
