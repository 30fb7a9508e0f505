//! Requests that real instrumentations have sent, recorded: see `tests/fixtures/README.md`.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use std::fs;
use std::path::{Path, PathBuf};

/// One recorded request.
#[derive(Debug)]
pub(crate) struct Fixture {
    /// As it was sent.
    pub(crate) bytes: Vec<u8>,
    pub(crate) message: ExportTraceServiceRequest,
}

/// The protobuf requests of `tests/fixtures/dialects`.
pub(crate) fn protobuf() -> Vec<Fixture> {
    let decode = |bytes: &[u8]| ExportTraceServiceRequest::decode(bytes).unwrap();
    read("pb")
        .into_iter()
        .map(|bytes| Fixture {
            message: decode(&bytes),
            bytes,
        })
        .collect()
}

/// The OTLP JSON requests, as a JavaScript exporter has sent them.
pub(crate) fn json() -> Vec<Fixture> {
    let decode = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap();
    read("json")
        .into_iter()
        .map(|bytes| Fixture {
            message: decode(&bytes),
            bytes,
        })
        .collect()
}

fn read(extension: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dialects");
    let mut files: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    files.sort();
    assert!(files.len() >= 2, "{} fixtures *.{extension}", files.len());
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}
