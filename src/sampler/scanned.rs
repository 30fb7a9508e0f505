//! A request as workers see it: its pieces and the facts of their spans. Made at intake and carried beside the bytes, or
//! made anew from the bytes when they come from the store.

use super::front::{Seen, see};
use crate::log::{ServiceId, Services, pieces};
use crate::otlp::{CollectorSize, Scan, TraceId, Trusting, collector_size, scan};
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
        body: &Bytes,
        front: &Chain,
        atoms: &Atoms,
        services: &Services,
        scratch: &mut ObserverScratch,
    ) -> (Self, u64) {
        let (mut out, mut damaged) = (Self::default(), 0);
        for piece in pieces(body) {
            let Ok(piece) = piece else {
                damaged += 1;
                continue;
            };
            let scanned = scan(&piece.body, &mut Trusting).ok();
            let trace = scanned.as_ref().and_then(|scan| scan.traces().next());
            let seen = see(&piece.body, front, atoms, scratch);
            let (Some(scanned), Some(trace), Some(Seen { facts, size })) = (scanned, trace, seen)
            else {
                damaged += 1;
                continue;
            };
            let service = services_of(&piece.body, &scanned, services)
                .first()
                .copied();
            let first = out.facts.len();
            out.facts.append(&facts);
            out.pieces.push(ScannedPiece {
                trace,
                partition: piece.partition,
                service: service.unwrap_or(ServiceId(0)),
                offset: piece.offset,
                length: u32::try_from(piece.body.len()).unwrap_or(u32::MAX),
                spans: first..out.facts.len(),
                taken: crate::otlp::index(scanned.spans()),
                size,
            });
        }
        (out, damaged)
    }
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
