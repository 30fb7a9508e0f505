//! Programs under measurement: started on core 0, their CPU and memory read from `/proc`.

use super::load::{Load, Pace, Shape};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Clock ticks of `/proc/PID/stat`: fixed at 100 on Linux.
const TICK_NS: u64 = 10_000_000;
/// Over which CPU is counted.
const WINDOW: Duration = Duration::from_secs(10);

/// This program's threads run on core 1, beside the one that is measured.
pub fn pin_to_core_1() {
    let own = std::process::id().to_string();
    let pinned = Command::new("taskset")
        .args(["-cp", "1", &own])
        .stdout(Stdio::null())
        .status();
    assert!(
        pinned.is_ok_and(|status| status.success()),
        "taskset (util-linux) pins this process to core 1"
    );
}

/// A process that is killed when it is dropped.
pub struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    /// Starts a program on core 0.
    pub fn start(program: &Path, arguments: &[&str], envs: &[(&str, &str)]) -> Self {
        let mut command = Command::new("taskset");
        command
            .args(["-c", "0"])
            .arg(program)
            .args(arguments)
            .envs(envs.iter().copied());
        Self(
            command
                .stdout(Stdio::null())
                .stderr(Stdio::inherit())
                .spawn()
                .expect("taskset and the program start"),
        )
    }

    pub fn cpu_ns(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id()))
            .expect("the process lives");
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        let ticks = |at: usize| {
            fields
                .get(at)
                .and_then(|field| field.parse::<u64>().ok())
                .unwrap_or_default()
        };
        (ticks(11) + ticks(12)) * TICK_NS
    }

    pub fn rss(&self) -> u64 {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.0.id()))
            .expect("the process lives");
        statm
            .split_whitespace()
            .nth(1)
            .and_then(|pages| pages.parse::<u64>().ok())
            .unwrap_or_default()
            * 4096
    }
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port()
}

impl Process {
    /// As `kill -9` does, and waits for its end.
    #[allow(dead_code, reason = "not every bench kills")]
    pub fn kill(mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// The most it ever had, in bytes.
    #[allow(dead_code, reason = "not every bench asks")]
    pub fn peak_rss(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))
            .expect("the process lives");
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kib.unwrap_or_default() * 1024
    }
}

pub async fn listening(port: u16) -> SocketAddr {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    for _ in 0..500 {
        if tokio::net::TcpStream::connect(address).await.is_ok() {
            return address;
        }
        sleep(Duration::from_millis(20)).await;
    }
    panic!("nothing listens on {address}");
}

/// CPU-ns for each span and spans a second, over the window.
pub async fn measure(
    process: &Process,
    address: SocketAddr,
    shape: Shape,
    rate: u64,
    warm: Duration,
) -> (u64, u64) {
    let pace = Pace {
        rate,
        in_flight: 32,
        connections: 4,
    };
    let load = Load::start(address, shape, pace);
    sleep(warm).await;
    let (spans, cpu, start) = (
        load.outcome.counts().acknowledged,
        process.cpu_ns(),
        Instant::now(),
    );
    sleep(WINDOW).await;
    let (spans, cpu) = (
        load.outcome.counts().acknowledged - spans,
        process.cpu_ns() - cpu,
    );
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(
        load.outcome.counts().refused,
        0,
        "{:?}",
        load.outcome.refusals()
    );
    (cpu / spans.max(1), (spans as f64 / seconds) as u64)
}
