//! Rows 5, 8, 24: topics that are missing, too small for a record, or have other partitions than before.

use crate::field::Field;
use crate::load::{Answer, Client};
use crate::plan::{Plan, WAIT};
use crate::probe::{address, not_ready, taken};
use crate::shared::broker;
use crate::support::recipe::ALL;
use crate::support::traffic::request;
use crate::support::wait::{PATIENCE, until};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use prost::Message as _;
use rdkafka::admin::{AdminOptions, NewPartitions};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// A missing topic is named, with the command that makes it; when somebody has made it spans are taken.
#[tokio::test(flavor = "multi_thread")]
async fn row_05_a_missing_topic() {
    let broker = broker().await;
    let plan = Plan {
        kafka: String::new(),
        ..Plan::new("row05", &broker.address())
    };
    let mut field = Field::new(plan, 1).await;
    field.spawn(0);
    not_ready(field.daemon(0), &["row05.spans"]).await;
    until("the command is told", || {
        let log = field.daemon(0).log();
        log.contains("kafka-topics.sh") && log.contains("--create --topic row05.decisions")
    })
    .await;
    let settings = [
        ("message.timestamp.type", "LogAppendTime"),
        ("retention.ms", "7200000"),
    ];
    broker.topic("row05.spans", 6, &settings).await;
    let settings = [settings[0], ("retention.ms", "14400000")];
    broker.topic("row05.decisions", 6, &settings).await;
    field.ready(0).await;
    let load = field.load(5, &[0]);
    sleep(Duration::from_secs(2)).await;
    field.settle(load, 0).await;
}

/// A trace over the topic's limit is cut into records; a span over it is dealt with and counted, and never tried for ever.
/// The limit may change while the daemon runs.
#[tokio::test(flavor = "multi_thread")]
async fn row_08_records_over_the_limit() {
    let broker = broker().await;
    let plan = Plan {
        policies: Some(ALL),
        ..Plan::new("row08", &broker.address())
    };
    let topic = plan.topic();
    let field = Field::running(plan, 1).await;
    let daemon = field.daemon(0);
    // Some 3 MB in one request, of one trace: several records.
    let mut large = request(1..2, 0);
    let spans = &mut large.resource_spans[0].scope_spans[0].spans;
    let more = (1..30).map(|part| {
        let mut span = request(1..2, part).resource_spans[0].scope_spans[0]
            .spans
            .remove(0);
        pad(&mut span, 100_000, part);
        span
    });
    spans.extend(more);
    answered(daemon, large.encode_to_vec()).await;
    until("the large trace is at the sink", || {
        field.sink.spans() >= 30
    })
    .await;
    // A span that no record holds, beside one that does.
    let mut huge = request(2..4, 0);
    pad(
        &mut huge.resource_spans[0].scope_spans[0].spans[0],
        3_000_000,
        99,
    );
    answered(daemon, huge.encode_to_vec()).await;
    until("the small one is at the sink", || field.sink.spans() >= 31).await;
    // A lower limit of the topic, at run time.
    broker.tool(&[
        "kafka.admin.ConfigCommand",
        "--bootstrap-server",
        &broker.address(),
        "--alter",
        "--entity-type",
        "topics",
        "--entity-name",
        &topic,
        "--add-config",
        "max.message.bytes=30000",
    ]);
    let mut several = request(5..6, 0);
    let spans = &mut several.resource_spans[0].scope_spans[0].spans;
    spans.extend((1..20).map(|part| {
        let mut span = request(5..6, part).resource_spans[0].scope_spans[0]
            .spans
            .remove(0);
        pad(&mut span, 5_000, part);
        span
    }));
    let before = field.sink.spans();
    answered(daemon, several.encode_to_vec()).await;
    until("the trace over the new limit is at the sink", || {
        field.sink.spans() >= before + 20
    })
    .await;
    taken(daemon, 6..7, 0).await;
    until("and what follows", || field.sink.spans() > before + 20).await;
}

/// It is answered in time, whatever the answer; a refusal is none that a sender tries again for ever.
async fn answered(daemon: &crate::support::daemon::Daemon, body: Vec<u8>) {
    let client = Client::new(address(daemon));
    let body = body.into();
    let answer = timeout(PATIENCE, async {
        loop {
            match client.export(&body).await {
                Answer::Refused {
                    retry: Some(time), ..
                } => sleep(time).await,
                answer => return answer,
            }
        }
    });
    let answer = answer.await.expect("it is tried for ever");
    assert!(matches!(answer, Answer::Taken(_)), "{answer:?}");
}

/// Text that no codec makes small.
fn pad(span: &mut opentelemetry_proto::tonic::trace::v1::Span, bytes: usize, seed: u64) {
    let mut state = seed;
    let text: String = std::iter::repeat_with(|| {
        state = crate::load::mix(state);
        char::from(b'!' + u8::try_from(state % 90).unwrap())
    })
    .take(bytes)
    .collect();
    span.attributes[0].value.as_mut().unwrap().value = Some(Value::StringValue(text));
}

/// More partitions while spans come in: keys move. It is told, never passed over; with the new count in the config spans are
/// taken again, and nothing that was acknowledged is lost.
#[tokio::test(flavor = "multi_thread")]
async fn row_24_more_partitions() {
    let broker = broker().await;
    let mut field = Field::running(Plan::new("row24", &broker.address()), 1).await;
    let load = field.load(24, &[0]);
    sleep(Duration::from_secs(3)).await;
    let (spans, decisions) = (field.plan.topic(), field.plan.decisions());
    let more = [
        NewPartitions::new(&spans, 8),
        NewPartitions::new(&decisions, 8),
    ];
    let made = broker
        .admin()
        .create_partitions(&more, &AdminOptions::new())
        .await;
    assert!(made.unwrap().iter().all(Result::is_ok));
    until("it is told", || {
        field.daemon(0).log().contains("has 8 partitions")
    })
    .await;
    let (shape, outcome, sent) = (load.shape.clone(), load.outcome.clone(), load.sent());
    drop(load);
    // Until all of it is decided.
    sleep(Duration::from_secs(WAIT + 3)).await;
    field.terminate(0).await;
    let mut plan = field.plan.clone();
    plan.partitions = 8;
    field.replace(0, &plan);
    field.spawn(0);
    field.ready(0).await;
    let load = field.load(240, &[0]);
    sleep(Duration::from_secs(3)).await;
    until("what was acknowledged before is at the sink", || {
        field.missing(&shape, &outcome, sent).is_empty()
    })
    .await;
    let (shape, outcome, traces) = load.finish().await;
    until("what was acknowledged then is at the sink", || {
        field.missing(&shape, &outcome, traces).is_empty()
    })
    .await;
}
