//! The config of a test's daemon, from the few things that tests differ in.

use super::sink::Sink;
use std::fmt::Write;
use std::path::Path;

/// Failed traces are kept.
pub(crate) const ERRORS: &str =
    "[{name: errors, type: status_code, status_code: {status_codes: [ERROR]}}]";
/// Every trace is kept.
pub(crate) const ALL: &str = "[{name: all, type: always_sample}]";

/// For `Place::set`: another `decision_wait`, in seconds. What must be undecided at a stop or kill waits for ever until
/// then, and not at all in the next life: no machine is too slow or too fast for it.
pub(crate) fn wait(seconds: u32) -> String {
    format!("processors.tail_sampling.decision_wait={seconds}s")
}

/// A wait that no test outlives.
pub(crate) const FOR_EVER: u32 = 3600;

/// Where undecided spans wait.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Buffer {
    Disk,
    Memory,
}

/// What goes into the config.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    /// Seconds.
    pub(crate) decision_wait: u32,
    pub(crate) buffer: Buffer,
    pub(crate) policies: &'static str,
    /// Id and settings, as YAML.
    pub(crate) exporters: Vec<(String, String)>,
    /// Processors before `tail_sampling`, and behind it.
    pub(crate) front: Vec<(String, String)>,
    pub(crate) back: Vec<(String, String)>,
}

impl Recipe {
    /// Everything or what failed goes to `sinks`, one second after a trace's first span.
    pub(crate) fn new(policies: &'static str, sinks: &[&Sink]) -> Self {
        let exporters = sinks
            .iter()
            .enumerate()
            .map(|(n, sink)| sink.exporter(n))
            .collect();
        Self {
            decision_wait: 1,
            buffer: Buffer::Disk,
            policies,
            exporters,
            front: Vec::new(),
            back: Vec::new(),
        }
    }

    pub(crate) fn front(mut self, id: &str, settings: &str) -> Self {
        self.front.push((id.to_owned(), settings.to_owned()));
        self
    }

    pub(crate) fn back(mut self, id: &str, settings: &str) -> Self {
        self.back.push((id.to_owned(), settings.to_owned()));
        self
    }

    pub(crate) fn decision_wait(mut self, seconds: u32) -> Self {
        self.decision_wait = seconds;
        self
    }

    pub(crate) fn memory(mut self) -> Self {
        self.buffer = Buffer::Memory;
        self
    }

    pub(crate) fn exporter(mut self, id: &str, settings: impl Into<String>) -> Self {
        self.exporters.push((id.to_owned(), settings.into()));
        self
    }

    /// The config file. Ports stand in it once; everything else is below `directory`.
    pub(crate) fn render(&self, directory: &Path, grpc: u16, http: u16, metrics: u16) -> String {
        let buffer = match self.buffer {
            Buffer::Disk => format!(
                "{{disk: {{directory: '{}', max_size: 512MiB}}}}",
                directory.join("log").display()
            ),
            Buffer::Memory => "{memory: {}}".to_owned(),
        };
        let (wait, policies) = (self.decision_wait, self.policies);
        let (exporters, ids) = section(&self.exporters);
        let (front, mut order) = section(&self.front);
        let (back, behind) = section(&self.back);
        order.push("tail_sampling");
        order.extend(behind);
        let (ids, order) = (ids.join(", "), order.join(", "));
        format!(
            "receivers:
  otlp: {{protocols: {{grpc: {{endpoint: '127.0.0.1:{grpc}'}}, http: {{endpoint: '127.0.0.1:{http}'}}}}}}
processors:
{front}{back}  tail_sampling:
    decision_wait: {wait}s
    buffer: {buffer}
    memory: {{total: 256MiB}}
    policies: {policies}
exporters:
{exporters}
service:
  telemetry: {{metrics: {{address: '127.0.0.1:{metrics}'}}}}
  pipelines:
    traces: {{receivers: [otlp], processors: [{order}], exporters: [{ids}]}}
"
        )
    }
}

/// Components as YAML, and their ids.
fn section(components: &[(String, String)]) -> (String, Vec<&str>) {
    let mut text = String::new();
    for (id, settings) in components {
        writeln!(text, "  {id}: {settings}").unwrap();
    }
    (text, components.iter().map(|(id, _)| id.as_str()).collect())
}
