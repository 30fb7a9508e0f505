//! `tls` of a client (the Collector's `configtls`), for every way to a server: exporters, Kafka.
//!
//! Only what the config says; each client turns it into what its own TLS library wants, and refuses what that has not.

use crate::secret::Secret;
use std::path::PathBuf;

/// Lowest TLS version that is offered, or highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// TLS 1.2, the Collector's minimum.
    V1_2,
    /// TLS 1.3.
    V1_3,
}

/// Where a certificate or key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pem {
    /// `*_file`.
    File(PathBuf),
    /// `*_pem`.
    Inline(Secret),
}

/// `tls` of a client.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TlsClientSettings {
    /// No TLS at all (gRPC; for HTTP the scheme says it). As in the Collector it has no effect beside a CA.
    pub insecure: bool,
    /// TLS without checking who the server is.
    pub insecure_skip_verify: bool,
    /// `ca_file`, `ca_pem`; none: the roots of the system.
    pub ca: Option<Pem>,
    /// The roots of the system beside `ca`.
    pub include_system_ca_certs_pool: bool,
    /// `cert_file`, `cert_pem`: the client's own certificate.
    pub cert: Option<Pem>,
    /// `key_file`, `key_pem`.
    pub key: Option<Pem>,
    /// The name the server's certificate must have, in place of the endpoint's host.
    pub server_name_override: Option<String>,
    /// `min_version`.
    pub min_version: Option<TlsVersion>,
    /// `max_version`.
    pub max_version: Option<TlsVersion>,
}
