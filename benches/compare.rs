//! Tailwater beside the Collector's `tail_sampling`: one machine, one load, one YAML. `make compare` builds the Collector
//! (Go) and prints the tables that `benches/README.md` quotes.
//!
//! Both run on core 0, load and sink on core 1. Policies are all ten of `tests/data/bench_policies.yaml`. Tailwater writes
//! every span to its disk buffer before it answers; the Collector holds them in memory.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test or bench may fail where it stands"
)]

#[path = "../tests/support/load/mod.rs"]
mod load;
#[path = "support/process.rs"]
#[allow(unreachable_pub, reason = "a part of this program")]
mod process;

use load::{Kind, Load, Pace, Shape, Sink};
use process::{Process, free_port, listening, measure, pin_to_core_1};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::sleep;

/// Where the Collector's program is.
const COLLECTOR: &str = "TAILWATER_COLLECTOR";
/// So that decisions fall in the window, and the Collector's undecided spans have reached their number.
const WARM: Duration = Duration::from_secs(10);
const WAIT: u64 = 5;
/// Of the Collector's figures, at most these parts.
const CPU_BAR: f64 = 15.0;
const MEMORY_BAR: f64 = 200.0;
/// 8 MiB over 80,000 traces.
const NOISE: f64 = 100.0;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Peer {
    Collector,
    Tailwater,
}

/// A program and what it needs to be started again in the same place.
struct Site {
    peer: Peer,
    place: tempfile::TempDir,
    port: u16,
}

impl Site {
    fn new(peer: Peer, sink: SocketAddr, wait: u64) -> Self {
        let place = tempfile::tempdir_in(scratch()).expect("a directory");
        let port = free_port();
        let text = config(port, sink, wait);
        std::fs::write(place.path().join("config.yaml"), text).expect("the config is written");
        Self { peer, place, port }
    }

    async fn start(&self) -> (Process, SocketAddr) {
        let file = self.place.path().join("config.yaml").display().to_string();
        let buffer = format!("disk:{}", self.place.path().join("buffer").display());
        let mut arguments = vec!["--config", file.as_str()];
        let program = match self.peer {
            Peer::Collector => PathBuf::from(std::env::var_os(COLLECTOR).expect(COLLECTOR)),
            Peer::Tailwater => {
                arguments.extend(["--set", "processors.tail_sampling.memory.total=512MiB"]);
                env!("CARGO_BIN_EXE_tailwater").into()
            }
        };
        let envs = [("TAILWATER_BUFFER", buffer.as_str()), ("GOMAXPROCS", "1")];
        let process = Process::start(&program, &arguments, &envs);
        (process, listening(self.port).await)
    }
}

/// One file for both.
fn config(port: u16, sink: SocketAddr, wait: u64) -> String {
    let policies = include_str!("../tests/data/bench_policies.yaml");
    let theirs = policies.lines().take_while(|line| *line != "ours:");
    let policies: String = theirs
        .filter(|line| line.starts_with("  "))
        .map(|line| format!("    {line}\n"))
        .collect();
    format!(
        "receivers: {{otlp: {{protocols: {{grpc: {{endpoint: \"127.0.0.1:{port}\", max_recv_msg_size_mib: 64}}}}}}}}\n\
         processors:\n  tail_sampling:\n    decision_wait: {wait}s\n    num_traces: 10_000_000\n    policies:\n{policies}\
         exporters: {{otlp: {{endpoint: \"{sink}\", compression: none, tls: {{insecure: true}}}}}}\n\
         service:\n  telemetry: {{metrics: {{level: none}}, logs: {{level: error}}}}\n  \
         pipelines: {{traces: {{receivers: [otlp], processors: [tail_sampling], exporters: [otlp]}}}}\n",
    )
}

fn shape(per_request: u32, prompt_bytes: usize) -> Shape {
    Shape {
        per_request,
        prompt_bytes,
        ..Shape::default()
    }
}

/// CPU-ns for each span and the most memory, in bytes.
async fn cost(peer: Peer, shape: Shape, rate: u64) -> (u64, u64) {
    let sink = Sink::start().await;
    let site = Site::new(peer, sink.address(), WAIT);
    let (process, address) = site.start().await;
    let (cpu, _) = measure(&process, address, shape, rate, WARM).await;
    (cpu, process.peak_rss())
}

async fn cpu_table() {
    println!(
        "\n| spans a request, prompts | Collector, ns a span | Tailwater | ratio (bar {CPU_BAR}) | Collector, peak MiB | Tailwater |\n\
         | --- | --- | --- | --- | --- | --- |"
    );
    // What the Collector can take on one core, with room: bytes a second are about the same in all rows.
    for (prompt, rate) in [(2_048, 30_000), (20_480, 12_000)] {
        for per_request in [64, 512, 4096] {
            let shape = || shape(per_request, prompt);
            let (theirs, their_peak) = cost(Peer::Collector, shape(), rate).await;
            let (ours, our_peak) = cost(Peer::Tailwater, shape(), rate).await;
            println!(
                "| {per_request}, {} KB | {theirs} | {ours} | {:.1} | {} | {} |",
                prompt / 1024,
                theirs as f64 / ours.max(1) as f64,
                their_peak >> 20,
                our_peak >> 20
            );
            let _ = std::io::stdout().flush();
        }
    }
}

/// Bytes for each undecided trace: the slope of RSS between two numbers of them.
async fn slope(peer: Peer, shape: &Shape, points: [u64; 2], rate: u64) -> f64 {
    let sink = Sink::start().await;
    let site = Site::new(peer, sink.address(), 3600);
    let (process, address) = site.start().await;
    let pace = Pace {
        rate,
        in_flight: 16,
        connections: 2,
    };
    let load = Load::start(address, shape.clone(), pace);
    let mut rss = Vec::new();
    for point in points {
        while load.outcome.counts().acknowledged < point * u64::from(shape.spans) {
            sleep(Duration::from_millis(5)).await;
        }
        rss.push(process.rss());
    }
    (rss[1].saturating_sub(rss[0])) as f64 / (points[1] - points[0]) as f64
}

async fn memory_table() {
    println!(
        "\n| undecided traces of 60 spans, prompts | Collector, bytes a trace | Tailwater | ratio (bar {MEMORY_BAR}) |\n\
         | --- | --- | --- | --- |"
    );
    for prompt in [2_048, 20_480] {
        let shape = shape(512, prompt);
        let theirs = slope(Peer::Collector, &shape, [1_000, 4_000], 30_000).await;
        let ours = slope(Peer::Tailwater, &shape, [20_000, 100_000], 400_000).await;
        // RSS moves by some MiB with what is in flight: below this a slope is noise.
        let (sign, shown) = if ours < NOISE {
            ("<", NOISE)
        } else {
            ("", ours)
        };
        println!(
            "| {} KB | {theirs:.0} | {sign} {shown:.0} | {:.0} |",
            prompt / 1024,
            theirs / shown
        );
    }
}

/// Traces that had to be kept and were acknowledged whole, and how many of them came out after a `kill -9`.
async fn killed(peer: Peer) -> (usize, usize) {
    let sink = Sink::start().await;
    let site = Site::new(peer, sink.address(), 2 * WAIT);
    let (process, address) = site.start().await;
    let pace = Pace {
        rate: 30_000,
        ..Pace::default()
    };
    let load = Load::start(address, shape(512, 2_048), pace);
    sleep(Duration::from_secs(WAIT)).await;
    let (shape, _, traces) = load.finish().await;
    process.kill();
    let (_process, _) = site.start().await;
    sleep(Duration::from_secs(4 * WAIT)).await;
    // A keyword is found by a policy of ours, which this file does not have.
    let theirs = |trace: &u64| shape.kind(*trace) != Kind::Keyword && shape.keeps(*trace);
    let wanted: Vec<u64> = (0..traces).filter(theirs).collect();
    let whole = wanted.iter().filter(|trace| {
        let got = sink.got(shape.id(**trace));
        got.is_some_and(|got| got.spans.count_ones() == shape.spans)
    });
    (wanted.len(), whole.count())
}

async fn kill_table() {
    println!(
        "\n| kill -9 with all spans acknowledged | traces to keep | came out whole | lost |\n| --- | --- | --- | --- |"
    );
    for (peer, name) in [
        (Peer::Collector, "Collector"),
        (Peer::Tailwater, "Tailwater"),
    ] {
        let (wanted, whole) = killed(peer).await;
        println!("| {name} | {wanted} | {whole} | {} |", wanted - whole);
    }
}

/// Where logs are written: a real disk, not a tmpfs.
fn scratch() -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compare");
    std::fs::create_dir_all(&place).expect("a directory below target");
    place
}

fn main() {
    if std::env::var_os(COLLECTOR).is_none() {
        println!("{COLLECTOR} is not set: `make compare` builds the Collector and sets it");
        return;
    }
    pin_to_core_1();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let only = std::env::args()
        .skip(1)
        .find(|word| !word.starts_with('-'))
        .unwrap_or_default();
    if only.is_empty() || only == "cpu" {
        runtime.block_on(cpu_table());
    }
    if only.is_empty() || only == "memory" {
        runtime.block_on(memory_table());
    }
    if only.is_empty() || only == "kill" {
        runtime.block_on(kill_table());
    }
}
