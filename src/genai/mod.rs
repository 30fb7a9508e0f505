//! What is known of LLM telemetry, as data, and what it says of a span and of a trace.
//!
//! `dialects.table` holds the knowledge. [`Spotter`] finds the spans of known libraries while a request is scanned and
//! reads each into a [`SpanRecord`]; [`TraceRecord`] folds those of a trace. Pure: no clock, no I/O. Knows no rule.

mod anomaly;
mod authority;
mod compile;
mod dialects;
mod draft;
mod family_key;
mod fold_text;
mod json_leaves;
mod key_index;
mod layer_sums;
mod lines;
mod longest;
pub(crate) mod meter;
mod model_name;
mod numbers;
mod packed;
mod pick;
mod record;
mod recorder;
mod reference;
mod rows;
mod rust_duration;
mod scores;
mod settle;
mod spotter;
#[cfg(test)]
mod tests;
mod texts;
mod trace_record;
mod trace_scores;
mod walk;
mod words;

pub use anomaly::{Anomalies, Anomaly};
pub use dialects::{DialectId, Dialects};
pub use lines::TableError;
pub use meter::{Meter, Observation, ScoreObservation};
pub use model_name::ModelName;
pub(crate) use packed::{put, take};
pub use record::{FinishSet, SpanRecord};
pub use recorder::Recorder;
pub use reference::reference;
pub use scores::{Score, Scores};
pub use spotter::Spotter;
pub use trace_record::{TraceRecord, hash_id};
pub use trace_scores::TraceScore;
pub use words::{Finish, Kind, Layer, Operation, Stand, TextField};
