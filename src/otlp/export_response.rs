//! `ExportTraceServiceResponse` as protobuf: what an accepted request is answered.

use super::answer::Accepted;
use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message;

/// Empty (no bytes at all) when everything was taken, else with `partial_success`.
#[must_use]
pub fn export_response(accepted: &Accepted) -> Bytes {
    if accepted.rejected == 0 && accepted.reason.is_empty() {
        return Bytes::new();
    }
    let partial_success = Some(ExportTracePartialSuccess {
        rejected_spans: i64::try_from(accepted.rejected).unwrap_or(i64::MAX),
        error_message: accepted.reason.clone(),
    });
    ExportTraceServiceResponse { partial_success }
        .encode_to_vec()
        .into()
}
