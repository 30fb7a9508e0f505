//! From a request to a frame in the log: scan once, split, append, answer.
//!
//! Invariant: success is answered only when every sound span of the request is in the log in the set durability. Spans
//! that are broken inside are rejected alone (partial success); broken framing refuses the request.

use super::head_coin::{Losers, Tossed};
use super::packed::{MAX_PIECE, MAX_SPANS};
use super::scanned::{Scanned, ScannedPiece, services_of, size_of_piece};
use super::service_modes::ServiceModes;
use crate::log::{
    Append, AppendError, Block, FRAME_HEADER, FrameMeta, Inlet, PIECE_HEADER, ServiceId, Services,
    Signal, write_piece_header,
};
use crate::otlp::{
    Accepted, CollectorSize, Refusal, Scan, SourceId, Split, Submit, Submitted, scan_as, split,
};
use crate::rules::{Atoms, Observer, ObserverScratch};
use bytes::Bytes;
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    static SCRATCH: RefCell<ObserverScratch> = RefCell::default();
}

/// Version of the record format in frame headers.
const RECORD_VERSION: u8 = 1;

/// A request that is ready for the log.
struct Prepared {
    /// None when there is nothing to store.
    append: Option<Append<Scanned>>,
    accepted: Accepted,
    losers: Losers,
}

/// Takes requests for all pipelines of a process.
pub struct Intake {
    atoms: Arc<Atoms>,
    services: Arc<Services>,
    log: Arc<dyn Inlet<Scanned>>,
    partitions: u16,
    by_resource: bool,
    modes: Arc<ServiceModes>,
}

impl std::fmt::Debug for Intake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Intake")
            .field("partitions", &self.partitions)
            .finish_non_exhaustive()
    }
}

impl Intake {
    /// An intake in front of `log`.
    pub fn new(
        atoms: Arc<Atoms>,
        services: Arc<Services>,
        log: Arc<dyn Inlet<Scanned>>,
        partitions: u16,
    ) -> Self {
        Self {
            atoms,
            services,
            log,
            partitions,
            by_resource: false,
            modes: Arc::default(),
        }
    }

    /// Services that are not sampled at the tail.
    #[must_use]
    pub fn with_modes(mut self, modes: Arc<ServiceModes>) -> Self {
        self.modes = modes;
        self
    }

    /// What a trace has under each resource of a request is a piece of its own: see [`Self::split`].
    #[must_use]
    pub fn by_resource(mut self, apart: bool) -> Self {
        self.by_resource = apart;
        self
    }

    fn prepare(
        &self,
        (source, signal): (SourceId, Signal),
        request: &[u8],
    ) -> Result<Prepared, Refusal> {
        let (scanned, facts) = SCRATCH.with_borrow_mut(|scratch| {
            let mut observer = Observer::new(&self.atoms, scratch);
            let scanned = scan_as(signal, request, &mut observer);
            (scanned, observer.finish())
        });
        let mut scanned = scanned.map_err(|error| Refusal::Malformed(error.to_string()))?;
        let accepted = Accepted {
            spans: scanned.spans() as u64,
            rejected: scanned.rejected,
            reason: scanned
                .reason
                .map(|reason| reason.to_string())
                .unwrap_or_default(),
        };
        let services = services_of(request, &scanned, &self.services);
        // Log records meet the mode of their service when they are folded.
        let tossed = match signal {
            Signal::Traces => Tossed::of(&self.modes, &mut scanned, &services),
            Signal::Logs => None,
        };
        let mut prepared = Prepared {
            append: None,
            accepted,
            losers: Losers::default(),
        };
        if scanned.spans() == 0 {
            prepared.losers = tossed.map(|tossed| tossed.losers).unwrap_or_default();
            return Ok(prepared);
        }
        let mut split = self.split(request, &scanned, &services);
        if let Some(tossed) = tossed {
            tossed.among_all(&mut split.order);
            prepared.losers = tossed.losers;
        }
        let facts = facts.reordered(&split.order);
        let append = append_of((source, signal), split, &self.atoms, |pieces| Scanned {
            signal,
            pieces,
            facts,
        })?;
        prepared.append = Some(append);
        Ok(prepared)
    }

    /// Where all is as in the Collector, each resource is apart, in the order of the request: it asks policies and forwards
    /// late spans resource by resource. Else what one service has of a trace is one piece.
    fn split(&self, request: &[u8], scanned: &Scan, services: &[ServiceId]) -> Split {
        let apart = self.by_resource;
        let number = |(index, service): (usize, &ServiceId)| {
            if apart {
                crate::otlp::index(index)
            } else {
                service.0
            }
        };
        let numbers: Vec<u32> = services.iter().enumerate().map(number).collect();
        let mut split = split(request, scanned, &numbers, self.partitions, PIECE_HEADER);
        for block in split.blocks.iter_mut().filter(|_| apart) {
            let service = services.get(block.service as usize);
            block.service = service.map_or(0, |service| service.0);
        }
        split
    }

    async fn take(
        &self,
        source: SourceId,
        signal: Signal,
        request: Bytes,
    ) -> Result<Accepted, Refusal> {
        let Prepared {
            append,
            accepted,
            losers,
        } = self.prepare((source, signal), &request)?;
        drop(request);
        if let Some(append) = append {
            match self.log.append(append).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(refusal(&error)),
                Err(_) => return Err(Refusal::Stopping),
            }
        }
        losers.count(&self.services);
        Ok(accepted)
    }
}

impl Submit for Intake {
    fn submit(&self, source: SourceId, signal: Signal, request: Bytes) -> Submitted<'_> {
        Box::pin(self.take(source, signal, request))
    }
}

/// Makes the frame.
fn append_of(
    (source, signal): (SourceId, Signal),
    mut split: Split,
    atoms: &Atoms,
    attach: impl FnOnce(Vec<ScannedPiece>) -> Scanned,
) -> Result<Append<Scanned>, Refusal> {
    let (scanned, counts) = fill_headers(signal, &mut split, atoms)?;
    let meta = FrameMeta {
        source,
        signal,
        version: RECORD_VERSION,
        pieces: crate::otlp::index(scanned.len()),
        spans: crate::otlp::index(split.order.len()),
    };
    let attachment = attach(scanned);
    let blocks = split
        .blocks
        .into_iter()
        .zip(counts)
        .map(|(block, pieces)| Block {
            service: ServiceId(block.service),
            bytes: block.bytes.into(),
            pieces,
        });
    let attachment_bytes = attachment.bytes();
    Ok(Append {
        meta,
        blocks: blocks.collect(),
        attachment,
        attachment_bytes,
        reservation: None,
    })
}

/// Fills the header of each piece; the pieces as workers see them, and how many each block has.
fn fill_headers(
    signal: Signal,
    split: &mut Split,
    atoms: &Atoms,
) -> Result<(Vec<ScannedPiece>, Vec<u32>), Refusal> {
    let mut starts = Vec::with_capacity(split.blocks.len());
    let mut at = FRAME_HEADER;
    for block in &split.blocks {
        starts.push(at);
        at += block.bytes.len();
    }
    let mut scanned = Vec::with_capacity(split.pieces.len());
    let mut counts = vec![0; split.blocks.len()];
    for piece in &split.pieces {
        let block = piece.block as usize;
        let (Some(bytes), Some(start), Some(count)) = (
            split.blocks.get_mut(block),
            starts.get(block),
            counts.get_mut(block),
        ) else {
            continue;
        };
        *count += 1;
        let length = piece.bytes.end - piece.bytes.start;
        let spans = piece.spans.end - piece.spans.start;
        let offset = start + piece.bytes.start as usize;
        if length as usize > MAX_PIECE || offset > MAX_PIECE || spans as usize > MAX_SPANS {
            return Err(Refusal::TooLarge {
                bytes: at as u64,
                limit: MAX_PIECE as u64,
            });
        }
        let (head, body) = bytes.bytes.split_at_mut(piece.bytes.start as usize);
        let head_start = head.len() - PIECE_HEADER;
        write_piece_header(
            &mut head[head_start..],
            piece.partition,
            spans,
            &body[..length as usize],
        );
        let size = match signal {
            Signal::Traces => size_of_piece(&body[..length as usize], atoms),
            Signal::Logs => CollectorSize::default(),
        };
        scanned.push(ScannedPiece {
            size,
            trace: piece.trace,
            partition: piece.partition,
            service: ServiceId(bytes.service),
            offset: crate::otlp::index(offset),
            length,
            spans: piece.spans.clone(),
            taken: spans,
        });
    }
    Ok((scanned, counts))
}

fn refusal(error: &AppendError) -> Refusal {
    match error {
        AppendError::Full {
            reason,
            retry_after,
        } => Refusal::Full {
            reason,
            retry_after: *retry_after,
        },
        AppendError::TooLarge { bytes, limit } => Refusal::TooLarge {
            bytes: *bytes,
            limit: *limit,
        },
        AppendError::Stopping => Refusal::Stopping,
        AppendError::Io(_) => Refusal::Log(error.to_string()),
    }
}
