//! Why a receiver cannot start or go on. Requests are answered with [`crate::otlp::Refusal`] instead.

use std::io;
use std::path::PathBuf;

/// A receiver that cannot run. None of these goes away by trying again with the same config and files.
#[derive(Debug, thiserror::Error)]
pub enum ReceiverError {
    /// The endpoint cannot be listened on: taken, not ours, or not an address.
    #[error("cannot listen on {endpoint}: {source}")]
    Bind {
        /// As it stands in the config.
        endpoint: String,
        /// What the system said.
        source: io::Error,
    },
    /// A certificate or key file cannot be read.
    #[error("cannot read {role} {}: {reason}", path.display())]
    TlsFile {
        /// `cert_file`, `key_file` or `client_ca_file`.
        role: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it; never its content.
        reason: String,
    },
    /// The files were read but do not make a server: key and certificate do not fit, an empty CA.
    #[error("TLS settings do not work together: {0}")]
    Tls(String),
    /// A Kafka client cannot be made.
    #[error("receivers.{id}: {key}: {reason}")]
    Kafka {
        /// The receiver's id.
        id: String,
        /// The key below it.
        key: &'static str,
        /// What is wrong; never a value.
        reason: String,
    },
}
