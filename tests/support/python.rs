//! Runs the scripts of `tests/python` with the real OpenTelemetry SDK and real instrumentations, and reads what they say they sent.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the script computed about one trace, by itself.
#[derive(Debug, Deserialize)]
pub(crate) struct SentTrace {
    pub(crate) trace_id: String,
    pub(crate) spans: usize,
    /// Why it is to be kept; empty: it is not.
    pub(crate) reasons: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Manifest {
    requests: usize,
    failed: usize,
    traces: Vec<SentTrace>,
}

/// Everything that one run sent.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) traces: Vec<SentTrace>,
    pub(crate) requests: Vec<ExportTraceServiceRequest>,
}

/// Runs the script to its end. `arguments` are its own; `out` is an empty directory.
pub(crate) async fn send(out: PathBuf, arguments: Vec<String>) -> Sent {
    tokio::task::spawn_blocking(move || send_blocking(&out, &arguments))
        .await
        .unwrap()
}

/// One call of a model.
#[derive(Debug, Deserialize)]
pub(crate) struct Call {
    pub(crate) trace_id: String,
    /// Why it is to be kept; empty: it is not.
    pub(crate) reasons: Vec<String>,
}

/// Calls a model under an instrumentation that sends to `endpoint`.
pub(crate) async fn call_models(
    out: PathBuf,
    library: &str,
    endpoint: &str,
    calls: usize,
) -> Vec<Call> {
    let number = calls.to_string();
    let arguments = [
        "--library",
        library,
        "--endpoint",
        endpoint,
        "--calls",
        &number,
    ];
    let arguments = arguments.map(str::to_owned);
    tokio::task::spawn_blocking(move || {
        run("call_models.py", &out, &arguments);
        serde_json::from_slice(&fs::read(out.join("calls.json")).unwrap()).unwrap()
    })
    .await
    .unwrap()
}

/// Runs a script to its end.
fn run(script: &str, out: &Path, arguments: &[String]) {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python");
    let mut command = Command::new(interpreter());
    command
        .arg(scripts.join(script))
        .arg("--out")
        .arg(out)
        .args(arguments)
        .stdin(Stdio::null());
    // The SDK reads dozens of variables; the caller's must not matter.
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OTEL_"))
    {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

fn send_blocking(out: &Path, arguments: &[String]) -> Sent {
    run("send_llm_traces.py", out, arguments);
    let manifest: Manifest =
        serde_json::from_slice(&fs::read(out.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest.failed, 0);
    let requests = (1..=manifest.requests).map(|number| {
        let bytes = fs::read(out.join(format!("request-{number:04}.pb"))).unwrap();
        ExportTraceServiceRequest::decode(bytes.as_slice()).unwrap()
    });
    Sent {
        requests: requests.collect(),
        traces: manifest.traces,
    }
}

fn interpreter() -> PathBuf {
    let venv = std::env::var_os("TAILWATER_VENV").map(PathBuf::from);
    let python = venv
        .map(|venv| venv.join("bin/python"))
        .filter(|python| python.exists());
    python.expect("TAILWATER_VENV names no virtual environment with the SDK: run `make test`, which makes one")
}
