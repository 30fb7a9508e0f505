//! `debug` at each verbosity.

use super::spans::{assert_discreet, outgoing};
use crate::clock::{ManualClock, SECOND};
use crate::exporters::debug::DebugExporter;
use crate::exporters::{DebugSettings, Outgoing, SendError, Sent, Transport, Verbosity};
use parking_lot::Mutex;
use std::io::{self, Write};
use std::sync::Arc;
use tokio_util::task::TaskTracker;

#[derive(Clone, Default)]
struct Screen(Arc<Mutex<Vec<u8>>>);

impl Write for Screen {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.lock().write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Gone;

impl Write for Gone {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn exporter(settings: &DebugSettings, output: impl Write + Send + 'static) -> DebugExporter {
    // 2022-09-14T05:02:14.173Z
    let clock = Arc::new(ManualClock::at(1_663_131_734_173 * (SECOND / 1000)));
    DebugExporter::new(
        "debug/\"x\"",
        settings,
        Box::new(output),
        &TaskTracker::new(),
        clock,
    )
}

async fn printed(verbosity: Verbosity, out: Outgoing) -> String {
    let screen = Screen::default();
    let settings = DebugSettings {
        verbosity,
        ..DebugSettings::new()
    };
    assert_eq!(
        exporter(&settings, screen.clone()).send(out).await,
        Ok(Sent::All)
    );
    String::from_utf8(screen.0.lock().clone()).unwrap()
}

#[tokio::test]
async fn basic_counts() {
    insta::assert_snapshot!(printed(Verbosity::Basic, outgoing(2)).await);
}

#[tokio::test]
async fn normal_is_a_line_a_span() {
    insta::assert_snapshot!(printed(Verbosity::Normal, outgoing(2)).await);
}

#[tokio::test]
async fn detailed_is_everything() {
    insta::assert_snapshot!(printed(Verbosity::Detailed, outgoing(1)).await);
}

#[tokio::test]
async fn what_is_no_request_is_said_to_be_none() {
    let broken = Outgoing {
        telemetry: crate::otlp::Telemetry::Traces,
        request: "\u{0}canary".into(),
        spans: 1,
        traces: 1,
    };
    let text = printed(Verbosity::Detailed, broken).await;
    assert!(
        text.ends_with("(the request cannot be decoded)\n"),
        "{text}"
    );
    assert_discreet(&text);
}

#[tokio::test]
async fn a_console_that_is_gone_does_not_hold_the_log() {
    let outcome = exporter(&DebugSettings::new(), Gone)
        .send(outgoing(1))
        .await;
    assert_eq!(
        outcome,
        Err(SendError::permanent("debug: the output cannot be written"))
    );
}

#[tokio::test]
async fn what_is_sampled_out_counts_as_sent() {
    let screen = Screen::default();
    let settings = DebugSettings {
        sampling_initial: 1,
        sampling_thereafter: 0,
        ..DebugSettings::new()
    };
    let exporter = exporter(&settings, screen.clone());
    for _ in 0..5 {
        assert_eq!(exporter.send(outgoing(1)).await, Ok(Sent::All));
    }
    assert_eq!(
        screen
            .0
            .lock()
            .iter()
            .filter(|byte| **byte == b'\n')
            .count(),
        1
    );
}
