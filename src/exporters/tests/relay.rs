//! What is passed on: to every exporter as it came, tried again as they say, answered as it ended.

use crate::clock::SystemClock;
use crate::exporters::transport::Sending;
use crate::exporters::{
    ExporterStats, Outgoing, Outlet, Relay, RetrySettings, SendError, Sent, Transport,
};
use crate::otlp::{Accepted, IntakeBudget, PassOn, Refusal, Telemetry};
use crate::redaction::{Action, RedactSettings, Redactor};
use bytes::Bytes;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, any_value::Value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use parking_lot::Mutex;
use prost::Message;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

type Outcome = Result<Sent, SendError>;

/// A far side that answers what it was told, then success.
#[derive(Debug, Default)]
struct Far {
    answers: Mutex<VecDeque<Outcome>>,
    got: Mutex<Vec<Bytes>>,
}

impl Transport for Far {
    fn send(&self, out: Outgoing) -> Sending<'_> {
        self.got.lock().push(out.request);
        let answer = self.answers.lock().pop_front();
        Box::pin(async { answer.unwrap_or(Ok(Sent::All)) })
    }
}

fn far(answers: impl IntoIterator<Item = Outcome>) -> Arc<Far> {
    Arc::new(Far {
        answers: Mutex::new(answers.into_iter().collect()),
        got: Mutex::default(),
    })
}

fn outlet(far: &Arc<Far>) -> Outlet {
    Outlet {
        name: "metrics > otlp".to_owned(),
        transport: far.clone(),
        retry: RetrySettings {
            initial_interval: Duration::from_millis(10),
            max_interval: Duration::from_millis(20),
            ..RetrySettings::collector()
        },
        redactor: Arc::default(),
        stats: Arc::new(ExporterStats::default()),
        clock: Arc::new(SystemClock::new()),
        stop: CancellationToken::new(),
    }
}

fn relay(outlets: Vec<Outlet>) -> Relay {
    Relay::new(outlets, IntakeBudget::new(1000), 1)
}

/// Two log records.
fn logs() -> Bytes {
    let record = LogRecord {
        body: Some(AnyValue {
            value: Some(Value::StringValue("canary".to_owned())),
        }),
        ..LogRecord::default()
    };
    let request = ExportLogsServiceRequest {
        resource_logs: vec![ResourceLogs {
            scope_logs: vec![ScopeLogs {
                log_records: vec![record.clone(), record],
                ..ScopeLogs::default()
            }],
            ..ResourceLogs::default()
        }],
    };
    request.encode_to_vec().into()
}

fn busy() -> Outcome {
    Err(SendError::retry("busy"))
}

#[tokio::test]
async fn every_exporter_gets_the_bytes_as_they_came() {
    let (first, second) = (far([]), far([busy(), busy()]));
    let relay = relay(vec![outlet(&first), outlet(&second)]);
    // Unknown fields included: 0xfa 0x7f is none that anybody has.
    let request = Bytes::from([&logs()[..], &[0xfa, 0x7f, 1, 7]].concat());
    let answer = relay.pass_on(Telemetry::Logs, request.clone()).await;
    let expected = Accepted {
        spans: 2,
        ..Accepted::default()
    };
    assert_eq!(answer, Ok(expected));
    assert_eq!(*first.got.lock(), vec![request.clone()]);
    assert_eq!(*second.got.lock(), vec![request; 3]);
}

#[tokio::test]
async fn the_answer_is_the_worst() {
    let check = async |answers: Vec<Outcome>, expected: Result<(u64, u64), Refusal>| {
        let retry = RetrySettings {
            max_elapsed_time: Some(Duration::from_millis(1)),
            ..RetrySettings::collector()
        };
        let outlets = [far(answers), far([])].map(|far| Outlet {
            retry: retry.clone(),
            ..outlet(&far)
        });
        let answer = relay(outlets.into()).pass_on(Telemetry::Logs, logs()).await;
        let counts = answer.map(|accepted| (accepted.spans, accepted.rejected));
        assert_eq!(counts, expected);
    };
    let partial = |rejected| Sent::Partial {
        rejected,
        reason: String::new(),
    };
    check(vec![], Ok((2, 0))).await;
    check(vec![Ok(partial(1))], Ok((1, 1))).await;
    check(vec![Ok(partial(9))], Ok((0, 2))).await;
    check(vec![Err(SendError::permanent("no"))], Ok((0, 2))).await;
    let full = |seconds| Refusal::Full {
        reason: "the backend takes nothing",
        retry_after: Duration::from_secs(seconds),
    };
    check(vec![busy()], Err(full(1))).await;
    let asked = SendError::Retry {
        reason: String::new(),
        after: Some(Duration::from_secs(9)),
    };
    check(vec![Err(asked)], Err(full(9))).await;
}

#[tokio::test]
async fn a_stop_ends_the_tries_and_so_does_a_sender_that_goes() {
    let dead = far((0..10_000).map(|_| busy()));
    let waiting = outlet(&dead);
    let stop = waiting.stop.clone();
    let relay = relay(vec![waiting]);
    let patience = Duration::from_millis(100);
    let request = relay.pass_on(Telemetry::Logs, logs());
    assert!(tokio::time::timeout(patience, request).await.is_err());
    let tried = dead.got.lock().len();
    assert!(tried > 1);
    tokio::time::sleep(patience).await;
    // The one in hand when its sender went may have been counted in between.
    assert!(dead.got.lock().len() <= tried + 1);
    stop.cancel();
    let answer = relay.pass_on(Telemetry::Logs, logs()).await;
    assert_eq!(answer, Err(Refusal::Stopping));
}

#[test]
fn what_waits_is_bounded() {
    let relay = relay(Vec::new());
    let first = relay.admit(600);
    assert!(first.is_some() && relay.admit(401).is_none());
    let second = relay.admit(400);
    drop((first, second));
    // Larger than all there is: alone.
    let large = relay.admit(5000);
    assert!(large.is_some() && relay.admit(1).is_none());
}

#[tokio::test]
async fn an_exporter_redacts_logs_that_pass() {
    let mut settings = RedactSettings::default();
    settings.classes.fill(Action::Drop);
    let (open, closed) = (far([]), far([]));
    let redacting = Outlet {
        redactor: Arc::new(Redactor::new(&settings).unwrap()),
        ..outlet(&closed)
    };
    let relay = relay(vec![outlet(&open), redacting]);
    assert!(relay.pass_on(Telemetry::Logs, logs()).await.is_ok());
    let shows = |far: &Far| memchr::memmem::find(&far.got.lock()[0], b"canary").is_some();
    assert!(shows(&open) && !shows(&closed));
    // What cannot be redacted leaves by none of them.
    let broken = logs().slice(..logs().len() - 3);
    let refused = relay.pass_on(Telemetry::Logs, broken).await;
    assert!(matches!(refused, Err(Refusal::Malformed(_))));
    assert_eq!(closed.got.lock().len(), 1);
}
