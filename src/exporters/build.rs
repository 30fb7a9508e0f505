//! An exporter's settings as a transport.
//!
//! All that can fail at start fails here and says why: a bad endpoint, a certificate that cannot be read, a file that
//! cannot be written. A server that does not answer is no failure: it may come.

use super::debug::{DebugExporter, Output};
use super::error::{ExporterError, Problem};
use super::file::FileExporter;
#[cfg(feature = "kafka")]
use super::kafka::KafkaExporter;
use super::otlp_grpc::OtlpGrpc;
use super::otlp_http::OtlpHttp;
use super::settings::{DebugOutput, ExporterKind, ExporterSettings};
use super::transport::Transport;
use crate::clock::SharedClock;
use std::sync::Arc;
use tokio_util::task::TaskTracker;

/// Builds the transport of one exporter. Blocking work runs on `tracker`. Must be called within a tokio runtime.
///
/// # Errors
/// What the user has to put right, with the key it stands under.
pub fn build(
    settings: &ExporterSettings,
    tracker: &TaskTracker,
    clock: SharedClock,
) -> Result<Arc<dyn Transport>, ExporterError> {
    let of = |problem: Problem| problem.of(&settings.id);
    Ok(match &settings.kind {
        ExporterKind::OtlpGrpc(grpc) => {
            Arc::new(OtlpGrpc::new(grpc, settings.timeout).map_err(of)?)
        }
        ExporterKind::OtlpHttp(http) => {
            Arc::new(OtlpHttp::new(http, settings.timeout, tracker, clock).map_err(of)?)
        }
        #[cfg(feature = "kafka")]
        ExporterKind::Kafka(kafka) => {
            Arc::new(KafkaExporter::new(&settings.id, kafka, settings.timeout, clock).map_err(of)?)
        }
        #[cfg(not(feature = "kafka"))]
        ExporterKind::Kafka(_) => {
            return Err(of(Problem::new("kafka", crate::kafka::NOT_BUILT)));
        }
        ExporterKind::File(file) => Arc::new(FileExporter::new(file, tracker, clock).map_err(of)?),
        ExporterKind::Debug(debug) => {
            let output: Output = match debug.output {
                DebugOutput::Stdout => Box::new(std::io::stdout()),
                DebugOutput::Stderr => Box::new(std::io::stderr()),
            };
            Arc::new(DebugExporter::new(
                &settings.id,
                debug,
                output,
                tracker,
                clock,
            ))
        }
    })
}
