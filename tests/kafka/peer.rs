//! Topics between the real Collector and a daemon, both ways and in both encodings; and the Collector as a writer into the
//! topic of a log. Spans are compared field for field. `make compat` builds the Collector and runs these.

use crate::broker::Broker;
use crate::collector::Collector;
use crate::place::{from_kafka, member, to_kafka};
use crate::support::daemon::Daemon;
use crate::support::fixtures;
use crate::support::ledger::{Ledger, assert_ledger, at_rest};
use crate::support::recipe::ALL;
use crate::support::sender::{get, grpc};
use crate::support::sink::Sink;
use crate::support::spans::{Flat, assert_same, flatten};
use crate::support::traffic::{fails, request};
use crate::support::wait::{until, until_async};
use crate::topic;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use tailwater::otlp::{TraceId, partition_of};

const TRACES: u64 = 200;
const PARTITIONS: u16 = 12;

/// Encoding, and whether records are keyed by trace.
const WAYS: [(&str, bool); 4] = [
    ("otlp_proto", true),
    ("otlp_proto", false),
    ("otlp_json", true),
    ("otlp_json", false),
];

/// All first spans, then all second ones.
fn traffic() -> Vec<ExportTraceServiceRequest> {
    let part = |part| (0..TRACES / 50).map(move |n| request(n * 50..n * 50 + 50, part));
    (0..2).flat_map(part).collect()
}

/// The same, and what real instrumentations have sent.
fn much() -> Vec<ExportTraceServiceRequest> {
    let recorded = fixtures::protobuf().into_iter().chain(fixtures::json());
    let recorded = recorded.map(|fixture| fixture.message);
    traffic().into_iter().chain(recorded).collect()
}

/// As the Collector writes them: what may be missing around a span, and its status, is there and empty.
fn written(requests: &[ExportTraceServiceRequest]) -> Vec<Flat> {
    let mut requests = requests.to_vec();
    let resources = requests
        .iter_mut()
        .flat_map(|request| &mut request.resource_spans);
    for resource in resources {
        resource.resource.get_or_insert_default();
        for scope in &mut resource.scope_spans {
            scope.scope.get_or_insert_default();
            for span in &mut scope.spans {
                span.status.get_or_insert_default();
            }
        }
    }
    flatten(&requests)
}

/// Each trace's records have its id for a key and lie in its partition; or none has a key.
fn assert_places(broker: &Broker, topic: &str, by_id: bool) {
    let stored = topic::all(broker, topic);
    assert!(!stored.is_empty(), "{topic}");
    for record in stored {
        assert_eq!(record.key.is_some(), by_id, "{topic}");
        if let Some(key) = record.key {
            let id = TraceId::from_hex(&String::from_utf8(key).unwrap()).unwrap();
            let partition = i32::from(partition_of(id, PARTITIONS));
            assert_eq!(record.partition, partition, "{topic}");
        }
    }
}

async fn feeds_a_daemon(broker: &Broker, encoding: &str, by_id: bool) {
    let (topic, brokers) = (format!("theirs-{encoding}-{by_id}"), broker.address());
    broker.topic(&topic, i32::from(PARTITIONS), &[]).await;
    let collector = Collector::to_kafka(&format!(
        "brokers: ['{brokers}'], traces: {{topic: {topic}, encoding: {encoding}}}, \
         partition_traces_by_id: {by_id}, producer: {{required_acks: -1, compression: zstd}}"
    ))
    .await;
    let sink = Sink::grpc();
    let reader = from_kafka(
        &format!(
            "brokers: ['{brokers}'], traces: {{topics: [{topic}], encoding: {encoding}}}, \
             group_id: {topic}, initial_offset: earliest"
        ),
        &sink,
    );
    let mut reading = reader.place.start().await;
    let sent = much();
    for request in &sent {
        collector.send(request).await;
    }
    collector.stop().await;
    let expected = written(&sent);
    until("all spans are at the sink", || {
        sink.count() >= expected.len()
    })
    .await;
    assert_ledger(&reading, "otlp/0", expected.len(), expected.len()).await;
    assert_same(&expected, &sink.spans(), &topic);
    assert_places(broker, &topic, by_id);
    assert!(reading.terminate().await.0.success());
    reader.place.assert_log_is_sound();
    told(
        "Collector, topic, Tailwater",
        encoding,
        by_id,
        expected.len(),
    );
}

async fn feeds_a_collector(broker: &Broker, encoding: &str, by_id: bool) {
    let (topic, brokers) = (format!("ours-{encoding}-{by_id}"), broker.address());
    broker.topic(&topic, i32::from(PARTITIONS), &[]).await;
    let writer = to_kafka(
        ALL,
        &format!(
            "brokers: ['{brokers}'], traces: {{topic: {topic}, encoding: {encoding}}}, \
             partition_traces_by_id: {by_id}, producer: {{compression: zstd}}"
        ),
    );
    let sink = Sink::grpc();
    let collector = Collector::from_kafka(
        &format!(
            "brokers: ['{brokers}'], traces: {{topics: [{topic}], encoding: {encoding}}}, \
             group_id: {topic}, initial_offset: earliest"
        ),
        &sink,
    )
    .await;
    let mut writing = writer.place.start().await;
    let sent = much();
    for request in &sent {
        grpc(writing.grpc).export(request.clone()).await.unwrap();
    }
    let expected = written(&sent);
    assert_ledger(&writing, "kafka", expected.len(), expected.len()).await;
    until("all spans are at the sink", || {
        sink.count() >= expected.len()
    })
    .await;
    collector.stop().await;
    assert_same(&expected, &sink.spans(), &topic);
    assert_places(broker, &topic, by_id);
    assert!(writing.terminate().await.0.success());
    told(
        "Tailwater, topic, Collector",
        encoding,
        by_id,
        expected.len(),
    );
}

fn told(way: &str, encoding: &str, by_id: bool, spans: usize) {
    let records = if by_id { "traces" } else { "batches" };
    eprintln!("{way}: {encoding}, records of {records}: {spans} spans, 0 differ");
}

/// The sum over all daemons of a metric of theirs.
async fn sum(daemons: &[Daemon], metric: &str) -> f64 {
    let mut sum = 0.0;
    for daemon in daemons {
        let page = get(daemon.metrics, "/metrics").await.unwrap().1;
        let lines = page.lines().filter(|line| line.starts_with(metric));
        sum += lines
            .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
            .sum::<f64>();
    }
    sum
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real Collector: see `make compat`"]
async fn a_collector_s_topic_feeds_a_daemon() {
    let broker = Broker::start().await;
    for (encoding, by_id) in WAYS {
        feeds_a_daemon(&broker, encoding, by_id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real Collector: see `make compat`"]
async fn a_daemon_s_topic_feeds_a_collector() {
    let broker = Broker::start().await;
    for (encoding, by_id) in WAYS {
        feeds_a_collector(&broker, encoding, by_id).await;
    }
}

/// Two daemons share what the Collector writes: each trace is one daemon's, is decided there once, and leaves whole.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real Collector: see `make compat`"]
async fn a_collector_writes_into_the_log() {
    let (broker, sink) = (Broker::start().await, Sink::grpc());
    let brokers = broker.address();
    let members = [0, 1].map(|number| member(number, &brokers, PARTITIONS, &sink));
    let mut daemons = Vec::new();
    for member in &members {
        daemons.push(member.place.start().await);
    }
    until_async("each owns half of the log", async || {
        let mut half = true;
        for daemon in &daemons {
            let owned = sum(std::slice::from_ref(daemon), "tailwater_kafka_partitions").await;
            half &= owned == f64::from(PARTITIONS / 2);
        }
        half
    })
    .await;
    let collector = Collector::to_kafka(&format!(
        "brokers: ['{brokers}'], traces: {{topic: member.spans}}, partition_traces_by_id: true, \
         producer: {{required_acks: -1}}"
    ))
    .await;
    let sent = traffic();
    for request in &sent {
        collector.send(request).await;
    }
    collector.stop().await;
    let failed = (0..TRACES).filter(|trace| fails(*trace));
    let failed = failed.flat_map(|n| [request(n..n + 1, 0), request(n..n + 1, 1)]);
    let kept = written(&failed.collect::<Vec<_>>());
    until("the failed traces are at the sink", || {
        sink.count() >= kept.len()
    })
    .await;
    let mut ledger = Ledger::new();
    for daemon in &daemons {
        let own = at_rest(daemon, "otlp/0").await;
        assert!(own.contains_key("dropped"), "one decides nothing: {own:?}");
        for (state, spans) in own {
            *ledger.entry(state).or_default() += spans;
        }
    }
    let (all, left) = (2 * TRACES, u64::try_from(kept.len()).unwrap());
    let states = [
        ("accepted", all),
        ("delivered", left),
        ("dropped", all - left),
    ];
    let expected: Ledger = states.map(|(state, n)| (state.to_owned(), n)).into();
    assert_eq!(ledger, expected);
    let began = sum(&daemons, "tailwater_traces_total{").await;
    assert!((began - 200.0).abs() < 0.5, "{began} traces began");
    assert_same(&kept, &sink.spans(), "kept traces");
    for daemon in &mut daemons {
        assert!(daemon.terminate().await.0.success());
    }
    eprintln!(
        "Collector, log of two Tailwaters: {TRACES} traces, each decided once, {} spans kept, 0 differ",
        kept.len()
    );
}
