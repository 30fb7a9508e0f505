//! Where a load is cut that is too large, or that the far side refuses for good: between traces, and within a large one.
//!
//! Spans that are there twice leave once, also where the two would lie in different parts: before a trace is cut for the
//! first time it is put together whole, as a request is.

use super::gather::{Known, LoadedTrace, stitch};
use crate::otlp::{Signal, halves};

/// A single trace that was refused is cut only above this: a smaller one is refused for another reason than its size.
/// The smallest limit on a message that is usual is gRPC's 4 MiB; some gateways take 1 MiB.
pub(super) const REFUSED_FOR_SIZE: u64 = 256 << 10;

/// Payload of traces.
pub(super) fn size(traces: &[LoadedTrace]) -> u64 {
    traces
        .iter()
        .flat_map(|trace| &trace.pieces)
        .map(|(piece, _)| piece.len() as u64)
        .sum()
}

/// Both halves; `None` when there is nothing to cut: one span, or one trace of no more than `above` bytes.
pub(super) fn halve(traces: &[LoadedTrace], above: u64) -> Option<[Vec<LoadedTrace>; 2]> {
    if let [trace] = traces {
        let [first, second] = if size(traces) > above {
            halve_trace(trace)?
        } else {
            return None;
        };
        return Some([vec![first], vec![second]]);
    }
    let (first, second) = traces
        .split_at_checked(traces.len() / 2)
        .filter(|(first, _)| !first.is_empty())?;
    Some([first.to_vec(), second.to_vec()])
}

fn halve_trace(trace: &LoadedTrace) -> Option<[LoadedTrace; 2]> {
    // Log records have no twins.
    if matches!(trace.signal, Signal::Traces) && !trace.twins {
        return halve_trace(&without_twins(trace));
    }
    let with = |pieces: &[_], known| LoadedTrace {
        trace: trace.trace,
        signal: trace.signal,
        pieces: pieces.to_vec(),
        twins: trace.twins,
        known,
    };
    // What is known is counted with the first part alone.
    if let [(piece, _)] = &trace.pieces[..] {
        let [first, second] = halves(trace.signal, piece)?;
        return Some([
            with(&[first], trace.known),
            with(&[second], Known::default()),
        ]);
    }
    let (first, second) = trace.pieces.split_at(trace.pieces.len() / 2);
    Some([with(first, trace.known), with(second, Known::default())])
}

/// The same spans, each once, in one piece.
fn without_twins(trace: &LoadedTrace) -> LoadedTrace {
    let whole = stitch(std::slice::from_ref(trace));
    LoadedTrace {
        trace: trace.trace,
        signal: trace.signal,
        pieces: vec![(whole.bytes, u32::try_from(whole.spans).unwrap_or(u32::MAX))],
        // No more of them are left to be looked for.
        twins: true,
        known: whole.known,
    }
}
