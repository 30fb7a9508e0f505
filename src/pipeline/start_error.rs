//! What keeps a pipeline from starting. All of it is for the operator to put right; nothing was taken yet.

use crate::exporters::ExporterError;
use crate::genai::TableError;
use crate::log::LogError;
use crate::processors::BuildError;
use crate::receivers::ReceiverError;
use crate::rules::CompileError;

/// Why [`super::Pipeline::start`] failed.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A policy does not compile.
    #[error(transparent)]
    Rules(#[from] CompileError),
    /// A processor cannot be built.
    #[error(transparent)]
    Processor(#[from] BuildError),
    /// The keywords of all policies together are too large for the matcher.
    #[error("the keywords are too large for the matcher: {0}")]
    Keywords(String),
    /// The table of LLM dialects cannot be read.
    #[error(transparent)]
    Dialects(#[from] TableError),
    /// The log directory cannot be used.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A receiver cannot listen or read its certificates.
    #[error(transparent)]
    Receiver(#[from] ReceiverError),
    /// The port of the metrics or health page cannot be had.
    #[error("{key}: {source}; set another address there")]
    Admin {
        /// Where it stands in the config.
        key: &'static str,
        /// What is wrong.
        source: ReceiverError,
    },
    /// An exporter cannot be built.
    #[error(transparent)]
    Exporter(#[from] ExporterError),
    /// The partition count of the config is not that of the log, and traces are undecided.
    #[error(
        "the log has {in_log} partitions and undecided traces, the config says {in_config}: \
         start it with {in_log}, stop the senders, wait until tailwater_undecided_traces is 0, stop it, change the count"
    )]
    Partitions {
        /// As it stands in the log.
        in_log: u16,
        /// As the config says.
        in_config: u16,
    },
    /// The topics of the log in Kafka.
    #[cfg(feature = "kafka")]
    #[error(transparent)]
    Topics(#[from] crate::kafka::TopicError),
    /// A log in memory ends with its daemon.
    #[error("the buffer is in memory: it holds nothing when the daemon is stopped")]
    NothingToErase,
    /// No thread, no runtime.
    #[error("the operating system refuses a thread: {0}")]
    Thread(#[from] std::io::Error),
}
