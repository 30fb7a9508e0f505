//! A real pipeline on a real directory, with a clock that the test drives.

use crate::ports;
use crate::scrape::{Family, Scrape, parse};
use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tailwater::clock::{ManualClock, SECOND};
use tailwater::config::{Source, load};
use tailwater::pipeline::Pipeline;
use tokio::time::Instant;

/// In every prompt; it must not turn up on a page.
pub(crate) const CANARY: &str = "canary-prompt-4b1d";

pub(crate) const CONFIG: &str = r#"
receivers:
  otlp: {protocols: {grpc: {endpoint: "127.0.0.1:0"}}}
  otlp/edge: {protocols: {http: {endpoint: "localhost:0"}}}
processors:
  tail_sampling:
    decision_wait: 2s
    buffer: &buffer {disk: {directory: DIR/buffer, max_size: 1GiB}}
    policies:
      - {name: errors, type: status_code, status_code: {status_codes: [ERROR]}}
      - name: probes
        type: drop
        drop: {drop_sub_policy: [{name: probe, type: string_attribute, string_attribute: {key: kind, values: [probe]}}]}
  tail_sampling/edge:
    decision_wait: 2s
    buffer: *buffer
    policies: [{name: all, type: always_sample}]
exporters:
  file: {path: DIR/kept.json}
  file/edge: {path: DIR/edge.json}
extensions:
  health_check: {endpoint: "127.0.0.1:0"}
service:
  extensions: [health_check]
  telemetry: {metrics: {address: "127.0.0.1:0"}}
  pipelines:
    traces: {receivers: [otlp], processors: [tail_sampling], exporters: [file]}
    traces/edge: {receivers: [otlp/edge], processors: [tail_sampling/edge], exporters: [file/edge]}
"#;

/// How long a test waits for what must come; machines of CI are slow and shared.
const PATIENCE: Duration = Duration::from_secs(120);

/// A pipeline under test.
pub(crate) struct Running {
    pub(crate) pipeline: Pipeline,
    pub(crate) clock: Arc<ManualClock>,
}

impl Running {
    /// Starts below `directory`, `hour` hours after all tests' zero.
    pub(crate) async fn start(directory: &Path, hour: u64) -> Self {
        Self::start_from(CONFIG, directory, hour).await
    }

    /// The same with kept traces sent to `address` by HTTP, again after half a second at most.
    pub(crate) async fn start_to(address: SocketAddr, directory: &Path, hour: u64) -> Self {
        Self::start_from(&config_to(address), directory, hour).await
    }

    pub(crate) async fn start_from(config: &str, directory: &Path, hour: u64) -> Self {
        let mut text = config.replace("DIR", directory.to_str().unwrap());
        while text.contains("127.0.0.1:0\"") {
            text = text.replacen(
                "127.0.0.1:0\"",
                &format!("127.0.0.1:{}\"", ports::free()),
                1,
            );
        }
        let loaded = load(&[Source::text("test.yaml", text)], &[], &|_| None);
        let config = loaded.unwrap_or_else(|wrong| panic!("{wrong:?}")).config;
        let clock = Arc::new(ManualClock::at((1_700_000_000 + hour * 3600) * SECOND));
        let pipeline = Pipeline::start_with(&config, clock.clone()).await.unwrap();
        Self { pipeline, clock }
    }

    pub(crate) async fn submit(&self, spans: Vec<Span>) {
        let accepted = self.pipeline.submit(request(spans)).await.unwrap();
        assert_eq!(accepted.rejected, 0);
    }

    pub(crate) fn scrape(&self) -> Scrape {
        let text = self.pipeline.render_metrics();
        assert!(!text.contains(CANARY), "{text}");
        parse(&text).unwrap()
    }

    /// Scrapes until it is as wanted, and log time goes on by a second each time; what comes with it is done then, too.
    pub(crate) async fn until(&self, what: &str, wanted: impl Fn(&Scrape) -> bool) -> Scrape {
        self.wait(what, SECOND, wanted).await
    }

    /// The same while log time stands still: nothing is decided.
    pub(crate) async fn until_still(&self, what: &str, wanted: impl Fn(&Scrape) -> bool) -> Scrape {
        self.wait(what, 0, wanted).await
    }

    async fn wait(&self, what: &str, step: u64, wanted: impl Fn(&Scrape) -> bool) -> Scrape {
        let end = Instant::now() + PATIENCE;
        let mut last = None;
        loop {
            let scrape = self.scrape();
            if wanted(&scrape) {
                // A page is no single moment: the same twice is.
                let counted = counted(&scrape);
                if counted.is_some() && counted == last {
                    return scrape;
                }
                last = counted;
            } else {
                self.clock.advance(step);
            }
            assert!(
                Instant::now() < end,
                "never {what}: {}",
                self.pipeline.render_metrics()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) async fn stop(self) {
        self.stop_within(PATIENCE).await;
    }

    pub(crate) async fn stop_within(self, patience: Duration) {
        self.pipeline.stop(patience).await;
    }
}

/// What became of every span and trace, once the log is read and the ledger adds up.
fn counted(scrape: &Scrape) -> Option<Vec<Family>> {
    let all_zero = |name: &str| scrape.0[name].samples.values().all(|value| *value == 0.0);
    let names = [
        "tailwater_ledger_spans",
        "tailwater_decisions_total",
        "tailwater_late_spans_total",
    ];
    let families = names.map(|name| scrape.0.get(name).cloned().unwrap_or_default());
    (all_zero("tailwater_worker_unread_bytes") && all_zero("tailwater_ledger_difference"))
        .then(|| families.to_vec())
}

fn config_to(address: SocketAddr) -> String {
    let retry = "retry_on_failure: {initial_interval: 100ms, max_interval: 500ms}";
    let http = format!(
        "  otlphttp: {{endpoint: 'http://{address}', compression: none, sending_queue: {{num_consumers: 1}}, {retry}}}\n  file/edge:"
    );
    CONFIG
        .replace("  file/edge:", &http)
        .replace("exporters: [file]", "exporters: [file, otlphttp]")
}

/// The ledger's states that are not 0, in the order of their names.
pub(crate) fn ledger(scrape: &Scrape, pipeline: &str) -> Vec<(String, u64)> {
    let samples = &scrape.0["tailwater_ledger_spans"].samples;
    let of = |(labels, spans): (&String, &f64)| {
        let labels: Vec<&str> = labels.split(',').collect();
        let state = labels
            .iter()
            .find_map(|label| label.strip_prefix("state="))?;
        let mine = labels.contains(&format!("pipeline={pipeline}").as_str()) && *spans != 0.0;
        mine.then(|| (state.to_owned(), *spans as u64))
    };
    samples.iter().filter_map(of).collect()
}

/// `count` spans of trace `trace`, ids from `first` on.
pub(crate) fn spans(trace: u8, first: u8, count: u8, error: bool) -> Vec<Span> {
    let span = |id| Span {
        trace_id: vec![trace; 16],
        span_id: vec![id; 8],
        name: "chat".to_owned(),
        start_time_unix_nano: 1_700_000_000_000_000_000,
        end_time_unix_nano: 1_700_000_001_000_000_000,
        attributes: vec![attribute("gen_ai.prompt", CANARY)],
        status: Some(Status {
            message: CANARY.to_owned(),
            code: if error { 2 } else { 0 },
        }),
        ..Span::default()
    };
    (first..first + count).map(span).collect()
}

pub(crate) fn attribute(key: &str, value: &str) -> KeyValue {
    let value = Some(AnyValue {
        value: Some(Value::StringValue(value.to_owned())),
    });
    KeyValue {
        key: key.to_owned(),
        value,
        ..KeyValue::default()
    }
}

fn request(spans: Vec<Span>) -> Bytes {
    let resource = Resource {
        attributes: vec![attribute("service.name", "gate\"way\\")],
        ..Resource::default()
    };
    let scope_spans = vec![ScopeSpans {
        spans,
        ..ScopeSpans::default()
    }];
    let resource_spans = ResourceSpans {
        resource: Some(resource),
        scope_spans,
        ..ResourceSpans::default()
    };
    ExportTraceServiceRequest {
        resource_spans: vec![resource_spans],
    }
    .encode_to_vec()
    .into()
}
