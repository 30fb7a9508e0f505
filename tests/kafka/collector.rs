//! The real Collector on the other side of a topic: a process on a config of its own, killed with the test.

use crate::support::ports;
use crate::support::sender::grpc;
use crate::support::sink::Sink;
use crate::support::wait::{until, until_async};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use tokio::net::TcpStream;

/// It names the program; `tests/compat/peer/build` makes it.
const VARIABLE: &str = "TAILWATER_COLLECTOR_KAFKA";

/// The OTLP receiver is there in each: a port that is open says that the pipeline runs.
const TEMPLATE: &str = "
receivers:
  otlp: {protocols: {grpc: {endpoint: '127.0.0.1:PORT'}}}
  MORE
exporters:
  EXPORTER
service:
  telemetry: {logs: {level: warn}, metrics: {level: none}}
  pipelines:
    traces: {receivers: [RECEIVERS], exporters: [NAME]}
";

#[derive(Debug)]
pub(crate) struct Collector {
    child: Child,
    directory: TempDir,
    grpc: u16,
}

impl Collector {
    /// OTLP in, a topic out: `settings` are those of the exporter, which answers a sender only when the brokers have answered it.
    pub(crate) async fn to_kafka(settings: &str) -> Self {
        let exporter = format!("kafka: {{{settings}, sending_queue: {{enabled: false}}}}");
        let config = TEMPLATE
            .replace("RECEIVERS", "otlp")
            .replace("MORE", "")
            .replace("EXPORTER", &exporter)
            .replace("NAME", "kafka");
        Self::start(&config).await
    }

    /// A topic in, everything to a sink: `settings` are those of the receiver.
    pub(crate) async fn from_kafka(settings: &str, sink: &Sink) -> Self {
        let exporter = format!(
            "otlp_grpc: {{endpoint: '127.0.0.1:{}', tls: {{insecure: true}}}}",
            sink.port()
        );
        let config = TEMPLATE
            .replace("RECEIVERS", "otlp, kafka")
            .replace("MORE", &format!("kafka: {{{settings}}}"))
            .replace("EXPORTER", &exporter)
            .replace("NAME", "otlp_grpc");
        Self::start(&config).await
    }

    async fn start(config: &str) -> Self {
        let (directory, grpc) = (TempDir::new().unwrap(), ports::free());
        let file = directory.path().join("config.yaml");
        fs::write(&file, config.replace("PORT", &grpc.to_string())).unwrap();
        let log = File::create(directory.path().join("collector.log")).unwrap();
        let child = Command::new(program())
            .arg("--config")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut collector = Self {
            child,
            directory,
            grpc,
        };
        until_async("the Collector runs", async || {
            let ended = collector.child.try_wait().unwrap();
            assert!(ended.is_none(), "the Collector has ended at start");
            TcpStream::connect(("127.0.0.1", grpc)).await.is_ok()
        })
        .await;
        collector
    }

    /// Every span must be taken.
    pub(crate) async fn send(&self, request: &ExportTraceServiceRequest) {
        let answer = grpc(self.grpc).export(request.clone()).await.unwrap();
        let partial = answer.into_inner().partial_success.unwrap_or_default();
        assert_eq!(partial.rejected_spans, 0, "{}", partial.error_message);
    }

    /// SIGTERM: it ends well.
    pub(crate) async fn stop(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let mut status = None;
        until("the Collector has ended", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        })
        .await;
        assert!(status.unwrap().success(), "{status:?}");
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = fs::read_to_string(self.directory.path().join("collector.log"));
            eprintln!("--- log of the Collector\n{}", log.unwrap_or_default());
        }
    }
}

fn program() -> PathBuf {
    let program = std::env::var_os(VARIABLE);
    program
        .unwrap_or_else(|| panic!("{VARIABLE} names no Collector: see `make compat`"))
        .into()
}
