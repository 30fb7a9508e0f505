//! Which receivers feed a pipeline, by signal.

use crate::log::{FrameMeta, Signal};
use crate::otlp::SourceId;

/// The receivers of one pipeline.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Their spans are its own.
    pub traces: Vec<SourceId>,
    /// Their log records are.
    pub logs: Vec<SourceId>,
}

impl Sources {
    /// A frame is this pipeline's own.
    pub(crate) fn feed(&self, meta: &FrameMeta) -> bool {
        let sources = match meta.signal {
            Signal::Traces => &self.traces,
            Signal::Logs => &self.logs,
        };
        sources.contains(&meta.source)
    }
}
