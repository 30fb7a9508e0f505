//! Where a load is cut that is too large, or that the far side refuses for good: between traces, and within a large one.

use super::gather::LoadedTrace;
use crate::otlp::halves;

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
    let with = |pieces: &[_]| LoadedTrace {
        trace: trace.trace,
        signal: trace.signal,
        pieces: pieces.to_vec(),
        twins: trace.twins,
    };
    if let [(piece, _)] = &trace.pieces[..] {
        let [first, second] = halves(trace.signal, piece)?;
        return Some([with(&[first]), with(&[second])]);
    }
    let (first, second) = trace.pieces.split_at(trace.pieces.len() / 2);
    Some([with(first), with(second)])
}
