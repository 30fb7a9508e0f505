//! A receiver that takes text out of requests before anything sees or stores them.
//!
//! Rules then decide on what is stored, so that a restart, which folds the rules over the log again, decides the same.

use crate::otlp::{Refusal, Signal, SourceId, Submit, Submitted};
use crate::redaction::Redactor;
use bytes::Bytes;
use std::sync::Arc;

/// In front of the intake of all receivers.
pub(super) struct Redacting {
    inner: Arc<dyn Submit>,
    redactor: Redactor,
}

impl Redacting {
    pub(super) fn new(inner: Arc<dyn Submit>, redactor: Redactor) -> Self {
        Self { inner, redactor }
    }
}

impl Submit for Redacting {
    /// A request that cannot be redacted is refused whole: what is broken in one span or log record might be text.
    fn submit(&self, source: SourceId, signal: Signal, request: Bytes) -> Submitted<'_> {
        match self.redactor.apply(signal, &request) {
            Ok(request) => self.inner.submit(source, signal, request),
            Err(error) => Box::pin(async move { Err(Refusal::Malformed(error.to_string())) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::Accepted;
    use crate::redaction::{Action, FieldClass, RedactSettings};
    use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, TracesData};
    use parking_lot::Mutex;
    use prost::Message;

    /// Keeps what it is given.
    #[derive(Default)]
    struct Taken(Arc<Mutex<Vec<Bytes>>>);

    impl Submit for Taken {
        fn submit(&self, _: SourceId, _: Signal, request: Bytes) -> Submitted<'_> {
            self.0.lock().push(request);
            Box::pin(async { Ok(Accepted::default()) })
        }
    }

    #[tokio::test]
    async fn what_is_behind_it_sees_no_text() {
        let mut settings = RedactSettings::default();
        settings.classes[FieldClass::Prompt as usize] = Action::Drop;
        let taken = Taken::default();
        let requests = taken.0.clone();
        let door = Redacting::new(Arc::new(taken), Redactor::new(&settings).unwrap());
        let span = Span {
            name: "chat".into(),
            attributes: vec![KeyValue {
                key: "gen_ai.prompt".into(),
                value: Some(AnyValue {
                    value: Some(Value::StringValue("secret".into())),
                }),
                ..Default::default()
            }],
            ..Default::default()
        };
        let data = TracesData {
            resource_spans: vec![ResourceSpans {
                scope_spans: vec![ScopeSpans {
                    spans: vec![span],
                    ..Default::default()
                }],
                ..Default::default()
            }],
        };
        let bytes = data.encode_to_vec();
        assert!(
            door.submit(SourceId(1), Signal::Traces, bytes.clone().into())
                .await
                .is_ok()
        );
        let broken = door.submit(
            SourceId(1),
            Signal::Traces,
            bytes[..bytes.len() - 3].to_vec().into(),
        );
        assert!(matches!(broken.await, Err(Refusal::Malformed(_))));
        let requests = requests.lock();
        assert_eq!(requests.len(), 1);
        let stored = TracesData::decode(requests[0].clone()).unwrap();
        let span = &stored.resource_spans[0].scope_spans[0].spans[0];
        assert_eq!((span.name.as_str(), span.attributes.len()), ("chat", 0));
    }
}
