//! Daemons beside Kafka: one that writes topics, one that reads them, one whose log is a topic.

use crate::support::daemon::Place;
use crate::support::recipe::ERRORS;
use crate::support::sink::Sink;
use std::fs;
use tempfile::TempDir;

/// A daemon's place, and the directory of its config.
pub(crate) struct Setting {
    pub(crate) place: Place,
    _config: TempDir,
}

const TEMPLATE: &str = "
receivers:
  otlp: {protocols: {grpc: {endpoint: '127.0.0.1:4317'}}}
RECEIVER
processors:
  tail_sampling:
    decision_wait: WAIT
    buffer: BUFFER
    memory: {total: 256MiB}
    policies: POLICIES
exporters:
  EXPORTER
service:
  telemetry: {metrics: {address: '127.0.0.1:8888'}}
  pipelines:
    traces: {receivers: [RECEIVERS], processors: [tail_sampling], exporters: [NAME]}
";

const RETRY: &str = "retry_on_failure: {initial_interval: 100ms, max_interval: 500ms}";

/// The log is on disk, below the daemon's place.
fn place(text: &str) -> Setting {
    let text = text.replace("BUFFER", "{disk: {max_size: 512MiB}}");
    place_with(&text, |place| {
        let log = place.path().join("log");
        let directory = "processors.tail_sampling.buffer.disk.directory";
        vec![format!("{directory}={}", log.display())]
    })
}

fn place_with(text: &str, more: impl FnOnce(&Place) -> Vec<String>) -> Setting {
    let config = TempDir::new().unwrap();
    let file = config.path().join("config.yaml");
    fs::write(&file, text).unwrap();
    let place = Place::with_file(&file, |place| {
        let mut set = more(place);
        set.push(format!(
            "receivers.otlp.protocols.grpc.endpoint=127.0.0.1:{}",
            place.grpc
        ));
        set.push(format!(
            "service.telemetry.metrics.address=127.0.0.1:{}",
            place.metrics
        ));
        set
    });
    Setting {
        place,
        _config: config,
    }
}

/// OTLP in, a topic out: `settings` are those of the exporter.
pub(crate) fn to_kafka(policies: &str, settings: &str) -> Setting {
    let exporter = format!("kafka: {{{settings}, {RETRY}}}");
    place(
        &TEMPLATE
            .replace("WAIT", "1s")
            .replace("RECEIVERS", "otlp")
            .replace("RECEIVER", "")
            .replace("POLICIES", policies)
            .replace("EXPORTER", &exporter)
            .replace("NAME", "kafka"),
    )
}

/// Topics in, everything to a sink: `settings` are those of the receiver.
pub(crate) fn from_kafka(settings: &str, sink: &Sink) -> Setting {
    let (name, exporter) = sink.exporter(0);
    place(
        &TEMPLATE
            .replace("WAIT", "1s")
            .replace("RECEIVERS", "otlp, kafka")
            .replace("RECEIVER", &format!("  kafka: {{{settings}}}"))
            .replace("POLICIES", crate::support::recipe::ALL)
            .replace("EXPORTER", &format!("{name}: {exporter}"))
            .replace("NAME", &name),
    )
}

/// One of a group whose log are the topics `member.spans` and `member.decisions`; failed traces go to a sink.
pub(crate) fn member(number: usize, brokers: &str, partitions: u16, sink: &Sink) -> Setting {
    let (name, exporter) = sink.exporter(0);
    let buffer = format!(
        "{{kafka: {{brokers: ['{brokers}'], topic: member.spans, group_id: member, partitions: {partitions}, \
         session_timeout: 6s, transactional_id: member-{number}, create: true, replication_factor: 1}}}}"
    );
    let text = TEMPLATE
        // Longer than the parts of a trace take to come.
        .replace("WAIT", "10s")
        .replace("BUFFER", &buffer)
        .replace("RECEIVERS", "otlp")
        .replace("RECEIVER", "")
        .replace("POLICIES", ERRORS)
        .replace("EXPORTER", &format!("{name}: {exporter}"))
        .replace("NAME", &name);
    place_with(&text, |_| Vec::new())
}
