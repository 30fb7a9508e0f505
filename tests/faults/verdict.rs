//! What the sink got against what it should have.

use crate::load::{Kind, Outcome, Shape, Sink};

/// The differences.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Traces that are kept.
    pub(crate) kept: u64,
    /// Kept traces of which nothing came, the first few.
    pub(crate) missing: Vec<(u64, Kind)>,
    /// Kept traces that came in part, the first few.
    pub(crate) torn: Vec<(u64, Kind)>,
    /// Traces that should have been dropped, the first few.
    pub(crate) surplus: Vec<(u64, Kind)>,
    pub(crate) wrong: u64,
    /// Spans that came again.
    pub(crate) copies: u64,
    /// Of these, such of traces that the sender sent once.
    pub(crate) unexplained: u64,
}

/// Compares all `traces` of a run.
pub(crate) fn verdict(
    sink: &Sink,
    shape: &Shape,
    outcome: Option<&Outcome>,
    traces: u64,
) -> Verdict {
    let (mut out, got) = (Verdict::default(), sink.traces());
    let whole = if shape.spans >= 128 {
        u128::MAX
    } else {
        (1 << shape.spans) - 1
    };
    for trace in 0..traces {
        let came = got
            .get(&u128::from_be_bytes(shape.id(trace)))
            .copied()
            .unwrap_or_default();
        let keeps = shape.keeps(trace);
        out.kept += u64::from(keeps);
        out.copies += came.copies;
        if !outcome.is_some_and(|outcome| outcome.maybe_twice(trace)) {
            out.unexplained += came.copies;
        }
        let list = match (keeps, came.spans) {
            (true, 0) => &mut out.missing,
            (true, spans) if spans != whole => &mut out.torn,
            (false, spans) if spans != 0 => &mut out.surplus,
            _ => continue,
        };
        out.wrong += 1;
        if list.len() < 10 {
            list.push((trace, shape.kind(trace)));
        }
    }
    out
}

impl Verdict {
    /// Fails unless every kept trace came whole and nothing else came.
    pub(crate) fn assert_exact(&self) {
        assert_eq!(self.wrong, 0, "{self:?}");
        assert!(self.kept > 0, "{self:?}");
    }
}
