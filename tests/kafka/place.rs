//! Daemons beside Kafka: one that writes topics, one that reads them.

use crate::support::daemon::Place;
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
    decision_wait: 1s
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

fn place(text: &str) -> Setting {
    let config = TempDir::new().unwrap();
    let file = config.path().join("config.yaml");
    fs::write(&file, text).unwrap();
    let place = Place::with_file(&file, |place| {
        let log = place.path().join("log");
        vec![
            format!(
                "receivers.otlp.protocols.grpc.endpoint=127.0.0.1:{}",
                place.grpc
            ),
            format!(
                "service.telemetry.metrics.address=127.0.0.1:{}",
                place.metrics
            ),
            format!(
                "processors.tail_sampling.buffer.disk.directory={}",
                log.display()
            ),
            "processors.tail_sampling.buffer.disk.max_size=512MiB".to_owned(),
        ]
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
            .replace("RECEIVERS", "otlp, kafka")
            .replace("RECEIVER", &format!("  kafka: {{{settings}}}"))
            .replace("POLICIES", crate::support::recipe::ALL)
            .replace("EXPORTER", &format!("{name}: {exporter}"))
            .replace("NAME", &name),
    )
}
