//! What scan, split and stitch make of any bytes, judged by prost: shared by the fuzz targets and the property tests.

use crate::otlp::{Piece, Scan, Stitch, TraceId, Visitor, WireError, partition_of, scan, split};
use bytes::Bytes;
use opentelemetry_proto::tonic::trace::v1 as proto;
use prost::Message;
use std::collections::HashSet;

/// What prost says of bytes that scan takes all the same: it reads texts as bytes, and references to entities, which no rule
/// asks for, not at all.
const LENIENT: [&str; 2] = ["UTF-8", "entity_refs"];

/// Room before each piece, as the log's headers take.
const GAP: usize = 16;

/// A span under its resource, its scope and their schema URLs.
pub(crate) type Flat = (Vec<u8>, Vec<u8>, String, String, proto::Span);

/// All spans of a request.
pub(crate) fn flat(data: &proto::TracesData) -> Vec<Flat> {
    let mut out = Vec::new();
    for resource in &data.resource_spans {
        let envelope = resource.resource.as_ref();
        let envelope = envelope.map(Message::encode_to_vec).unwrap_or_default();
        for scope in &resource.scope_spans {
            let name = scope.scope.as_ref();
            let name = name.map(Message::encode_to_vec).unwrap_or_default();
            for span in &scope.spans {
                let urls = (resource.schema_url.clone(), scope.schema_url.clone());
                out.push((envelope.clone(), name.clone(), urls.0, urls.1, span.clone()));
            }
        }
    }
    out
}

/// Splits, checks every piece's place, and returns them.
pub(crate) fn pieces(bytes: &Bytes, scanned: &Scan, partitions: u16) -> Vec<(Piece, Bytes)> {
    let services: Vec<u32> = scanned
        .service_names(bytes)
        .map(|name| name.map_or(0, |name| u32::try_from(name.len()).unwrap() + 1))
        .collect();
    let split = split(bytes, scanned, &services, partitions, GAP);
    let mut order = split.order.clone();
    order.sort_unstable();
    let all = 0..u32::try_from(scanned.spans()).unwrap();
    assert!(order.into_iter().eq(all), "every span once");
    let laid = split.pieces.iter().map(|piece| {
        let block = &split.blocks[piece.block as usize].bytes;
        let bytes = &block[piece.bytes.start as usize..piece.bytes.end as usize];
        assert_eq!(piece.partition, partition_of(piece.trace, partitions));
        (piece.clone(), Bytes::copy_from_slice(bytes))
    });
    laid.collect()
}

/// Stitches pieces as an exporter does, one entry for each trace: what comes out, its spans, and the twins left out.
pub(crate) fn stitched(mut pieces: Vec<(Piece, Bytes)>) -> (Bytes, u64, u64) {
    pieces.sort_by_key(|(piece, _)| piece.trace);
    let (mut stitch, mut last) = (Stitch::default(), None);
    for (piece, bytes) in pieces {
        if last != Some(piece.trace) {
            stitch.begin_entry(false);
        }
        last = Some(piece.trace);
        stitch
            .add(piece.trace, bytes)
            .expect("a piece that split has made");
    }
    let (spans, twins) = (stitch.spans(), stitch.duplicates());
    (stitch.finish(), spans, twins)
}

/// Scan takes and refuses what prost takes and refuses, and every piece is its trace's.
pub(crate) fn judge_scan(bytes: &Bytes, visitor: &mut impl Visitor) {
    let oracle = proto::TracesData::decode(bytes.clone());
    let ours = scan(bytes, visitor);
    match (&oracle, &ours) {
        (Ok(data), Ok(scanned)) => {
            let spans = scanned.spans() as u64 + scanned.rejected;
            assert_eq!(flat(data).len() as u64, spans);
            for (piece, bytes) in pieces(bytes, scanned, 7) {
                let again = proto::TracesData::decode(bytes).unwrap();
                let mut spans = flat(&again).into_iter();
                assert!(spans.all(|span| span.4.trace_id == piece.trace.to_bytes()));
            }
        }
        // Groups are well-formed protobuf that OTLP never has; prost skips unknown ones.
        (Ok(_), Err(error)) => assert_eq!(*error, WireError::WireType),
        (Err(error), Ok(scanned)) => {
            let text = error.to_string();
            let lenient = LENIENT.iter().any(|what| text.contains(what));
            assert!(scanned.rejected > 0 || lenient, "{text}");
            pieces(bytes, scanned, 7);
        }
        (Err(_), Err(_)) => {}
    }
}

/// What is stitched from a request's pieces is the request, less its twins and what was rejected.
pub(crate) fn judge_stitch(bytes: &Bytes, visitor: &mut impl Visitor) {
    let Ok(scanned) = scan(bytes, visitor) else {
        return judge_damaged(bytes);
    };
    let sound: HashSet<(TraceId, u64)> = scanned
        .spans
        .iter()
        .map(|place| (place.trace, place.span))
        .collect();
    let (out, spans, twins) = stitched(pieces(bytes, &scanned, 4));
    assert_eq!(spans + twins, scanned.spans() as u64);
    let Ok(data) = proto::TracesData::decode(bytes.clone()) else {
        return;
    };
    let mut expected = flat(&data);
    expected.retain(|span| ids_of(&span.4).is_some_and(|ids| sound.contains(&ids)));
    let found = flat(&proto::TracesData::decode(out).expect("what prost has read before"));
    assert_eq!(found.len() as u64, spans);
    let known: HashSet<_> = expected.iter().map(|span| format!("{span:?}")).collect();
    for span in &found {
        assert!(known.contains(&format!("{span:?}")), "{span:?}");
    }
}

/// Bytes that are no piece are an error, and the others go on.
fn judge_damaged(bytes: &Bytes) {
    let mut stitch = Stitch::default();
    stitch.begin_entry(false);
    let added = stitch.add(TraceId(1), bytes.clone());
    assert!(added.is_err());
    assert_eq!((stitch.spans(), stitch.finish().len()), (0, 0));
}

fn ids_of(span: &proto::Span) -> Option<(TraceId, u64)> {
    let id = span.span_id.as_slice().try_into().ok()?;
    Some((TraceId::from_slice(&span.trace_id)?, u64::from_be_bytes(id)))
}
