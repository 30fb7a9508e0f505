//! OTLP as bytes: scan, split by partition, stitch.
//!
//! Knows no rule and no store. A request arrives as one `Bytes`; a span is a range in it and is never decoded into
//! objects on the way through. `opentelemetry-proto` and `prost` appear only at the JSON edge and in tests.

mod annotate;
mod answer;
mod budget;
mod collector_size;
mod export_response;
mod fields;
mod halves;
mod ids;
pub mod json;
mod log_record;
#[cfg(test)]
pub(crate) mod oracle;
mod partition;
mod raw_fields;
mod record;
mod sampled_state;
mod sampling;
mod scan;
mod scrub;
#[cfg(feature = "kafka")]
mod shorten;
mod signal;
mod singular;
mod span;
mod span_count;
mod splice;
mod split;
mod stitch;
mod telemetry;
mod trace_state;
mod value;
mod wire;

pub(crate) use annotate::{NoteValue, Notes, annotate};
pub use answer::{Accepted, PassOn, Refusal, SourceId, Submit, Submitted};
pub use budget::{IntakeBudget, Reservation};
pub(crate) use collector_size::{CollectorSize, collector_size};
pub use export_response::export_response;
pub(crate) use halves::halves;
pub use ids::TraceId;
pub use partition::partition_of;
pub(crate) use raw_fields::raw_fields;
pub(crate) use record::{RecordPiece, only_trace, record_pieces};
pub(crate) use sampled_state::SampledState;
pub use sampling::SamplingState;
pub(crate) use sampling::{
    ALWAYS, NEVER, randomness_of, share_of, threshold_of, threshold_with_precision,
};
pub use scan::{Scan, scan, scan_as};
pub(crate) use scan::{SpanPlace, index};
pub(crate) use scrub::scrub;
#[cfg(feature = "kafka")]
pub(crate) use shorten::shortened;
pub use signal::Signal;
pub(crate) use singular::singular_fields;
pub(crate) use span::Trusting;
pub use span::{Blind, STATUS_ERROR, SpanBytes, SpanError, SpanHead, Visitor};
pub(crate) use span_count::count_spans;
pub(crate) use splice::Splice;
pub use split::{Piece, PieceBlock, Split, split};
pub use stitch::{Stitch, StitchError};
pub use telemetry::Telemetry;
pub(crate) use trace_state::{member, sampling_state};
pub use value::AnyValue;
pub(crate) use value::{any_value, key_value};
pub use wire::WireError;
pub(crate) use wire::{Cursor, Value as WireValue, put_field_header};
