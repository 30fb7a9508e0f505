//! What is wrong with a JSON request or with bytes that shall become JSON. Never quotes what it was given.

use crate::otlp::fields::BrokenWire;

/// Not an OTLP/JSON request: the sender's fault, and sending it again will not help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at line {line} column {column}")]
pub struct JsonError {
    /// Field names and kinds only.
    pub reason: String,
    /// From 1; 0 when nothing was read.
    pub line: usize,
    /// In bytes, from 1.
    pub column: usize,
}

/// Not an `ExportTraceServiceRequest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PrintError {
    /// Framing or a field's wire type is wrong.
    #[error(transparent)]
    Broken(#[from] BrokenWire),
    /// Messages are nested deeper than any protobuf library reads.
    #[error("protobuf messages nested too deeply")]
    TooDeep,
}
