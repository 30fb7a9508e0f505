//! What can go wrong in the log, by who asked: an append, a read, an open.
//!
//! Whose fault and whether to retry: [`AppendError::TooLarge`] is the sender's and final; every other append error is
//! ours and the same bytes may be sent again. A read error concerns one frame or piece, never the log.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Why an append was not taken. Nothing of it is visible.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    /// No room now; the same bytes may be sent again.
    #[error("no room: {reason}")]
    Full {
        /// Which limit: the `reason` label of the metric.
        reason: &'static str,
        /// When to come back.
        retry_after: Duration,
    },
    /// Larger than one write can ever be; final.
    #[error("{bytes} bytes are over the log's limit of {limit} for one write")]
    TooLarge {
        /// Bytes that one write would need, headers included.
        bytes: u64,
        /// What fits a segment.
        limit: u64,
    },
    /// The log is stopping; may be sent again to the next process.
    #[error("the log is stopping")]
    Stopping,
    /// The store failed; may be sent again.
    #[error("the log could not be written: {0}")]
    Io(Arc<io::Error>),
}

impl From<io::Error> for AppendError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full {
                reason: "disk full",
                retry_after: RETRY_AFTER_DISK,
            },
            _ => Self::Io(Arc::new(error)),
        }
    }
}

/// A full disk or log is emptied by decisions and exports, which take seconds, not milliseconds.
pub(crate) const RETRY_AFTER_DISK: Duration = Duration::from_secs(5);

/// Why a frame or a piece could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Retention has taken it.
    #[error("position {position} is before the start {start} of the log")]
    Gone {
        /// What was asked for.
        position: u64,
        /// The oldest position there is; a reader goes on from here.
        start: u64,
    },
    /// Never written, or lost with the power.
    #[error("position {position} is beyond the end of the log")]
    Beyond {
        /// What was asked for.
        position: u64,
    },
    /// The bytes do not match their checksum, or could not be read at all. A reader goes on from `next`.
    #[error("damaged bytes at position {position}")]
    Damaged {
        /// Where the damage begins.
        position: u64,
        /// The next plausible frame, or the end of the segment.
        next: u64,
    },
    /// It was erased: nothing of it is left.
    #[error("the piece at position {position} was erased")]
    Erased {
        /// Its frame.
        position: u64,
    },
    /// The store failed for this place.
    #[error("reading position {position} failed: {source}")]
    Io {
        /// What was asked for.
        position: u64,
        /// What the store said.
        source: io::Error,
    },
}

/// Why a log, a decision log or a position could not be opened or kept.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Another process has the directory.
    #[error("{directory} is in use by another process{}", pid.map(|p| format!(" (pid {p})")).unwrap_or_default())]
    Locked {
        /// The directory.
        directory: PathBuf,
        /// Who has it, where the lock file says.
        pid: Option<u32>,
    },
    /// Written by a version that this one does not know.
    #[error("{what} has format version {found}, this build reads {known}")]
    Version {
        /// Which file.
        what: &'static str,
        /// What stands in it.
        found: u32,
        /// What this build reads.
        known: u32,
    },
    /// A file that nothing can be started without does not make sense.
    #[error("{what} is damaged")]
    Damaged {
        /// Which file.
        what: &'static str,
    },
    /// Settings that cannot work together.
    #[error("{0}")]
    Settings(String),
    /// The store failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// What the store said.
        source: io::Error,
    },
}

impl LogError {
    /// For `map_err`: names what was being done.
    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}
