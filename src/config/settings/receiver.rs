//! One `otlp` receiver of the config.

use crate::receivers::{OtlpGrpcSettings, OtlpHttpSettings};
use crate::redaction::RedactSettings;

/// One `otlp` receiver: at least one of the two protocols.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceiverSettings {
    /// `otlp` or `otlp/name`.
    pub id: String,
    /// `protocols.grpc`.
    pub grpc: Option<OtlpGrpcSettings>,
    /// `protocols.http`.
    pub http: Option<OtlpHttpSettings>,
    /// `redact`: nothing unless the file sets it.
    pub redact: RedactSettings,
}
