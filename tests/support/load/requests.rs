//! The stream of requests of a run: parts of many traces, interleaved.
//!
//! Step `s` brings part 0 of trace `s`, part 1 of trace `s - lag` and so on, so that a trace is whole `lag x (parts - 1)`
//! steps after it began. After [`Requests::finish`] no trace begins, and those that began are completed.

use super::shape::{KEPT, Kind, Shape};
use super::template::{Part, VARIANTS, put_varint, resource, scope};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;

/// One export request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) bytes: Bytes,
    /// Trace and part.
    pub(crate) parts: Vec<(u64, u32)>,
    pub(crate) spans: u32,
}

/// Makes requests.
#[derive(Debug)]
pub(crate) struct Requests {
    shape: Arc<Shape>,
    ordinary: Vec<Vec<Part>>,
    kept: HashMap<Kind, Vec<Part>>,
    resources: Vec<Vec<u8>>,
    scope: Vec<u8>,
    /// The next part of the stream.
    next: u64,
    /// Traces there will be, once it is known.
    traces: Option<u64>,
    begin: u64,
}

/// From one trace's begin to the next one's, ns.
const APART: u64 = 1_000_000;

impl Requests {
    /// Traces begin from `begin` on, ns since the epoch.
    pub(crate) fn new(shape: Arc<Shape>, begin: u64) -> Self {
        assert!(shape.spans.is_multiple_of(shape.parts) && shape.parts <= 64);
        let parts = |kind, variant| {
            (0..shape.parts)
                .map(|part| Part::new(&shape, kind, part, variant))
                .collect()
        };
        Self {
            ordinary: (0..VARIANTS)
                .map(|variant| parts(Kind::Ordinary, variant))
                .collect(),
            kept: KEPT
                .into_iter()
                .zip(0..)
                .map(|(kind, variant)| (kind, parts(kind, variant)))
                .collect(),
            resources: shape
                .services
                .iter()
                .map(|service| resource(&shape, service))
                .collect(),
            scope: scope(),
            next: 0,
            traces: None,
            begin,
            shape,
        }
    }

    /// Begins no more traces; `traces()` of them there are.
    pub(crate) fn finish(&mut self) {
        self.traces
            .get_or_insert(self.next.div_ceil(u64::from(self.shape.parts)));
    }

    /// Traces begun.
    pub(crate) fn traces(&self) -> u64 {
        self.traces
            .unwrap_or(self.next.div_ceil(u64::from(self.shape.parts)))
    }

    /// The next request; `None` when all traces are whole.
    pub(crate) fn next(&mut self) -> Option<Request> {
        let wanted = (self.shape.per_request / self.shape.spans_of_part()).max(1) as usize;
        let mut parts = Vec::with_capacity(wanted);
        while parts.len() < wanted {
            match self.step() {
                Some(Some(part)) => parts.push(part),
                Some(None) => {}
                None => break,
            }
        }
        (!parts.is_empty()).then(|| self.encode(parts))
    }

    /// The next part of the stream; `Some(None)` where a trace that never began would have one.
    fn step(&mut self) -> Option<Option<(u64, u32)>> {
        let count = u64::from(self.shape.parts);
        let (step, part) = (self.next / count, self.next % count);
        if self
            .traces
            .is_some_and(|traces| step >= traces + self.shape.lag * (count - 1))
        {
            return None;
        }
        self.next += 1;
        let trace = step.checked_sub(self.shape.lag * part);
        let trace = trace.filter(|trace| self.traces.is_none_or(|traces| *trace < traces));
        Some(trace.map(|trace| (trace, part as u32)))
    }

    fn part(&self, trace: u64, part: u32) -> &Part {
        let parts = match self.shape.kind(trace) {
            Kind::Ordinary => &self.ordinary[(trace % VARIANTS) as usize],
            kind => &self.kept[&kind],
        };
        &parts[part as usize]
    }

    fn encode(&self, mut parts: Vec<(u64, u32)>) -> Request {
        let services = self.resources.len() as u64;
        if services > 1 {
            parts.sort_by_key(|(trace, _)| trace % services);
        }
        let mut out = Vec::with_capacity(parts.len() * 512 * self.shape.spans_of_part() as usize);
        let mut spans = 0;
        for group in parts.chunk_by(|a, b| a.0 % services == b.0 % services) {
            let resource = &self.resources[(group[0].0 % services) as usize];
            let inner: usize = group
                .iter()
                .map(|(trace, part)| self.part(*trace, *part).bytes.len())
                .sum();
            let scope_spans = self.scope.len() + inner;
            let resource_spans = resource.len() + 1 + varint_len(scope_spans) + scope_spans;
            out.push(0x0a);
            put_varint(&mut out, resource_spans);
            if !self.shape.backwards {
                out.extend_from_slice(resource);
            }
            out.push(0x12);
            put_varint(&mut out, scope_spans);
            if !self.shape.backwards {
                out.extend_from_slice(&self.scope);
            }
            for (trace, number) in group {
                let part = self.part(*trace, *number);
                // A trace is as long as it is, however long its parts take to be sent.
                part.write(&mut out, &self.shape, *trace, self.begin + *trace * APART);
                spans += part.spans();
            }
            if self.shape.backwards {
                out.extend_from_slice(&self.scope);
                out.extend_from_slice(resource);
            }
        }
        Request {
            bytes: out.into(),
            parts,
            spans,
        }
    }
}

fn varint_len(value: usize) -> usize {
    (usize::BITS - value.leading_zeros()).max(1).div_ceil(7) as usize
}
