//! Spans made by hand, for what no recording has.

use super::played::play;
use crate::genai::{Anomalies, Dialects, Recorder, SpanRecord};
use crate::otlp::scan;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, any_value::Value,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{
    ResourceSpans, ScopeSpans, Span, Status, TracesData, span::Event,
};
use prost::Message;
use std::sync::LazyLock;

static DIALECTS: LazyLock<Dialects> = LazyLock::new(|| Dialects::with("").unwrap());

/// The built-in table.
pub(super) fn dialects() -> &'static Dialects {
    &DIALECTS
}

pub(super) const START: u64 = 1_700_000_000_000_000_000;
pub(super) const SECOND: u64 = 1_000_000_000;

/// An attribute's value.
pub(super) trait Into2 {
    fn value(self) -> Value;
}

impl Into2 for &str {
    fn value(self) -> Value {
        Value::StringValue(self.to_owned())
    }
}

impl Into2 for i32 {
    fn value(self) -> Value {
        Value::IntValue(i64::from(self))
    }
}

impl Into2 for f64 {
    fn value(self) -> Value {
        Value::DoubleValue(self)
    }
}

impl Into2 for bool {
    fn value(self) -> Value {
        Value::BoolValue(self)
    }
}

impl<const N: usize> Into2 for [&str; N] {
    fn value(self) -> Value {
        Value::ArrayValue(ArrayValue {
            values: self
                .into_iter()
                .map(|text| AnyValue {
                    value: Some(text.value()),
                })
                .collect(),
        })
    }
}

fn pair(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..Default::default()
    }
}

/// A span of two seconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Made {
    pub(super) span: Span,
    scope: String,
    service: String,
}

pub(super) fn made(name: &str) -> Made {
    Made {
        span: Span {
            trace_id: vec![1; 16],
            span_id: vec![1; 8],
            name: name.to_owned(),
            start_time_unix_nano: START,
            end_time_unix_nano: START + 2 * SECOND,
            ..Default::default()
        },
        ..Default::default()
    }
}

impl Made {
    pub(super) fn with(mut self, key: &str, value: impl Into2) -> Self {
        self.span.attributes.push(pair(key, value.value()));
        self
    }

    pub(super) fn scope(mut self, name: &str) -> Self {
        self.scope = name.to_owned();
        self
    }

    pub(super) fn service(mut self, name: &str) -> Self {
        self.service = name.to_owned();
        self
    }

    pub(super) fn server(mut self) -> Self {
        self.span.kind = 2;
        self
    }

    pub(super) fn status(mut self, code: i32) -> Self {
        self.span.status = Some(Status {
            code,
            message: String::new(),
        });
        self
    }

    pub(super) fn event(mut self, name: &str, after: u64, attributes: &[(&str, &str)]) -> Self {
        self.span.events.push(Event {
            name: name.to_owned(),
            time_unix_nano: START + after,
            attributes: attributes
                .iter()
                .map(|(key, text)| pair(key, text.value()))
                .collect(),
            ..Default::default()
        });
        self
    }

    fn request(self) -> Vec<u8> {
        let spans = ScopeSpans {
            scope: Some(InstrumentationScope {
                name: self.scope,
                ..Default::default()
            }),
            spans: vec![self.span],
            ..Default::default()
        };
        let resource = Resource {
            attributes: vec![pair("service.name", self.service.as_str().value())],
            ..Default::default()
        };
        TracesData {
            resource_spans: vec![ResourceSpans {
                resource: Some(resource),
                scope_spans: vec![spans],
                ..Default::default()
            }],
        }
        .encode_to_vec()
    }

    /// Its record, which is the same with its attributes and events in the other order.
    pub(super) fn record(self, dialects: &Dialects) -> Option<SpanRecord<String>> {
        let mut other = self.clone();
        other.span.attributes.reverse();
        other.span.events.reverse();
        let found = play(dialects, &self.request()).pop();
        let reversed = play(dialects, &other.request()).pop();
        // Evaluations of events are told apart by their order: only their number must agree.
        let plain = |found: &Option<super::played::Played>| {
            found.clone().map(|played| {
                let scores = played.record.scores.iter().count();
                let record = SpanRecord {
                    scores: crate::genai::Scores::default(),
                    ..played.record
                };
                (played.name, record, scores)
            })
        };
        assert_eq!(plain(&found), plain(&reversed));
        found.map(|played| played.record)
    }

    pub(super) fn anomalies(self, dialects: &Dialects) -> Anomalies {
        let mut recorder = Recorder::new(dialects, |_, _, _| {});
        scan(&self.request(), &mut recorder).unwrap();
        recorder.anomalies()
    }
}
