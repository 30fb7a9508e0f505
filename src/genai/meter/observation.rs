//! One decided trace, and one evaluation, as the meter sees them.

use crate::genai::TraceRecord;

/// What is known of a trace at its decision. Texts are empty where the trace does not tell.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// Its record.
    pub record: &'a TraceRecord,
    /// The provider of its first call.
    pub provider: &'a str,
    /// The model that answered it, else the one asked for.
    pub model: &'a str,
    /// `deployment.environment.name`.
    pub environment: &'a str,
    /// `service.name`.
    pub service: &'a str,
    /// What failed first.
    pub error_type: &'a str,
    /// Its id, when it is kept.
    pub kept: Option<[u8; 16]>,
    /// When it was decided: Unix time, ns.
    pub decided: u64,
}

impl Observation<'_> {
    /// A model was called, a tool ran, or something was judged.
    pub(super) fn is_about_models(&self) -> bool {
        let record = self.record;
        record.calls() > 0 || record.embeddings() > 0 || record.tools() > 0
    }
}

/// An answer was judged.
#[derive(Debug, Clone, Copy)]
pub struct ScoreObservation<'a> {
    /// What was judged.
    pub evaluation: &'a str,
    /// `deployment.environment.name`.
    pub environment: &'a str,
    /// `service.name`.
    pub service: &'a str,
    /// How well.
    pub value: f64,
}
