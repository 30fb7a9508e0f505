//! The real daemon as a process on a directory of its own: started, stopped, killed, started again, measured.

use crate::load::ports;
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

/// How long a test waits for what must come; machines of CI are slow and shared.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// How a daemon is set up.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// Seconds.
    pub(crate) decision_wait: u64,
    /// `buffer.disk` but for the directory.
    pub(crate) disk: String,
    /// `tail_sampling.memory`.
    pub(crate) memory: String,
    /// Other keys of `tail_sampling`, one a line.
    pub(crate) sampling: String,
    /// The bench policies, or one that keeps everything.
    pub(crate) keep_all: bool,
    /// Other keys of the gRPC receiver.
    pub(crate) receiver: String,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            decision_wait: 6,
            disk: "max_size: 4GiB".to_owned(),
            memory: "total: 512MiB".to_owned(),
            sampling: String::new(),
            keep_all: false,
            receiver: String::new(),
        }
    }
}

/// A directory, ports and a config: what a daemon leaves here is found by the next one.
#[derive(Debug)]
pub(crate) struct Place {
    directory: TempDir,
    config: PathBuf,
    pub(crate) buffer: PathBuf,
    pub(crate) grpc: SocketAddr,
    pub(crate) metrics: SocketAddr,
}

impl Place {
    /// With one exporter for each sink.
    pub(crate) fn new(setup: &Setup, sinks: &[SocketAddr]) -> Self {
        let directory = TempDir::new().unwrap();
        let buffer = directory.path().join("buffer");
        Self::with_buffer(setup, sinks, directory, buffer)
    }

    /// With the buffer somewhere else.
    pub(crate) fn with_buffer(
        setup: &Setup,
        sinks: &[SocketAddr],
        directory: TempDir,
        buffer: PathBuf,
    ) -> Self {
        let config = directory.path().join("config.yaml");
        let place = Self {
            directory,
            config,
            buffer,
            grpc: free(),
            metrics: free(),
        };
        fs::write(&place.config, place.render(setup, sinks)).unwrap();
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    fn render(&self, setup: &Setup, sinks: &[SocketAddr]) -> String {
        let Setup {
            decision_wait,
            disk,
            memory,
            sampling,
            receiver,
            ..
        } = setup;
        let (grpc, metrics, buffer) = (self.grpc, self.metrics, self.buffer.display());
        let policies = if setup.keep_all {
            "      - {name: all, type: always_sample}\n".to_owned()
        } else {
            bench_policies()
        };
        let mut exporters = String::new();
        let mut names = Vec::new();
        for (number, sink) in sinks.iter().enumerate() {
            names.push(format!("otlp/{number}"));
            writeln!(exporters, "  otlp/{number}:").unwrap();
            writeln!(exporters, "    endpoint: {sink}").unwrap();
            writeln!(exporters, "    tls: {{insecure: true}}").unwrap();
            writeln!(exporters, "    compression: none").unwrap();
            // A machine that stands still for a while is no reason to send anything twice.
            writeln!(exporters, "    timeout: 60s").unwrap();
            writeln!(
                exporters,
                "    retry_on_failure: {{initial_interval: 100ms, max_interval: 1s}}"
            )
            .unwrap();
        }
        format!(
            "receivers:\n  otlp: {{protocols: {{grpc: {{endpoint: '{grpc}'{receiver}}}}}}}\n\
             processors:\n  tail_sampling:\n    decision_wait: {decision_wait}s\n    \
             buffer: {{disk: {{directory: {buffer}, {disk}}}}}\n    memory: {{{memory}}}\n{sampling}    policies:\n\
             {policies}exporters:\n{exporters}service:\n  telemetry: {{metrics: {{address: '{metrics}'}}}}\n  \
             pipelines:\n    traces: {{receivers: [otlp], processors: [tail_sampling], exporters: [{}]}}\n",
            names.join(", ")
        )
    }

    pub(crate) fn command(&self, subcommand: &str) -> Command {
        let mut command = Command::new(binary());
        command
            .arg(subcommand)
            .arg("--config")
            .arg(&self.config)
            .stdin(Stdio::null());
        command
            .env_remove("RUST_LOG")
            .env_remove("TAILWATER_BUFFER")
            .env_remove("TAILWATER_COMPAT");
        command
    }

    /// Starts the daemon and waits until it takes requests.
    pub(crate) async fn start(&self) -> Daemon {
        let mut daemon = self.spawn();
        let end = Instant::now() + PATIENCE;
        while !daemon.is_ready() {
            assert!(
                !daemon.has_ended(),
                "the daemon has ended:\n{}",
                daemon.log()
            );
            assert!(
                Instant::now() < end,
                "the daemon does not get ready:\n{}",
                daemon.log()
            );
            sleep(Duration::from_millis(5)).await;
        }
        daemon
    }

    /// Starts the daemon.
    pub(crate) fn spawn(&self) -> Daemon {
        let log = self.path().join("daemon.log");
        let before = fs::metadata(&log).map_or(0, |data| data.len());
        let stderr = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        let child = self
            .command("run")
            .stdout(stderr.try_clone().unwrap())
            .stderr(stderr)
            .spawn()
            .unwrap();
        Daemon { child, log, before }
    }

    /// `tailwater check` over the log of a stopped daemon.
    pub(crate) fn check(&self) -> String {
        let out = self.command("check").output().unwrap();
        let printed = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.success(), "the checker found:\n{printed}");
        printed
    }
}

/// `TAILWATER_BIN`, or the one that cargo has built for the tests.
fn binary() -> PathBuf {
    std::env::var_os("TAILWATER_BIN")
        .map_or_else(|| env!("CARGO_BIN_EXE_tailwater").into(), PathBuf::from)
}

/// Both lists of `tests/data/bench_policies.yaml`.
fn bench_policies() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/bench_policies.yaml");
    let text = fs::read_to_string(file).unwrap();
    text.lines()
        .filter(|line| line.starts_with(' '))
        .map(|line| format!("    {line}\n"))
        .collect()
}

/// A running daemon; killed when it goes out of scope, its log printed when the test has failed.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    log: PathBuf,
    before: u64,
}

impl Daemon {
    /// Log lines of this start.
    pub(crate) fn log(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(log.get(self.before as usize..).unwrap_or_default()).into_owned()
    }

    /// It takes requests.
    pub(crate) fn is_ready(&self) -> bool {
        self.log().contains("ready")
    }

    /// A replay has begun and has not ended, as its log says: exact once it is dead.
    pub(crate) fn is_replaying(&self) -> bool {
        let log = self.log();
        log.contains("replay begins") && !log.contains("replay has ended")
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM; how it ended, and after how long.
    pub(crate) async fn terminate(&mut self) -> (ExitStatus, Duration) {
        let start = Instant::now();
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status, start.elapsed());
            }
            assert!(
                start.elapsed() < PATIENCE,
                "SIGTERM is not obeyed:\n{}",
                self.log()
            );
            sleep(Duration::from_millis(10)).await;
        }
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Resident memory without files and shared memory, bytes.
    pub(crate) fn rss(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("RssAnon:"))
            .unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
            << 10
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let from = log.len().saturating_sub(8 << 10);
            eprintln!(
                "--- end of the daemon's log\n{}",
                log.get(from..).unwrap_or(&log)
            );
        }
    }
}

/// A free port of this test program alone.
pub(crate) fn free() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, ports::free()))
}

/// Waits until `holds`, as long as is patient; whether it came to be.
pub(crate) async fn until(mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + PATIENCE;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() > end {
            return false;
        }
        sleep(Duration::from_millis(50)).await;
    }
}
