//! One receiver of the config.

use crate::receivers::{KafkaReceiverSettings, OtlpGrpcSettings, OtlpHttpSettings};
use crate::redaction::RedactSettings;

/// One receiver: `otlp` with at least one of its two protocols, or `kafka`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceiverSettings {
    /// `otlp` or `otlp/name`, `kafka` or `kafka/name`.
    pub id: String,
    /// `protocols.grpc`.
    pub grpc: Option<OtlpGrpcSettings>,
    /// `protocols.http`.
    pub http: Option<OtlpHttpSettings>,
    /// `redact`: nothing unless the file sets it.
    pub redact: RedactSettings,
    /// The whole block of a `kafka` receiver.
    pub kafka: Option<KafkaReceiverSettings>,
}
