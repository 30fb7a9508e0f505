//! Lays the spans of a request out by service, partition and trace, each trace's spans side by side.
//!
//! A *piece* is a `TracesData` message of its own: the spans of one trace under their resource and scope, unknown
//! fields included. Pieces of one resource service form a *block* (one allocation, so that the cache can charge and
//! free it alone), ordered by partition. Room for the log's own header is left in front of each piece.

use super::scan::{Envelope, Scan, SpanPlace};
use super::wire::{field_len, put_field_header};
use super::{TraceId, partition_of};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::iter::Peekable;
use std::ops::Range;

/// One trace's spans of one request and service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The trace.
    pub trace: TraceId,
    /// The partition that owns it.
    pub partition: u16,
    /// Which of [`Split::blocks`] holds it.
    pub block: u32,
    /// The piece's bytes within the block, the header room in front of them not included.
    pub bytes: Range<u32>,
    /// Which of [`Split::order`] are its spans.
    pub spans: Range<u32>,
}

/// The pieces of one service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PieceBlock {
    /// What the caller named the service of the resources.
    pub service: u32,
    /// Pieces, each with room for a header before it.
    pub bytes: Vec<u8>,
}

/// A request laid out for the log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Split {
    /// One for each service.
    pub blocks: Vec<PieceBlock>,
    /// In layout order: by block, then partition.
    pub pieces: Vec<Piece>,
    /// Indices of the request's sound spans (in scan order) in layout order.
    pub order: Vec<u32>,
}

const NONE: u32 = u32::MAX;
/// Traces that the look-up begins with room for: as many as a request of usual size can hold.
const TABLE: usize = 512;

/// The spans of one piece as a list through `Draft::next`.
struct Draft {
    trace: TraceId,
    service: u32,
    first: u32,
    last: u32,
    /// Bytes of its spans with their tags, and of the envelope of the first: what it will take, unless a trace has spans
    /// under several scopes.
    bytes: usize,
}

struct Drafts {
    pieces: Vec<Draft>,
    next: Vec<u32>,
}

/// A stretch of spans under one scope.
struct Run {
    scope: u32,
    payload: usize,
}

/// Lays out the spans of `scan`. `services[i]` is the service of resource `i`; `header` bytes of zeros are left before
/// each piece.
#[must_use]
pub fn split(
    request: &[u8],
    scan: &Scan,
    services: &[u32],
    partitions: u16,
    header: usize,
) -> Split {
    let drafts = group(scan, services);
    let layout = layout(&drafts.pieces, partitions);
    let mut out = Split {
        order: Vec::with_capacity(scan.spans.len()),
        ..Split::default()
    };
    out.pieces.reserve_exact(drafts.pieces.len());
    let mut runs = Vec::new();
    let mut rest = &layout[..];
    while let Some(((partition, draft), behind)) = rest.split_first() {
        if out
            .blocks
            .last()
            .is_none_or(|block| block.service != draft.service)
        {
            out.blocks.push(PieceBlock {
                service: draft.service,
                bytes: Vec::with_capacity(room_of(rest, header)),
            });
        }
        lay_out(
            request,
            scan,
            &drafts.next,
            (*partition, draft),
            header,
            &mut runs,
            &mut out,
        );
        rest = behind;
    }
    for block in &mut out.blocks {
        // The cache charges a block's bytes; one with much slack would hold more.
        if block.bytes.capacity() > block.bytes.len() + block.bytes.len() / 8 {
            block.bytes.shrink_to_fit();
        }
    }
    out
}

/// The pieces by service, then partition, then first span, each with its partition.
fn layout(drafts: &[Draft], partitions: u16) -> Vec<(u16, &Draft)> {
    // A pass of its own: the hash is one long chain, and processors walk several chains at once.
    let mut keys: Vec<(u64, u32)> = drafts
        .iter()
        .zip(0_u32..)
        .map(|(draft, index)| {
            let partition = partition_of(draft.trace, partitions);
            (u64::from(draft.service) << 16 | u64::from(partition), index)
        })
        .collect();
    keys.sort_unstable();
    #[allow(clippy::cast_possible_truncation, reason = "the low half")]
    keys.into_iter()
        .filter_map(|(key, index)| Some((key as u16, drafts.get(index as usize)?)))
        .collect()
}

/// Bytes of the block of the first piece's service.
fn room_of(layout: &[(u16, &Draft)], header: usize) -> usize {
    let drafts = layout.chunk_by(|a, b| a.1.service == b.1.service).next();
    let drafts = drafts.unwrap_or_default().iter();
    drafts.map(|(_, draft)| header + draft.bytes).sum()
}

/// Finds the piece of each span. Neighbours mostly share a trace, so the last piece is tried first.
fn group(scan: &Scan, services: &[u32]) -> Drafts {
    let hasher = FixedState::default();
    let mut table: HashTable<u32> = HashTable::with_capacity(scan.spans.len().min(TABLE));
    let mut drafts = Drafts {
        pieces: Vec::new(),
        next: vec![NONE; scan.spans.len()],
    };
    let mut last = 0_usize;
    for (place, span) in scan.spans.iter().zip(0_u32..) {
        let service = service_of(scan, services, place);
        let same = |draft: &Draft| draft.trace == place.trace && draft.service == service;
        if !drafts.pieces.get(last).is_some_and(same) {
            let hash = hasher.hash_one((place.trace.0, service));
            let found = table
                .find(hash, |index| {
                    drafts.pieces.get(*index as usize).is_some_and(same)
                })
                .copied();
            last = if let Some(index) = found {
                index as usize
            } else {
                let index = drafts.pieces.len();
                drafts.pieces.push(Draft {
                    trace: place.trace,
                    service,
                    first: NONE,
                    last: NONE,
                    bytes: envelope_len(scan, place),
                });
                table.insert_unique(hash, super::scan::index(index), |index| {
                    drafts
                        .pieces
                        .get(*index as usize)
                        .map_or(0, |d| hasher.hash_one((d.trace.0, d.service)))
                });
                index
            };
        }
        link(
            &mut drafts,
            last,
            span,
            field_len((place.end - place.start) as usize),
        );
    }
    drafts
}

fn link(drafts: &mut Drafts, piece: usize, span: u32, bytes: usize) {
    let Some(draft) = drafts.pieces.get_mut(piece) else {
        return;
    };
    if let Some(next) = drafts.next.get_mut(draft.last as usize) {
        *next = span;
    } else {
        draft.first = span;
    }
    draft.last = span;
    draft.bytes += bytes;
}

/// The most that a span's resource and scope take around it.
fn envelope_len(scan: &Scan, place: &SpanPlace) -> usize {
    const TAG_AND_LENGTH: usize = 6;
    let scope = scan.scopes.get(place.scope as usize);
    let resource = scope.and_then(|scope| scan.resources.get(scope.resource as usize));
    let len = |envelope: Option<&Envelope>| envelope.map_or(0, |envelope| envelope.len);
    len(scope) + len(resource) + 2 * TAG_AND_LENGTH
}

fn service_of(scan: &Scan, services: &[u32], place: &SpanPlace) -> u32 {
    let resource = scan
        .scopes
        .get(place.scope as usize)
        .map_or(0, |scope| scope.resource);
    services.get(resource as usize).copied().unwrap_or_default()
}

fn lay_out(
    request: &[u8],
    scan: &Scan,
    next: &[u32],
    (partition, draft): (u16, &Draft),
    header: usize,
    runs: &mut Vec<Run>,
    out: &mut Split,
) {
    runs.clear();
    let first = super::scan::index(out.order.len());
    let mut span = draft.first;
    while let Some(place) = scan.spans.get(span as usize) {
        out.order.push(span);
        let len = field_len((place.end - place.start) as usize);
        match runs.last_mut() {
            Some(run) if run.scope == place.scope => run.payload += len,
            _ => runs.push(Run {
                scope: place.scope,
                payload: len,
            }),
        }
        span = next.get(span as usize).copied().unwrap_or(NONE);
    }
    let spans = first..super::scan::index(out.order.len());
    let block = super::scan::index(out.blocks.len().saturating_sub(1));
    let Some(bytes) = out.blocks.last_mut().map(|block| &mut block.bytes) else {
        return;
    };
    bytes.resize(bytes.len() + header, 0);
    let start = super::scan::index(bytes.len());
    let mut places = out
        .order
        .get(first as usize..)
        .unwrap_or_default()
        .iter()
        .filter_map(|i| scan.spans.get(*i as usize))
        .peekable();
    for resource in runs.chunk_by(|a, b| resource_of(scan, a) == resource_of(scan, b)) {
        write_resource(request, scan, resource, &mut places, bytes);
    }
    let end = super::scan::index(bytes.len());
    out.pieces.push(Piece {
        trace: draft.trace,
        partition,
        block,
        bytes: start..end,
        spans,
    });
}

fn resource_of(scan: &Scan, run: &Run) -> Option<u32> {
    scan.scopes
        .get(run.scope as usize)
        .map(|scope| scope.resource)
}

fn scope_len(scope: &Envelope, run: &Run) -> usize {
    scope.len + run.payload
}

fn write_resource<'a>(
    request: &[u8],
    scan: &Scan,
    runs: &[Run],
    places: &mut Peekable<impl Iterator<Item = &'a SpanPlace>>,
    out: &mut Vec<u8>,
) {
    let scopes = || {
        runs.iter()
            .filter_map(|run| Some((run, scan.scopes.get(run.scope as usize)?)))
    };
    let resource = runs
        .first()
        .and_then(|run| scan.resources.get(resource_of(scan, run)? as usize));
    let Some(resource) = resource else { return };
    let payload: usize = scopes()
        .map(|(run, scope)| field_len(scope_len(scope, run)))
        .sum();
    put_field_header(out, 1, resource.len + payload);
    scan.write_envelope(request, resource, out);
    for (run, scope) in scopes() {
        put_field_header(out, 2, scope_len(scope, run));
        scan.write_envelope(request, scope, out);
        let end = out.len() + run.payload;
        while out.len() < end
            && let Some(place) = places.next()
        {
            put_field_header(out, 2, (place.end - place.start) as usize);
            let mut end = place.end;
            while let Some(next) = places.next_if(|next| follows(place.scope, end, next)) {
                end = next.end;
            }
            let spans = request.get(place.start as usize..end as usize);
            out.extend_from_slice(spans.unwrap_or_default());
        }
    }
}

/// The span lies right behind `end` with just the tag and length between that we would write: the two can be copied
/// together. There is no room there for anything else, since no encoding is shorter.
fn follows(scope: u32, end: u32, span: &SpanPlace) -> bool {
    let length = (span.end - span.start) as usize;
    span.scope == scope && (span.end as usize).checked_sub(field_len(length)) == Some(end as usize)
}
