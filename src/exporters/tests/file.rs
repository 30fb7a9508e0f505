//! `file` on a real file system.

use super::spans::{assert_discreet, outgoing, request};
use crate::clock::{ManualClock, SECOND};
use crate::exporters::{
    ExporterKind, ExporterSettings, FileFormat, FileSettings, Outgoing, RotationSettings,
    SendError, Sent, Transport, build,
};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use tokio_util::task::TaskTracker;

fn try_open(file: &FileSettings) -> Result<Arc<dyn Transport>, String> {
    let settings = ExporterSettings::new("file", ExporterKind::File(file.clone()));
    // 2022-09-14T05:02:14.173Z
    let clock = Arc::new(ManualClock::at(1_663_131_734_173 * (SECOND / 1000)));
    build(&settings, &TaskTracker::new(), clock).map_err(|error| error.to_string())
}

fn open(file: &FileSettings) -> Arc<dyn Transport> {
    try_open(file).unwrap()
}

#[allow(clippy::disallowed_methods, reason = "the bytes are our own")]
fn requests(path: &Path, file: &FileSettings) -> Vec<ExportTraceServiceRequest> {
    let mut bytes = std::fs::read(path).unwrap();
    if file.zstd {
        bytes = zstd::decode_all(bytes.as_slice()).unwrap();
    }
    match file.format {
        FileFormat::Json => bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| serde_json::from_slice(line.strip_suffix(b"\n").unwrap()).unwrap())
            .collect(),
        FileFormat::Proto => {
            let mut rest = bytes.as_slice();
            let mut found = Vec::new();
            while let Some((prefix, tail)) = rest.split_first_chunk::<4>() {
                let (message, tail) = tail.split_at(u32::from_be_bytes(*prefix) as usize);
                found.push(ExportTraceServiceRequest::decode(message).unwrap());
                rest = tail;
            }
            assert!(rest.is_empty());
            found
        }
    }
}

#[tokio::test]
async fn every_format_reads_back() {
    for (format, zstd) in [
        (FileFormat::Json, false),
        (FileFormat::Proto, false),
        (FileFormat::Json, true),
        (FileFormat::Proto, true),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/deep/data.json");
        let file = FileSettings {
            format,
            zstd,
            create_directory: Some(0o750),
            ..FileSettings::new(&path)
        };
        let exporter = open(&file);
        for n in 1..4 {
            assert_eq!(exporter.send(outgoing(n)).await, Ok(Sent::All));
            assert_eq!(
                requests(&path, &file).pop().unwrap(),
                request(n),
                "there as soon as it counts as sent"
            );
        }
        exporter.flush().await.unwrap();
        exporter.close().await.unwrap();
        assert_eq!(requests(&path, &file), [request(1), request(2), request(3)]);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test]
async fn a_restart_appends_or_empties() {
    for (append, expected) in [
        (true, vec![request(1), request(2)]),
        (false, vec![request(2)]),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data.json");
        let file = FileSettings {
            append,
            ..FileSettings::new(&path)
        };
        open(&file).send(outgoing(1)).await.unwrap();
        open(&file).send(outgoing(2)).await.unwrap();
        assert_eq!(requests(&path, &file), expected);
    }
}

#[tokio::test]
async fn rotation_never_empties() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.json");
    let rotation = Some(RotationSettings::new());
    let file = FileSettings {
        append: false,
        rotation,
        ..FileSettings::new(&path)
    };
    open(&file).send(outgoing(1)).await.unwrap();
    open(&file).send(outgoing(2)).await.unwrap();
    assert_eq!(requests(&path, &file), [request(1), request(2)]);
}

#[tokio::test]
async fn a_torn_last_record_is_cut_off() {
    for format in [FileFormat::Json, FileFormat::Proto] {
        for torn in [1, 5, 50] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("data.json");
            let file = FileSettings {
                format,
                ..FileSettings::new(&path)
            };
            let exporter = open(&file);
            exporter.send(outgoing(1)).await.unwrap();
            exporter.send(outgoing(2)).await.unwrap();
            drop(exporter);
            let whole = std::fs::read(&path).unwrap();
            std::fs::write(&path, &whole[..whole.len() - torn]).unwrap();
            open(&file).send(outgoing(3)).await.unwrap();
            assert_eq!(requests(&path, &file), [request(1), request(3)]);
        }
    }
}

#[tokio::test]
async fn a_compressed_file_of_before_is_set_aside() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.zst");
    let file = FileSettings {
        zstd: true,
        ..FileSettings::new(&path)
    };
    open(&file).send(outgoing(1)).await.unwrap();
    open(&file).send(outgoing(2)).await.unwrap();
    assert_eq!(requests(&path, &file), [request(2)]);
    let before = directory.path().join("data-2022-09-14T05-02-14.173.zst");
    assert_eq!(requests(&before, &file), [request(1)]);
}

#[tokio::test]
async fn a_full_file_is_rotated_and_old_ones_go() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.bin");
    let rotation = Some(RotationSettings {
        max_megabytes: 1,
        max_backups: 2,
        ..RotationSettings::new()
    });
    let file = FileSettings {
        format: FileFormat::Proto,
        rotation,
        ..FileSettings::new(&path)
    };
    let exporter = open(&file);
    let large = |kib: usize, byte: u8| Outgoing {
        telemetry: crate::otlp::Telemetry::Traces,
        request: vec![byte; kib << 10].into(),
        spans: 1,
        traces: 1,
    };
    for byte in 0..5 {
        exporter.send(large(400, byte)).await.unwrap();
        exporter.send(large(400, byte)).await.unwrap();
    }
    exporter.send(large(3000, 9)).await.unwrap();
    let mut files: Vec<_> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let held: Vec<(usize, u8)> = files
        .iter()
        .map(|path| {
            let bytes = std::fs::read(path).unwrap();
            (bytes.len(), *bytes.last().unwrap())
        })
        .collect();
    let two = 2 * (4 + (400 << 10));
    assert_eq!(
        held,
        [(two, 3), (two, 4), (4 + (3000 << 10), 9)],
        "{files:?}"
    );
}

#[tokio::test]
async fn a_full_disk_is_worth_another_try() {
    let exporter = open(&FileSettings::new("/dev/full"));
    let outcome = exporter.send(outgoing(1)).await;
    assert_eq!(
        outcome,
        Err(SendError::retry("file: no space left on the disk"))
    );
    assert_eq!(
        open(&FileSettings::new("/dev/null"))
            .send(outgoing(1))
            .await,
        Ok(Sent::All)
    );
}

#[tokio::test]
async fn what_cannot_be_written_is_told_at_start() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.json");
    let file = FileSettings::new(&path);
    let first = open(&file);
    assert!(
        try_open(&file)
            .unwrap_err()
            .contains("path: another exporter or process")
    );
    drop(first);
    open(&file);
    let check = |path: &Path, expected: &str| {
        let error = try_open(&FileSettings::new(path)).unwrap_err();
        assert!(error.contains(expected), "{error}");
    };
    check(directory.path(), "cannot open");
    check(&directory.path().join("missing/data.json"), "No such file");
}

#[tokio::test]
async fn a_request_that_is_none_is_final_and_not_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.json");
    let exporter = open(&FileSettings::new(&path));
    let broken = Outgoing {
        telemetry: crate::otlp::Telemetry::Traces,
        request: "canary".into(),
        spans: 1,
        traces: 1,
    };
    let error = exporter.send(broken).await.unwrap_err();
    assert!(matches!(error, SendError::Permanent { .. }), "{error}");
    assert_discreet(&error);
    assert_eq!(std::fs::read(&path).unwrap(), b"");
}

#[tokio::test]
async fn text_that_is_not_utf8_is_written_with_its_marks() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.json");
    let file = FileSettings::new(&path);
    let mut bytes = request(1).encode_to_vec();
    let at = bytes
        .windows(4)
        .position(|window| window == b"chat")
        .unwrap();
    bytes[at] = 0xff;
    let out = Outgoing {
        telemetry: crate::otlp::Telemetry::Traces,
        request: bytes.into(),
        spans: 1,
        traces: 1,
    };
    assert_eq!(open(&file).send(out).await, Ok(Sent::All));
    assert_eq!(
        requests(&path, &file)[0].resource_spans[0].scope_spans[0].spans[0].name,
        "\u{fffd}hat"
    );
}
