//! A real Prometheus that scrapes a daemon every second, asked over its API.

use super::panels::directory;
use super::support::ports;
use super::support::sender::get;
use super::support::wait::until_async;
use http::StatusCode;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The directory that `dashboards/peer/build` prints.
const PROGRAMS: &str = "TAILWATER_PROMETHEUS";

fn program(name: &str) -> PathBuf {
    let directory =
        std::env::var_os(PROGRAMS).expect("TAILWATER_PROMETHEUS, as `make dashboards` sets it");
    Path::new(&directory).join(name)
}

/// Runs promtool on files of `dashboards/`, and returns what it said.
pub(crate) fn promtool(arguments: &[&str]) -> String {
    let mut command = Command::new(program("promtool"));
    let output = command
        .args(arguments)
        .current_dir(directory())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "promtool {arguments:?}: {text}");
    text
}

/// Killed when it goes out of scope.
pub(crate) struct Prometheus {
    child: Child,
    port: u16,
    _directory: TempDir,
}

impl Prometheus {
    /// Scrapes the daemon whose metrics are on `target`, with the alerts of `dashboards/`.
    pub(crate) async fn start(target: u16) -> Self {
        let (directory, port) = (TempDir::new().unwrap(), ports::free());
        let alerts = super::panels::directory().join("alerts.yaml");
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [{}]\n\
             scrape_configs: [{{job_name: tailwater, static_configs: [{{targets: ['127.0.0.1:{target}']}}]}}]\n",
            alerts.display()
        );
        let file = directory.path().join("prometheus.yml");
        std::fs::write(&file, config).unwrap();
        let child = Command::new(program("prometheus"))
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                directory.path().join("data").display()
            ))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .args(["--enable-feature=exemplar-storage", "--log.level=error"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let started = Self {
            child,
            port,
            _directory: directory,
        };
        until_async("Prometheus is ready", async || {
            matches!(get(port, "/-/ready").await, Some((StatusCode::OK, _)))
        })
        .await;
        started
    }

    /// The result of an instant query; an error of the query is a failure.
    pub(crate) async fn query(&self, query: &str) -> Vec<Value> {
        let answer = self
            .ask(&format!("/api/v1/query?query={}", escaped(query)))
            .await;
        answer["result"].as_array().cloned().unwrap_or_default()
    }

    pub(crate) async fn ask(&self, path: &str) -> Value {
        let (status, body) = get(self.port, path).await.unwrap();
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        let answer: Value = serde_json::from_str(&body).unwrap();
        answer["data"].clone()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
