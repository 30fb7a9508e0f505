//! Requests that no honest sender makes: each gets its exact answer, the daemon lives, and what is sound arrives.

use crate::daemon::{Daemon, Place, Setup, until};
use crate::load::{Answer, Client, Sink, frame};
use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

const INVALID_ARGUMENT: u32 = 3;
const RESOURCE_EXHAUSTED: u32 = 8;

/// A daemon that keeps everything, and what its sink should have got.
struct Stage {
    sink: Sink,
    client: Client,
    daemon: Daemon,
    place: Place,
    next: u64,
    /// Trace id and spans.
    expected: Vec<([u8; 16], u64)>,
}

impl Stage {
    async fn new(setup: Setup) -> Self {
        let sink = Sink::start().await;
        let place = Place::new(
            &Setup {
                keep_all: true,
                ..setup
            },
            &[sink.address()],
        );
        let daemon = place.start().await;
        let client = Client::new(place.grpc);
        Self {
            sink,
            client,
            daemon,
            place,
            next: 0,
            expected: Vec::new(),
        }
    }

    /// A sound span of a new trace.
    fn span(&mut self) -> Span {
        self.next += 1;
        let trace = id(self.next);
        self.expected.push((trace, 1));
        Span {
            trace_id: trace.to_vec(),
            span_id: 1_u64.to_be_bytes().to_vec(),
            name: "chat".to_owned(),
            start_time_unix_nano: 1_700_000_000_000_000_000,
            end_time_unix_nano: 1_700_000_000_100_000_000,
            ..Span::default()
        }
    }

    /// Sends a sound span beside `hostile`, which is sound too; both must come.
    async fn takes(&mut self, what: &str, hostile: impl FnOnce(&mut Span)) {
        let (mut one, other) = (self.span(), self.span());
        hostile(&mut one);
        let answer = self.client.export(&request(vec![one, other])).await;
        assert_eq!(answer, Answer::Taken(Bytes::new()), "{what}");
    }

    /// Sends a sound span beside one that is not; the sound one must come.
    async fn rejects(&mut self, what: &str, reason: &str, hostile: impl FnOnce(&mut Span)) {
        let (mut one, other) = (self.span(), self.span());
        self.expected.swap_remove(self.expected.len() - 2);
        hostile(&mut one);
        let answer = self.client.export(&request(vec![one, other])).await;
        let Answer::Taken(response) = answer else {
            panic!("{what}: {answer:?}")
        };
        let partial = ExportTraceServiceResponse::decode(response)
            .unwrap()
            .partial_success
            .unwrap();
        assert_eq!(
            (partial.rejected_spans, partial.error_message.as_str()),
            (1, reason),
            "{what}"
        );
    }

    /// Sends a body whole; it must be refused for good.
    async fn refuses(&mut self, what: &str, code: u32, message: &str, body: Bytes) {
        let answer = self.client.send(body).await;
        assert_eq!(
            answer,
            Answer::Refused {
                code,
                message: message.to_owned(),
                retry: None
            },
            "{what}"
        );
    }

    async fn ends(mut self) {
        let all = |stage: &Self| {
            stage
                .expected
                .iter()
                .find(|(id, spans)| stage.sink.got(*id).is_none_or(|got| got.total != *spans))
                .copied()
        };
        until(|| all(&self).is_none()).await;
        let wrong = all(&self);
        assert_eq!(
            wrong.map(|(id, spans)| (id, spans, self.sink.got(id))),
            None,
            "{} broken",
            self.sink.broken()
        );
        assert_eq!(
            self.sink.traces().len(),
            self.expected.len(),
            "nothing else came"
        );
        let (status, _) = self.daemon.terminate().await;
        assert!(status.success());
        self.place.check();
    }
}

fn id(number: u64) -> [u8; 16] {
    u128::from(number).to_be_bytes()
}

fn request(spans: Vec<Span>) -> Bytes {
    let attributes = vec![text("service.name", "hostile")];
    let resource = Some(Resource {
        attributes,
        ..Resource::default()
    });
    let scope_spans = vec![ScopeSpans {
        spans,
        ..ScopeSpans::default()
    }];
    let resource_spans = vec![ResourceSpans {
        resource,
        scope_spans,
        ..ResourceSpans::default()
    }];
    ExportTraceServiceRequest { resource_spans }
        .encode_to_vec()
        .into()
}

fn text(key: &str, value: &str) -> KeyValue {
    pair(key, Value::StringValue(value.to_owned()))
}

fn pair(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

#[tokio::test]
#[allow(clippy::too_many_lines, reason = "one story, told in order")]
async fn strange_spans_are_taken_or_rejected_alone() {
    let mut stage = Stage::new(Setup {
        decision_wait: 1,
        ..Setup::default()
    })
    .await;
    stage
        .takes("times of 0", |span| {
            (span.start_time_unix_nano, span.end_time_unix_nano) = (0, 0)
        })
        .await;
    stage
        .takes("times at the end", |span| {
            (span.start_time_unix_nano, span.end_time_unix_nano) = (u64::MAX, u64::MAX)
        })
        .await;
    stage
        .takes("all of time", |span| {
            (span.start_time_unix_nano, span.end_time_unix_nano) = (0, u64::MAX)
        })
        .await;
    stage
        .takes("end before start", |span| {
            (span.start_time_unix_nano, span.end_time_unix_nano) = (u64::MAX, 1)
        })
        .await;
    stage
        .takes("50,000 attributes", |span| {
            span.attributes = (0..50_000)
                .map(|n| text(&format!("key {n}"), "value"))
                .collect();
        })
        .await;
    stage
        .takes("the same attribute 1,000 times", |span| {
            span.attributes = (0..1000)
                .map(|_| text("gen_ai.input.messages", "text"))
                .collect();
        })
        .await;
    stage
        .rejects(
            "a short trace id",
            "a trace id is not 16 bytes long",
            |span| span.trace_id.truncate(15),
        )
        .await;
    stage
        .rejects("no trace id", "a trace id is not 16 bytes long", |span| {
            span.trace_id.clear()
        })
        .await;
    stage
        .rejects("a zero trace id", "a trace id is all zero", |span| {
            span.trace_id.fill(0)
        })
        .await;
    stage
        .rejects("a zero span id", "a span id is all zero", |span| {
            span.span_id.fill(0)
        })
        .await;
    stage
        .rejects("a long span id", "a span id is not 8 bytes long", |span| {
            span.span_id.push(1)
        })
        .await;
    let parent = "a parent span id is neither empty nor 8 bytes long";
    stage
        .rejects("a short parent id", parent, |span| {
            span.parent_span_id = vec![1]
        })
        .await;
    let deep = "a span is malformed: attribute values are nested deeper than 30 levels";
    stage
        .rejects("a nesting bomb", deep, |span| {
            let nest = |inner, _| {
                Value::ArrayValue(ArrayValue {
                    values: vec![AnyValue { value: Some(inner) }],
                })
            };
            span.attributes = vec![pair("deep", (0..60).fold(Value::IntValue(1), nest))];
        })
        .await;
    stage.ends().await;
}

#[tokio::test]
async fn invalid_utf_8_goes_through_untouched() {
    let mut stage = Stage::new(Setup {
        decision_wait: 1,
        ..Setup::default()
    })
    .await;
    let mut one = stage.span();
    one.attributes = vec![text("KEYKEY", "VALUEVALUE")];
    one.name = "NAMENAME".to_owned();
    let mut bytes = request(vec![one, stage.span()]).to_vec();
    for word in [&b"KEYKEY"[..], b"VALUEVALUE", b"NAMENAME"] {
        let at = bytes
            .windows(word.len())
            .position(|window| window == word)
            .unwrap();
        bytes[at..at + 3].fill(0xff);
    }
    assert_eq!(
        stage.client.export(&bytes.into()).await,
        Answer::Taken(Bytes::new())
    );
    stage.ends().await;
}

#[tokio::test]
async fn broken_requests_are_refused_for_good() {
    let mut stage = Stage::new(Setup {
        decision_wait: 1,
        ..Setup::default()
    })
    .await;
    let (one, other) = (stage.span(), stage.span());
    stage.expected.clear();
    let sound = request(vec![one, other]);
    let truncated = "a field reaches past the end of its message";
    for cut in [1, 2, 10, sound.len() / 2, sound.len() - 1] {
        let body = frame(&sound[..cut]);
        let answer = stage.client.send(body).await;
        let Answer::Refused {
            code, retry: None, ..
        } = answer
        else {
            panic!("cut at {cut}: {answer:?}")
        };
        assert_eq!(code, INVALID_ARGUMENT, "cut at {cut}");
    }
    let long = [&[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f][..], &sound[3..]].concat();
    let answer = stage.client.export(&long.into()).await;
    let Answer::Refused {
        code: INVALID_ARGUMENT,
        message,
        retry: None,
    } = answer
    else {
        panic!("{answer:?}")
    };
    assert!(message.contains(truncated), "{message}");
    let cut = "the gRPC message is cut short";
    let mut framed = frame(&sound).to_vec();
    framed.truncate(framed.len() - 1);
    let answer = stage.client.send(framed.into()).await;
    let Answer::Refused {
        code: INVALID_ARGUMENT,
        message,
        retry: None,
    } = answer
    else {
        panic!("{answer:?}")
    };
    assert!(message.contains(cut), "{message}");
    let mut claims = vec![0, 0xff, 0xff, 0xff, 0xff];
    claims.extend_from_slice(&sound);
    let limit = "request of 4294967295 bytes is over the limit of 16777216";
    stage
        .refuses(
            "a length over the limit",
            RESOURCE_EXHAUSTED,
            limit,
            claims.into(),
        )
        .await;
    let mut span = stage.span();
    stage.expected.pop();
    span.attributes = vec![text("big", &"x".repeat(64 << 20))];
    let body = frame(&request(vec![span]));
    let limit = format!(
        "request of {} bytes is over the limit of 16777216",
        body.len() - 5
    );
    stage
        .refuses("a span of 64 MiB", RESOURCE_EXHAUSTED, &limit, body)
        .await;

    // The daemon lives.
    stage.takes("after all that", |_| {}).await;
    stage.ends().await;
}

/// `count` tiny spans of one trace, their ids from `first` on.
fn crowd(trace: [u8; 16], first: u64, count: u64) -> Vec<Span> {
    let span = |n: u64| Span {
        trace_id: trace.to_vec(),
        span_id: (n + 1).to_be_bytes().to_vec(),
        parent_span_id: 1_u64.to_be_bytes().to_vec(),
        ..Span::default()
    };
    (first..first + count).map(span).collect()
}

#[tokio::test]
async fn a_million_spans_of_one_trace_end_oversize_and_later_ones_follow() {
    // Nothing is decided by time within the test.
    let mut stage = Stage::new(Setup {
        decision_wait: 600,
        ..Setup::default()
    })
    .await;
    let trace = id(u64::MAX);
    for part in 0..101 {
        let request = request(crowd(trace, part * 10_000, 10_000));
        assert_eq!(
            stage.client.export(&request).await,
            Answer::Taken(Bytes::new()),
            "part {part}"
        );
    }
    stage.expected.push((trace, 1_010_000));
    stage.ends().await;
}

#[tokio::test]
async fn a_trace_that_grows_too_large_in_the_middle_of_a_request_is_decided_once() {
    let sampling = "    maximum_trace_spans: 100\n".to_owned();
    let mut stage = Stage::new(Setup {
        decision_wait: 600,
        sampling,
        ..Setup::default()
    })
    .await;
    for number in 1..=20 {
        let trace = id(number << 32);
        // Each resource is a piece of its own; the third one goes over the limit, the fourth and fifth are late.
        let parts = (0..5).map(|part| request(crowd(trace, part * 40, 40)));
        let request: Vec<u8> = parts.flat_map(|part| part.to_vec()).collect();
        assert_eq!(
            stage.client.export(&request.into()).await,
            Answer::Taken(Bytes::new())
        );
        stage.expected.push((trace, 200));
    }
    stage.ends().await;
}
