//! An encoded request as OTLP JSON.

use crate::otlp::{Telemetry, json};

/// The request is none of its signal; no text of it is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the request cannot be written as JSON")]
pub(crate) struct NotJson;

/// One request of a signal as one line of OTLP JSON, without the line's end. Metrics cannot be.
pub(crate) fn to_json(telemetry: Telemetry, request: &[u8]) -> Result<String, NotJson> {
    let signal = telemetry.signal().ok_or(NotJson)?;
    json::to_json_as(signal, request).map_err(|_| NotJson)
}
