//! How the daemons of a test are set up.

use crate::support::daemon::Place;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use tempfile::TempDir;

/// What tests differ in.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Group, and topics `NAME.spans`, `NAME.decisions`.
    pub(crate) name: &'static str,
    /// As YAML: `127.0.0.1:9092', '127.0.0.1:9093`.
    pub(crate) brokers: String,
    pub(crate) partitions: u16,
    /// Seconds; brokers take 6 and more.
    pub(crate) session: u64,
    /// Other keys of `buffer.kafka`, with a comma before them; by default topics are made.
    pub(crate) kafka: String,
    /// Other keys of `tail_sampling`, one a line.
    pub(crate) sampling: String,
    /// `tail_sampling.memory`.
    pub(crate) memory: &'static str,
    /// The bench policies, or this list.
    pub(crate) policies: Option<&'static str>,
}

/// A trace's wait: longer than its parts take to come, short enough to be waited for.
pub(crate) const WAIT: u64 = 4;

impl Plan {
    pub(crate) fn new(name: &'static str, brokers: &str) -> Self {
        Self {
            name,
            brokers: brokers.to_owned(),
            partitions: 6,
            session: 6,
            kafka: ", create: true, replication_factor: 1".to_owned(),
            sampling: String::new(),
            memory: "total: 256MiB",
            policies: None,
        }
    }

    pub(crate) fn topic(&self) -> String {
        format!("{}.spans", self.name)
    }

    pub(crate) fn decisions(&self) -> String {
        format!("{}.decisions", self.name)
    }

    /// A daemon's place; `number` tells it from the others.
    pub(crate) fn place(&self, number: usize, sinks: &[SocketAddr]) -> (Place, TempDir) {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("config.yaml");
        fs::write(&file, self.render(number, sinks)).unwrap();
        let place = Place::with_file(&file, |place| {
            vec![
                format!(
                    "receivers.otlp.protocols.grpc.endpoint=127.0.0.1:{}",
                    place.grpc
                ),
                format!(
                    "service.telemetry.metrics.address=127.0.0.1:{}",
                    place.metrics
                ),
            ]
        });
        (place, directory)
    }

    fn render(&self, number: usize, sinks: &[SocketAddr]) -> String {
        let Self {
            name,
            brokers,
            partitions,
            session,
            kafka,
            sampling,
            memory,
            policies,
        } = self;
        let policies = policies.map_or_else(bench_policies, |list| format!(" {list}\n"));
        let sinks = sinks.iter().enumerate();
        let exporters: Vec<(String, String)> = sinks
            .map(|(number, sink)| {
                let settings = format!(
                    "{{endpoint: '{sink}', tls: {{insecure: true}}, compression: none, \
                     retry_on_failure: {{initial_interval: 100ms, max_interval: 1s}}}}"
                );
                (format!("otlp/{number}"), settings)
            })
            .collect();
        let ids: Vec<&str> = exporters.iter().map(|(id, _)| &**id).collect();
        let ids = ids.join(", ");
        let exporters: String = exporters
            .iter()
            .map(|(id, settings)| format!("  {id}: {settings}\n"))
            .collect();
        format!(
            "receivers:
  otlp: {{protocols: {{grpc: {{endpoint: '127.0.0.1:4317'}}}}}}
processors:
  tail_sampling:
    decision_wait: {WAIT}s
    late_window: 60s
    memory: {{{memory}}}
    buffer:
      kafka: {{brokers: ['{brokers}'], topic: {name}.spans, group_id: {name}, partitions: {partitions}, \
session_timeout: {session}s, transactional_id: {name}-{number}{kafka}}}
{sampling}    policies:{policies}exporters:
{exporters}service:
  telemetry: {{metrics: {{address: '127.0.0.1:8888'}}}}
  pipelines:
    traces: {{receivers: [otlp], processors: [tail_sampling], exporters: [{ids}]}}
"
        )
    }
}

/// Both lists of `tests/data/bench_policies.yaml`.
fn bench_policies() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/bench_policies.yaml");
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().filter(|line| line.starts_with(' '));
    let lines: String = lines.map(|line| format!("    {line}\n")).collect();
    format!("\n{lines}")
}
