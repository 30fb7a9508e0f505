//! The whole daemon, measured: CPU-ns for each span, memory for each undecided trace. `make bench` prints the table that
//! `benches/README.md` quotes.
//!
//! The daemon runs on core 0, load and sink on core 1. CPU is the daemon's own (user and system), from `/proc/PID/stat`,
//! over a window that begins when the first decisions have fallen. Everything comes from one run on one machine; ratios
//! and bars are what counts, not the figures.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::needless_pass_by_value,
    reason = "a test or bench may fail where it stands"
)]

#[path = "../tests/support/load/mod.rs"]
mod load;
#[path = "support/process.rs"]
#[allow(unreachable_pub, reason = "a part of this program")]
mod process;
#[path = "support/stalled.rs"]
#[allow(unreachable_pub, reason = "a part of this program")]
mod stalled;

use load::{Load, Pace, Requests, Shape, Sink, frame};
use process::{Process, free_port, listening, measure, pin_to_core_1};
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tailwater::clock::{Clock, SystemClock};
use tailwater::otlp::{Accepted, IntakeBudget, Signal, SourceId, Submit, Submitted};
use tailwater::receivers::{Destination, OtlpGrpc, OtlpGrpcSettings, Ways};
use tokio::time::sleep;

/// Another build of the daemon to measure, for comparisons on a machine that is not quiet.
const PROGRAM: &str = "TAILWATER_BENCH_PROGRAM";
/// The load is paced: 225 MB/s, so that the undecided spans of `decision_wait` (5 s) are well below the log's size...
const RATE: u64 = 500_000;
/// ...and its ring of segments has been written once before the window begins.
const WARM: Duration = Duration::from_secs(14);
const LOG_SIZE: &str = "3GiB";
/// A log that is not written round once: every segment is new.
const COLD_LOG_SIZE: &str = "12GiB";

/// One row of the table.
struct Row {
    name: &'static str,
    shape: Shape,
    keywords: usize,
    /// CPU-ns that the row must not exceed; 0: none.
    bar: u64,
    log_size: &'static str,
    /// Spans a second.
    rate: u64,
}

fn shape(per_request: u32) -> Shape {
    Shape {
        per_request,
        ..Shape::default()
    }
}

fn rows() -> Vec<Row> {
    let row = |name, shape, keywords, bar| Row {
        name,
        shape,
        keywords,
        bar,
        log_size: LOG_SIZE,
        rate: RATE,
    };
    vec![
        row("64 spans a request", shape(64), 1000, 650),
        row("512", shape(512), 1000, 450),
        row("4096", shape(4096), 1000, 550),
        row(
            "64, backwards",
            Shape {
                backwards: true,
                ..shape(64)
            },
            1000,
            650,
        ),
        row(
            "512, backwards",
            Shape {
                backwards: true,
                ..shape(512)
            },
            1000,
            450,
        ),
        row(
            "4096, backwards",
            Shape {
                backwards: true,
                ..shape(4096)
            },
            1000,
            550,
        ),
        row("512, one keyword", shape(512), 1, 0),
        Row {
            log_size: COLD_LOG_SIZE,
            ..row("512, cold segments", shape(512), 1000, 0)
        },
        row(
            "512, each span a part",
            Shape {
                parts: 60,
                ..shape(512)
            },
            1000,
            650,
        ),
        // 1.7 KB a span: as many bytes a second as in the other rows.
        Row {
            rate: RATE / 4,
            ..row(
                "512, prompts of 16.8 KB",
                Shape {
                    prompt_bytes: 16_800,
                    ..shape(512)
                },
                1000,
                700,
            )
        },
    ]
}

/// Takes requests and throws them away: what the server parts alone cost.
struct Null;

impl Submit for Null {
    fn submit(&self, _: SourceId, _: Signal, request: bytes::Bytes) -> Submitted<'_> {
        drop(request);
        Box::pin(std::future::ready(Ok(Accepted::default())))
    }
}

fn keywords(n: usize) -> String {
    let one = |i: usize| format!("\"forbidden phrase number {i:04} in no prompt\"");
    (0..n).map(one).collect::<Vec<_>>().join(", ")
}

/// The policies of the side-by-side measurements that are there, and ours.
fn config(
    place: &Path,
    port: u16,
    sink: SocketAddr,
    wait: u64,
    row_keywords: usize,
    memory: &str,
    log_size: &str,
) -> String {
    let policies = include_str!("../tests/data/bench_policies.yaml");
    let rows = policies
        .lines()
        .filter(|line| line.starts_with("  "))
        .filter(|line| !line.contains("prompt_keyword") && !line.contains("ottl_condition"));
    let policies: String = rows.map(|line| format!("    {line}\n")).collect();
    format!(
        "receivers: {{otlp: {{protocols: {{grpc: {{endpoint: \"127.0.0.1:{port}\"}}}}}}}}\n\
         processors:\n  tail_sampling:\n    decision_wait: {wait}s\n    \
         buffer: {{disk: {{directory: \"{}\", max_size: {log_size}}}}}\n    memory: {{{memory}}}\n    policies:\n{policies}      \
         - {{name: keyword, type: prompt_keyword, prompt_keyword: {{keywords: [{}]}}}}\n\
         exporters: {{otlp: {{endpoint: \"http://{sink}\", compression: none}}}}\n\
         service:\n  telemetry: {{metrics: {{level: none}}, logs: {{level: warn}}}}\n  \
         pipelines: {{traces: {{receivers: [otlp], processors: [tail_sampling], exporters: [otlp]}}}}\n",
        place.display(),
        keywords(row_keywords),
    )
}

async fn daemon(
    place: &Path,
    sink: &Sink,
    wait: u64,
    keywords: usize,
    memory: &str,
    log_size: &str,
) -> (Process, SocketAddr) {
    let port = free_port();
    let file = place.join("config.yaml");
    let text = config(
        &place.join("buffer"),
        port,
        sink.address(),
        wait,
        keywords,
        memory,
        log_size,
    );
    std::fs::write(&file, text).expect("the config is written");
    let program = std::env::var_os(PROGRAM);
    let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_tailwater").into());
    let process = Process::start(
        Path::new(&program),
        &["--config", &file.display().to_string()],
        &[],
    );
    (process, listening(port).await)
}

async fn cpu_table(only: &str) {
    println!(
        "\n| load | CPU-ns a span | bar | spans/s | null sink | ratio |\n| --- | --- | --- | --- | --- | --- |"
    );
    for row in rows().into_iter().filter(|row| row.name.contains(only)) {
        let place = tempfile::tempdir_in(scratch()).expect("a directory");
        let sink = Sink::start().await;
        let port = free_port();
        let null = Process::start(
            &std::env::current_exe().expect("this program"),
            &[],
            &[("TAILWATER_NULL_SINK", &port.to_string())],
        );
        let address = listening(port).await;
        let (null_cpu, _) = measure(
            &null,
            address,
            row.shape.clone(),
            row.rate,
            Duration::from_secs(1),
        )
        .await;
        drop(null);
        let (process, address) = daemon(
            place.path(),
            &sink,
            5,
            row.keywords,
            "total: 512MiB",
            row.log_size,
        )
        .await;
        let (cpu, rate) = measure(&process, address, row.shape, row.rate, WARM).await;
        let bar = if row.bar == 0 {
            "–".to_owned()
        } else {
            row.bar.to_string()
        };
        let ratio = cpu as f64 / null_cpu.max(1) as f64;
        println!(
            "| {} | {cpu} | {bar} | {rate} | {null_cpu} | {ratio:.1} |",
            row.name
        );
        let _ = std::io::stdout().flush();
    }
}

/// RSS after so many undecided traces.
async fn rss_at(process: &Process, address: SocketAddr, shape: &Shape, points: &[u64]) -> Vec<u64> {
    let pace = Pace {
        rate: 50_000_000,
        in_flight: 16,
        connections: 2,
    };
    let load = Load::start(address, shape.clone(), pace);
    let mut out = Vec::new();
    for point in points {
        while load.outcome.counts().acknowledged < point * u64::from(shape.spans) {
            sleep(Duration::from_millis(5)).await;
        }
        out.push(process.rss());
    }
    out
}

async fn memory_table(only: &str) {
    slopes(only).await;
    for (name, prompt_bytes) in [("1 KB", 1_000), ("100 KB", 100_000)] {
        let name = format!("prompts of {name}");
        if name.contains(only) {
            let (rss, held) = full(prompt_bytes).await;
            println!("With {name}: RSS {rss} MiB ({held} bodies held).");
            let _ = std::io::stdout().flush();
        }
    }
}

/// How RSS grows with undecided traces.
async fn slopes(only: &str) {
    let rows = [
        ("10 spans in 2 pieces", 10, 2),
        ("20 spans in 4 pieces", 20, 4),
        ("60 spans in 4 pieces", 60, 4),
        ("20 spans in 20 pieces", 20, 20),
    ];
    let mut slopes = Vec::new();
    for (name, spans, parts) in rows.into_iter().filter(|row| row.0.contains(only)) {
        if slopes.is_empty() {
            println!(
                "\n| undecided traces of | RSS at 50,000 | RSS at 200,000 | bytes a trace |\n| --- | --- | --- | --- |"
            );
        }
        let place = tempfile::tempdir_in(scratch()).expect("a directory");
        let sink = Sink::start().await;
        let memory = "total: 256MiB, per_service: {default: 256MiB}, skeletons: 160MiB";
        let (process, address) = daemon(place.path(), &sink, 3600, 1, memory, COLD_LOG_SIZE).await;
        let shape = Shape {
            spans,
            parts,
            prompt_bytes: 512,
            ..shape(512)
        };
        let rss = rss_at(&process, address, &shape, &[50_000, 200_000]).await;
        let slope = (rss[1].saturating_sub(rss[0])) as f64 / 150_000.0;
        println!(
            "| {name} | {} MiB | {} MiB | {slope:.0} |",
            rss[0] >> 20,
            rss[1] >> 20
        );
        slopes.push(slope);
    }
    if let [_, four, _, twenty] = slopes[..] {
        let each = (twenty - four) / 16.0;
        println!("\nEach further piece: {each:.1} bytes (bar 20).");
    }
}

/// RSS in MiB with the same spans undecided, the cache full and the intake budget full, and the bodies that fill it.
async fn full(prompt_bytes: usize) -> (u64, usize) {
    let place = tempfile::tempdir_in(scratch()).expect("a directory");
    let sink = Sink::start().await;
    let memory = "total: 256MiB, per_service: {default: 256MiB}, skeletons: 64MiB";
    let (process, address) = daemon(place.path(), &sink, 3600, 1, memory, COLD_LOG_SIZE).await;
    let shape = Shape {
        spans: 12,
        parts: 4,
        prompt_bytes,
        ..shape(24)
    };
    let begun = SystemClock::new().unix();
    // Bodies of about a MiB: some thirty fill the budget.
    let large = Shape {
        per_request: (1 << 20) / (300 + prompt_bytes as u32 / 12),
        ..shape.clone()
    };
    let one = Requests::new(Arc::new(large), begun)
        .next()
        .expect("requests do not end");
    rss_at(&process, address, &shape, &[60_000]).await;
    let stalled = stalled::Stalled::fill(address, &frame(&one.bytes)).await;
    (process.rss() >> 20, stalled.held)
}

/// Where logs are written: a real disk, not a tmpfs.
fn scratch() -> std::path::PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench");
    std::fs::create_dir_all(&place).expect("a directory below target");
    place
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    if let Ok(port) = std::env::var("TAILWATER_NULL_SINK") {
        return runtime.block_on(null_sink(&port));
    }
    // Load and sink on the other core; children choose their own.
    pin_to_core_1();
    let mut words = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let (only, row) = (words.next(), words.next());
    let row = row.as_deref().unwrap_or_default();
    if only.as_deref() != Some("memory") {
        runtime.block_on(cpu_table(row));
    }
    if only.as_deref() != Some("cpu") {
        runtime.block_on(memory_table(row));
    }
}

async fn null_sink(port: &str) {
    let listener = tailwater::receivers::bind(&format!("127.0.0.1:{port}"))
        .await
        .expect("the port");
    let destination = Destination {
        source: SourceId::of("null"),
        ways: Ways::traces(),
        submit: Arc::new(Null),
        budget: IntakeBudget::new(256 << 20),
        stats: Arc::default(),
    };
    let server = OtlpGrpc::new(OtlpGrpcSettings::default(), destination).expect("plain text");
    server
        .serve(listener, tokio_util::sync::CancellationToken::new())
        .await;
}
