//! A request as workers see it: its pieces and the facts of their spans. Made at intake and carried beside the bytes, or
//! made anew from the bytes when they come from the store.

use super::front::{Seen, see};
use crate::log::{ServiceId, Services, pieces, record_piece};
use crate::otlp::{
    CollectorSize, RecordPiece, Scan, Signal, TraceId, Trusting, collector_size, only_trace,
    record_pieces, scan_as,
};
use crate::processors::Chain;
use crate::rules::{Atoms, Facts, ObserverScratch};
use bytes::Bytes;
use std::ops::Range;

/// `service.name` when a resource has none: what the OpenTelemetry SDK specification falls back to.
const UNKNOWN_SERVICE: &str = "unknown_service";

/// The spans of one trace in one frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScannedPiece {
    pub(crate) trace: TraceId,
    pub(crate) partition: u16,
    pub(crate) service: ServiceId,
    /// Distance of the piece from the frame's first byte.
    pub(crate) offset: u32,
    pub(crate) length: u32,
    /// Which of the facts are its spans; none when processors have left nothing of it.
    pub(crate) spans: Range<u32>,
    /// Its spans as they lie in the log.
    pub(crate) taken: u32,
    /// As the Collector counts; 0 where nobody asks for it.
    pub(crate) size: CollectorSize,
}

/// All pieces of one frame.
#[derive(Debug, Default, PartialEq)]
pub struct Scanned {
    /// What the pieces' spans are.
    pub(crate) signal: Signal,
    pub(crate) pieces: Vec<ScannedPiece>,
    pub(crate) facts: Facts,
}

impl Scanned {
    /// Bytes held.
    pub(crate) fn bytes(&self) -> u64 {
        (self.pieces.capacity() * size_of::<ScannedPiece>() + self.facts.bytes()) as u64
    }

    /// Scans a stored frame again, behind the processors of `front`. Pieces that are damaged are left out; how many.
    pub(crate) fn from_stored(
        (signal, body): (Signal, &Bytes),
        with: &mut Scanning<'_>,
    ) -> (Self, u64) {
        let (mut out, mut damaged) = (Self::default(), 0);
        out.signal = signal;
        for piece in pieces(body) {
            let taken = piece.is_ok_and(|piece| {
                let (offset, partition) = (piece.offset, piece.partition);
                out.take(&piece.body, (offset, partition), None, with)
            });
            damaged += u64::from(!taken);
        }
        (out, damaged)
    }

    /// Scans a record of a shared log, which holds spans. Also the pieces that others lie between: these are cut out when
    /// they are read. `None`: it is no OTLP.
    pub(crate) fn from_record(
        record: &Bytes,
        with: &mut Scanning<'_>,
    ) -> Option<(Self, Vec<RecordPiece>, u64)> {
        let (pieces, mut damaged) = record_pieces(record).ok()?;
        let mut out = Self::default();
        for piece in &pieces {
            let stretch = record.slice(piece.bytes.clone());
            let bytes = if piece.mixed {
                only_trace(&stretch, piece.trace)
            } else {
                Some(stretch)
            };
            let offset = record_piece(0, &piece.bytes).offset;
            let taken = bytes.is_some_and(|bytes| out.take(&bytes, (offset, 0), Some(piece), with));
            damaged += u64::from(!taken);
        }
        Some((out, pieces, damaged))
    }

    /// Takes one piece; `false` when it is damaged. `found` is where it lies in its record.
    fn take(
        &mut self,
        body: &Bytes,
        (offset, partition): (u32, u16),
        found: Option<&RecordPiece>,
        with: &mut Scanning<'_>,
    ) -> bool {
        let scanned = scan_as(self.signal, body, &mut Trusting).ok();
        let trace = scanned.as_ref().and_then(|scan| scan.traces().next());
        let seen = see((self.signal, body), with.front, with.atoms, with.scratch);
        let (Some(scanned), Some(trace), Some(Seen { facts, size })) = (scanned, trace, seen)
        else {
            return false;
        };
        let service = services_of(body, &scanned, with.services).first().copied();
        let first = self.facts.len();
        self.facts.append(&facts);
        let length = found.map_or(body.len(), |piece| piece.bytes.len());
        self.pieces.push(ScannedPiece {
            trace,
            partition,
            service: service.unwrap_or(ServiceId(0)),
            offset,
            length: u32::try_from(length).unwrap_or(u32::MAX),
            spans: first..self.facts.len(),
            taken: crate::otlp::index(scanned.spans()),
            size,
        });
        true
    }
}

/// What a worker needs to scan what comes from the store.
pub(crate) struct Scanning<'a> {
    pub(crate) front: &'a Chain,
    pub(crate) atoms: &'a Atoms,
    pub(crate) services: &'a Services,
    pub(crate) scratch: &'a mut ObserverScratch,
}

/// A piece's size as the Collector counts it, where a rule asks for it. A piece is sound: the scan has read it.
pub(crate) fn size_of_piece(piece: &[u8], atoms: &Atoms) -> CollectorSize {
    let Some(schema_urls) = atoms.sizes() else {
        return CollectorSize::default();
    };
    collector_size(piece, schema_urls).unwrap_or_default()
}

/// The service of each resource of a scan.
pub(crate) fn services_of(request: &[u8], scan: &Scan, services: &Services) -> Vec<ServiceId> {
    scan.service_names(request)
        .map(|name| match name {
            Some(name) => services.intern(&String::from_utf8_lossy(name)),
            None => services.intern(UNKNOWN_SERVICE),
        })
        .collect()
}
