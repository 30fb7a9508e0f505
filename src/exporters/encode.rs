//! An encoded request as OTLP JSON.

use crate::otlp::json;

/// The request is not an `ExportTraceServiceRequest`; no text of it is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the request cannot be written as JSON")]
pub(crate) struct NotJson;

/// One `ExportTraceServiceRequest` as one line of OTLP JSON, without the line's end.
pub(crate) fn to_json(request: &[u8]) -> Result<String, NotJson> {
    json::to_json(request).map_err(|_| NotJson)
}
