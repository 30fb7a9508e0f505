//! The real daemon, as a process: started on a config in a directory of its own, stopped or killed, started again.

use super::ports;
use super::recipe::Recipe;
use super::sender::get;
use super::wait::{PATIENCE, until, until_async};
use http::StatusCode;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::Instant;

/// A directory, ports and a config. What the daemon leaves here is found by the next one.
#[derive(Debug)]
pub(crate) struct Place {
    directory: TempDir,
    pub(crate) grpc: u16,
    pub(crate) http: u16,
    pub(crate) metrics: u16,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

impl Place {
    pub(crate) fn new(recipe: &Recipe) -> Self {
        let mut place = Self::empty();
        let config = recipe.render(place.path(), place.grpc, place.http, place.metrics);
        let file = place.path().join("config.yaml");
        fs::write(&file, config).unwrap();
        place.arguments = vec!["--config".to_owned(), file.to_str().unwrap().to_owned()];
        place
    }

    /// A config file of the repository, with `--set` for what must differ in a test.
    pub(crate) fn with_file(file: &Path, set: impl FnOnce(&Self) -> Vec<String>) -> Self {
        let mut place = Self::empty();
        let mut arguments = vec!["--config".to_owned(), file.to_str().unwrap().to_owned()];
        for pair in set(&place) {
            arguments.extend(["--set".to_owned(), pair]);
        }
        place.arguments = arguments;
        place
    }

    fn empty() -> Self {
        let (grpc, http, metrics) = (ports::free(), ports::free(), ports::free());
        let directory = TempDir::new().unwrap();
        Self {
            directory,
            grpc,
            http,
            metrics,
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }

    pub(crate) fn environment(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// From the next start on with `--set`.
    pub(crate) fn set(mut self, pair: &str) -> Self {
        self.arguments.extend(["--set".to_owned(), pair.to_owned()]);
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The daemon's command line, for starts that are expected to fail.
    pub(crate) fn command(&self, subcommand: &str) -> Command {
        let mut command = Command::new(binary());
        command
            .arg(subcommand)
            .args(&self.arguments)
            .stdin(Stdio::null());
        command
            .env_remove("RUST_LOG")
            .env_remove("TAILWATER_BUFFER")
            .env_remove("TAILWATER_COMPAT");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The stopped daemon's log holds what it must: one decision for each trace, each of them proven.
    pub(crate) fn assert_log_is_sound(&self) {
        let (code, printed) = run_to_end(&mut self.command("check"));
        assert_eq!(code, Some(0), "{printed}");
    }

    /// Starts the daemon and waits until it is ready.
    pub(crate) async fn start(&self) -> Daemon {
        let mut daemon = self.start_without_waiting();
        daemon.ready().await;
        daemon
    }

    pub(crate) fn start_without_waiting(&self) -> Daemon {
        let log = self.path().join("daemon.log");
        let before = fs::metadata(&log).map_or(0, |data| data.len());
        let stderr: File = OpenOptions::new()
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
        Daemon {
            child,
            log,
            before,
            grpc: self.grpc,
            http: self.http,
            metrics: self.metrics,
        }
    }
}

/// `TAILWATER_BIN`, or the one that cargo has built for the tests.
fn binary() -> PathBuf {
    std::env::var_os("TAILWATER_BIN")
        .map_or_else(|| env!("CARGO_BIN_EXE_tailwater").into(), PathBuf::from)
}

/// A running daemon; killed when it goes out of scope, with its log printed when the test has failed.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    log: PathBuf,
    /// Bytes of the log that earlier starts have written.
    before: u64,
    pub(crate) grpc: u16,
    pub(crate) http: u16,
    pub(crate) metrics: u16,
}

impl Daemon {
    /// Its log lines since this start.
    pub(crate) fn log(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let from = usize::try_from(self.before).unwrap();
        String::from_utf8_lossy(log.get(from..).unwrap_or_default()).into_owned()
    }

    async fn ready(&mut self) {
        let port = self.metrics;
        until_async("the daemon is ready", async || {
            assert!(!self.has_ended(), "it has ended at start");
            matches!(get(port, "/readyz").await, Some((StatusCode::OK, _)))
        })
        .await;
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    #[allow(dead_code, reason = "for tests that watch memory")]
    /// Resident memory without files and shared memory, bytes.
    pub(crate) fn rss(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"));
        let kilobytes = line.unwrap().split_whitespace().next().unwrap();
        kilobytes.parse::<u64>().unwrap() << 10
    }

    /// SIGTERM; how it ended, and after how long.
    pub(crate) async fn terminate(&mut self) -> (ExitStatus, Duration) {
        let start = Instant::now();
        self.signal(Signal::TERM);
        (self.ended().await, start.elapsed())
    }

    /// Waits for its end.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        until("the daemon has ended", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        })
        .await;
        status.unwrap()
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!(
                "--- log of the daemon on port {}\n{}",
                self.grpc,
                self.log()
            );
        }
    }
}

/// What a command that must end by itself has printed, and its exit code.
pub(crate) fn run_to_end(command: &mut Command) -> (Option<i32>, String) {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || std::io::read_to_string(&mut stderr).unwrap());
    let (sender, ended) = std::sync::mpsc::channel();
    let pid = Pid::from_child(&child);
    let waiter = std::thread::spawn(move || {
        let status = child.wait().unwrap();
        let _ = sender.send(status);
    });
    let status = ended.recv_timeout(PATIENCE);
    if status.is_err() {
        kill_process(pid, Signal::KILL).unwrap();
    }
    waiter.join().unwrap();
    let printed = reader.join().unwrap();
    (status.expect("it did not end by itself").code(), printed)
}
