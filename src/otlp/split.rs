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

/// The spans of one piece as a list through `Draft::next`.
struct Draft {
    trace: TraceId,
    service: u32,
    partition: u16,
    first: u32,
    last: u32,
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
    let mut drafts = group(scan, services, partitions);
    drafts
        .pieces
        .sort_by_key(|draft| (draft.service, draft.partition));
    let mut out = Split {
        order: Vec::with_capacity(scan.spans.len()),
        ..Split::default()
    };
    out.pieces.reserve_exact(drafts.pieces.len());
    let mut runs = Vec::new();
    for draft in &drafts.pieces {
        if out
            .blocks
            .last()
            .is_none_or(|block| block.service != draft.service)
        {
            let room = request.len() / 8 + header * drafts.pieces.len();
            let whole =
                out.blocks.is_empty() && services.iter().all(|service| *service == draft.service);
            let room = if whole { request.len() + room } else { room };
            out.blocks.push(PieceBlock {
                service: draft.service,
                bytes: Vec::with_capacity(room),
            });
        }
        lay_out(
            request,
            scan,
            &drafts.next,
            draft,
            header,
            &mut runs,
            &mut out,
        );
    }
    for block in &mut out.blocks {
        // The cache charges what a block really holds; a block with much slack would be charged for air.
        if block.bytes.capacity() > block.bytes.len() + block.bytes.len() / 8 {
            block.bytes.shrink_to_fit();
        }
    }
    out
}

/// Finds the piece of each span. Neighbours mostly share a trace, so the last piece is tried first.
fn group(scan: &Scan, services: &[u32], partitions: u16) -> Drafts {
    let hasher = FixedState::default();
    let mut table: HashTable<u32> = HashTable::new();
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
                let partition = partition_of(place.trace, partitions);
                let index = drafts.pieces.len();
                drafts.pieces.push(Draft {
                    trace: place.trace,
                    service,
                    partition,
                    first: NONE,
                    last: NONE,
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
        link(&mut drafts, last, span);
    }
    drafts
}

fn link(drafts: &mut Drafts, piece: usize, span: u32) {
    let Some(draft) = drafts.pieces.get_mut(piece) else {
        return;
    };
    if let Some(next) = drafts.next.get_mut(draft.last as usize) {
        *next = span;
    } else {
        draft.first = span;
    }
    draft.last = span;
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
    draft: &Draft,
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
        .filter_map(|i| scan.spans.get(*i as usize));
    for resource in runs.chunk_by(|a, b| resource_of(scan, a) == resource_of(scan, b)) {
        write_resource(request, scan, resource, &mut places, bytes);
    }
    let end = super::scan::index(bytes.len());
    out.pieces.push(Piece {
        trace: draft.trace,
        partition: draft.partition,
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
    places: &mut impl Iterator<Item = &'a SpanPlace>,
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
            let span = request
                .get(place.start as usize..place.end as usize)
                .unwrap_or_default();
            put_field_header(out, 2, span.len());
            out.extend_from_slice(span);
        }
    }
}
