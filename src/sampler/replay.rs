//! Tells when a worker reads again what a life before it had read, and when it is through.

/// The part of the log that is read again.
#[derive(Debug)]
pub(crate) struct Replay {
    /// Its end, until it is passed.
    end: Option<u64>,
    pipeline: String,
}

impl Replay {
    /// From `from` on; the log ends at `end`.
    pub(crate) fn begin(pipeline: &str, from: u64, end: u64) -> Self {
        let replay = Self {
            end: (from < end).then_some(end),
            pipeline: pipeline.to_owned(),
        };
        if replay.end.is_some() {
            tracing::info!(pipeline, bytes = end - from, "replay begins");
        }
        replay
    }

    /// Everything below `position` is read.
    pub(crate) fn passed(&mut self, position: u64) {
        if self.end.take_if(|end| *end <= position).is_some() {
            tracing::info!(pipeline = self.pipeline, "replay has ended");
        }
    }
}
