//! Puts pieces back together under their own resources and scopes, for export.
//!
//! Spans of one resource (the same bytes) and scope leave under one envelope, whatever pieces they came in. Within one
//! decision entry a span that is there twice, identical in bytes, leaves once.

use super::TraceId;
use super::scan::{Envelope, Scan, scan_as};
use super::signal::Signal;
use super::span::Trusting;
use super::wire::{WireError, field_len, put_field_header};
use bytes::Bytes;
use hashbrown::{HashMap, HashSet};
use std::ops::Range;

/// Why a piece read back cannot be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StitchError {
    /// The bytes are no trace data any more.
    #[error("the piece is damaged: {0}")]
    Damaged(#[from] WireError),
    /// The bytes are sound, but not of this trace.
    #[error("the piece belongs to another trace")]
    OtherTrace,
}

/// Collects pieces and writes one `ExportTraceServiceRequest`.
#[derive(Debug, Default)]
pub struct Stitch {
    signal: Signal,
    pieces: Vec<(Bytes, Scan)>,
    spans: u64,
    duplicates: u64,
    bytes: usize,
    /// Spans of the entry in hand by their id...
    entry: HashMap<u64, Place>,
    /// ...and those whose id another span of the entry has, with other bytes.
    homonyms: Vec<(u64, Place)>,
    skipped: HashSet<(usize, usize)>,
    /// Spans that are there twice leave twice.
    twins: bool,
}

/// A span by its piece and its range there.
type Place = (usize, u32, u32);

/// One scope of the request: its envelope, the spans below it, and their size as fields.
struct ScopeOut {
    envelope: Vec<u8>,
    spans: Vec<Place>,
    payload: usize,
}

#[derive(Default)]
struct Scopes {
    list: Vec<ScopeOut>,
    by_bytes: HashMap<Vec<u8>, usize>,
}

impl Stitch {
    /// One piece with only some of its spans, counted in wire order; `None` when it is damaged.
    pub(super) fn of_spans(signal: Signal, piece: &Bytes, spans: &Range<usize>) -> Option<Self> {
        let scan = scan_as(signal, piece, &mut Trusting).ok()?;
        let skipped = (0..scan.spans.len())
            .filter(|number| !spans.contains(number))
            .map(|number| (0, number))
            .collect();
        let pieces = vec![(piece.clone(), scan)];
        Some(Self {
            signal,
            pieces,
            bytes: piece.len(),
            skipped,
            ..Self::default()
        })
    }

    /// One for pieces of this signal.
    #[must_use]
    pub fn of(signal: Signal) -> Self {
        Self {
            signal,
            ..Self::default()
        }
    }

    /// The next piece begins another entry: duplicates are looked for within one entry only, and with `twins` not at all.
    pub fn begin_entry(&mut self, twins: bool) {
        // Two log records that are the same were written twice.
        self.twins = twins || self.signal == Signal::Logs;
        self.entry.clear();
        self.homonyms.clear();
    }

    /// Adds one piece of `trace`; the number of its spans that will leave.
    ///
    /// # Errors
    /// When the bytes are damaged or of another trace. Nothing of the piece is added then.
    pub fn add(&mut self, trace: TraceId, piece: Bytes) -> Result<u64, StitchError> {
        let scan = scan_as(self.signal, &piece, &mut Trusting)?;
        if scan.traces().any(|id| id != trace) || scan.rejected > 0 {
            return Err(StitchError::OtherTrace);
        }
        let index = self.pieces.len();
        self.bytes += piece.len();
        self.pieces.push((piece, scan));
        Ok(self.count(index))
    }

    fn count(&mut self, index: usize) -> u64 {
        let Some((piece, scan)) = self.pieces.get(index) else {
            return 0;
        };
        if self.twins {
            self.spans += scan.spans.len() as u64;
            return scan.spans.len() as u64;
        }
        let mut added = 0;
        for (number, place) in scan.spans.iter().enumerate() {
            let own = (index, place.start, place.end);
            let first = *self.entry.entry(place.span).or_insert(own);
            if first == own {
                added += 1;
                continue;
            }
            let bytes = piece.get(place.start as usize..place.end as usize);
            let same = |(other, start, end): Place| {
                self.pieces
                    .get(other)
                    .and_then(|(piece, _)| piece.get(start as usize..end as usize))
                    == bytes
            };
            if same(first)
                || self
                    .homonyms
                    .iter()
                    .any(|(id, other)| *id == place.span && same(*other))
            {
                self.duplicates += 1;
                self.skipped.insert((index, number));
            } else {
                self.homonyms.push((place.span, own));
                added += 1;
            }
        }
        self.spans += added;
        added
    }

    /// Spans that will leave.
    #[must_use]
    pub fn spans(&self) -> u64 {
        self.spans
    }

    /// Identical spans that were left out.
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Bytes of the pieces added so far: about the size of the request.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes the request. Resources and scopes stand in the order in which they first came.
    #[must_use]
    pub fn finish(self) -> Bytes {
        let mut resources = Resources::default();
        for (index, (piece, scan)) in self.pieces.iter().enumerate() {
            let slots: Vec<_> = scan
                .scopes
                .iter()
                .map(|scope| resources.slot(piece, scan, scope))
                .collect();
            for (number, place) in scan.spans.iter().enumerate() {
                if (self.skipped.is_empty() || !self.skipped.contains(&(index, number)))
                    && let Some(Some((resource, scope))) = slots.get(place.scope as usize)
                {
                    resources.add(*resource, *scope, (index, place.start, place.end));
                }
            }
        }
        let mut out = Vec::with_capacity(self.bytes);
        for (envelope, scopes) in &resources.list {
            scopes.write(envelope, &self.pieces, &mut out);
        }
        out.into()
    }
}

#[derive(Default)]
struct Resources {
    list: Vec<(Vec<u8>, Scopes)>,
    by_bytes: HashMap<Vec<u8>, usize>,
}

impl Resources {
    /// Which resource and scope of the request a piece's scope is.
    fn slot(&mut self, piece: &[u8], scan: &Scan, scope: &Envelope) -> Option<(usize, usize)> {
        let resource = envelope_bytes(piece, scan, scan.resources.get(scope.resource as usize)?);
        let slot = *self
            .by_bytes
            .entry_ref(resource.as_slice())
            .or_insert_with(|| {
                self.list.push((resource.clone(), Scopes::default()));
                self.list.len() - 1
            });
        let (_, scopes) = self.list.get_mut(slot)?;
        Some((slot, scopes.slot(&envelope_bytes(piece, scan, scope))))
    }

    fn add(&mut self, resource: usize, scope: usize, span: Place) {
        let scopes = self
            .list
            .get_mut(resource)
            .map(|(_, scopes)| &mut scopes.list);
        if let Some(scope) = scopes.and_then(|scopes| scopes.get_mut(scope)) {
            scope.payload += field_len((span.2 - span.1) as usize);
            scope.spans.push(span);
        }
    }
}

fn envelope_bytes(piece: &[u8], scan: &Scan, envelope: &Envelope) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(envelope.len);
    scan.write_envelope(piece, envelope, &mut bytes);
    bytes
}

impl Scopes {
    fn slot(&mut self, envelope: &[u8]) -> usize {
        *self.by_bytes.entry_ref(envelope).or_insert_with(|| {
            self.list.push(ScopeOut {
                envelope: envelope.to_vec(),
                spans: Vec::new(),
                payload: 0,
            });
            self.list.len() - 1
        })
    }

    fn write(&self, resource: &[u8], pieces: &[(Bytes, Scan)], out: &mut Vec<u8>) {
        let filled = || self.list.iter().filter(|scope| !scope.spans.is_empty());
        if filled().next().is_none() {
            return;
        }
        let payload: usize = filled()
            .map(|scope| field_len(scope.envelope.len() + scope.payload))
            .sum();
        put_field_header(out, 1, resource.len() + payload);
        out.extend_from_slice(resource);
        for scope in filled() {
            put_field_header(out, 2, scope.envelope.len() + scope.payload);
            out.extend_from_slice(&scope.envelope);
            for (piece, start, end) in &scope.spans {
                let span = pieces
                    .get(*piece)
                    .and_then(|(bytes, _)| bytes.get(*start as usize..*end as usize));
                let span = span.unwrap_or_default();
                put_field_header(out, 2, span.len());
                out.extend_from_slice(span);
            }
        }
    }
}
