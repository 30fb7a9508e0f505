//! The spans of an entry as thinning sees them.

use crate::otlp::{WireError, raw_fields};
use bytes::Bytes;
use hashbrown::HashMap;

/// A span by its piece and its number there, in wire order.
pub(super) type At = (usize, usize);

/// One span.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) at: At,
    pub(super) id: &'a [u8],
    pub(super) parent: &'a [u8],
    pub(super) trace: &'a [u8],
    pub(super) name: &'a [u8],
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) failed: bool,
    /// Spans of the same resource and scope have the same number.
    pub(super) origin: usize,
}

impl Candidate<'_> {
    pub(super) fn is_root(&self) -> bool {
        self.parent.iter().all(|byte| *byte == 0)
    }

    pub(super) fn duration(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// All spans of the pieces.
pub(super) fn candidates(pieces: &[Bytes]) -> Result<Vec<Candidate<'_>>, WireError> {
    let mut out = Vec::new();
    let mut origins = HashMap::new();
    for (piece, bytes) in pieces.iter().enumerate() {
        let mut number = 0;
        for field in raw_fields(bytes) {
            let Some(resource_spans) = field?.message(1) else {
                continue;
            };
            let resource = around(resource_spans)?;
            for field in raw_fields(resource_spans) {
                let Some(scope_spans) = field?.message(2) else {
                    continue;
                };
                let next = origins.len();
                let origin = (resource.clone(), around(scope_spans)?);
                let origin = *origins.entry(origin).or_insert(next);
                for field in raw_fields(scope_spans) {
                    if let Some(span) = field?.message(2) {
                        out.push(candidate(span, (piece, number), origin)?);
                        number += 1;
                    }
                }
            }
        }
    }
    Ok(out)
}

/// What stands around the children of a resource or scope.
fn around(message: &[u8]) -> Result<Vec<u8>, WireError> {
    let mut out = Vec::new();
    for field in raw_fields(message) {
        let field = field?;
        if field.number != 2 {
            out.extend_from_slice(message.get(field.range).unwrap_or_default());
        }
    }
    Ok(out)
}

fn candidate(span: &[u8], at: At, origin: usize) -> Result<Candidate<'_>, WireError> {
    let mut out = Candidate {
        at,
        id: &[],
        parent: &[],
        trace: &[],
        name: &[],
        start: 0,
        end: 0,
        failed: false,
        origin,
    };
    // Numbers as in opentelemetry/proto/trace/v1/trace.proto.
    for field in raw_fields(span) {
        let field = field?;
        match field.number {
            1 => out.trace = field.value.bytes()?,
            2 => out.id = field.value.bytes()?,
            4 => out.parent = field.value.bytes()?,
            5 => out.name = field.value.bytes()?,
            7 => out.start = field.value.fixed64()?,
            8 => out.end = field.value.fixed64()?,
            15 => out.failed |= has_failed(field.value.bytes()?)?,
            _ => {}
        }
    }
    Ok(out)
}

fn has_failed(status: &[u8]) -> Result<bool, WireError> {
    const ERROR: u64 = 2;
    let mut code = 0;
    for field in raw_fields(status) {
        let field = field?;
        if field.number == 3 {
            code = field.value.varint()?;
        }
    }
    Ok(code == ERROR)
}
