//! The `file` exporter: each request a line of OTLP JSON, or a protobuf message behind its length.
//!
//! A record is with the operating system before it counts as sent, and it is there whole or not at all. A full disk is
//! worth another try.

use super::encode;
use super::error::Problem;
use super::file_sink::FileSink;
use super::settings::{FileFormat, FileSettings};
use super::transport::{Flushing, Outgoing, SendError, Sending, Sent, Transport};
use crate::clock::SharedClock;
use parking_lot::Mutex;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use tokio_util::task::TaskTracker;

/// One file.
#[derive(Debug)]
pub(crate) struct FileExporter {
    sink: Arc<Mutex<FileSink>>,
    format: FileFormat,
    zstd: bool,
    tracker: TaskTracker,
    clock: SharedClock,
}

impl FileExporter {
    /// Opens the file; blocks for as long as the disk takes.
    pub(crate) fn new(
        settings: &FileSettings,
        tracker: &TaskTracker,
        clock: SharedClock,
    ) -> Result<Self, Problem> {
        let sink = FileSink::open(settings, clock.unix())?;
        Ok(Self {
            sink: Arc::new(Mutex::new(sink)),
            format: settings.format,
            zstd: settings.zstd,
            tracker: tracker.clone(),
            clock,
        })
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, SendError> + Send + 'static,
    ) -> Result<T, SendError> {
        let done = self.tracker.spawn_blocking(work).await;
        done.unwrap_or_else(|_| Err(SendError::retry("file: not written (stopping)")))
    }
}

impl Transport for FileExporter {
    fn send(&self, out: Outgoing) -> Sending<'_> {
        let (sink, format, zstd, clock) = (
            self.sink.clone(),
            self.format,
            self.zstd,
            self.clock.clone(),
        );
        Box::pin(self.blocking(move || {
            let record = record(&out, format, zstd)?;
            sink.lock()
                .write(&record, clock.unix())
                .map_err(|error| failed(&error))?;
            Ok(Sent::All)
        }))
    }

    fn flush(&self) -> Flushing<'_> {
        let sink = self.sink.clone();
        Box::pin(self.blocking(move || sink.lock().sync().map_err(|error| failed(&error))))
    }
}

/// The bytes of one request in the file. Compressed, each is a frame of its own: the file is a plain `.zst`.
fn record(out: &Outgoing, format: FileFormat, zstd: bool) -> Result<Vec<u8>, SendError> {
    let request = &out.request[..];
    let record = match format {
        FileFormat::Json => {
            let mut line = encode::to_json(out.telemetry, request)
                .map_err(|e| SendError::permanent(format!("file: {e}")))?;
            line.push('\n');
            line.into_bytes()
        }
        FileFormat::Proto => {
            let len = u32::try_from(request.len())
                .map_err(|_| SendError::permanent("file: over 4 GiB in one batch"))?;
            [len.to_be_bytes().as_slice(), request].concat()
        }
    };
    if !zstd {
        return Ok(record);
    }
    zstd::bulk::compress(&record, zstd::DEFAULT_COMPRESSION_LEVEL).map_err(|error| failed(&error))
}

/// Disks are emptied, mounted again, given back their permissions: every error of a file may pass.
fn failed(error: &io::Error) -> SendError {
    let phrase = match error.kind() {
        ErrorKind::StorageFull => "no space left on the disk",
        ErrorKind::QuotaExceeded => "the disk quota is used up",
        ErrorKind::FileTooLarge => "the file may not grow any further",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only",
        ErrorKind::PermissionDenied => "no permission to write",
        ErrorKind::BrokenPipe => "nobody reads from the pipe",
        _ => "the write failed",
    };
    SendError::retry(format!("file: {phrase}"))
}
