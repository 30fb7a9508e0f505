//! `pipelines/kafka-tier.yaml` is valid, starts twice, makes its topics, and delivers a failed trace whichever daemon took it.

use crate::shared::broker;
use crate::support::daemon::{Place, run_to_end};
use crate::support::sender::send_grpc;
use crate::support::sink::Sink;
use crate::support::spans::{assert_same, flatten};
use crate::support::traffic::request;
use crate::support::wait::until;
use std::path::Path;

fn place(number: usize, sink: &Sink, brokers: &str) -> Place {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/kafka-tier.yaml");
    let place = Place::with_file(&file, |place| {
        let (grpc, http, metrics) = (place.grpc, place.http, place.metrics);
        let health = crate::support::ports::free();
        vec![
            format!("receivers.otlp.protocols.grpc.endpoint=127.0.0.1:{grpc}"),
            format!("receivers.otlp.protocols.http.endpoint=127.0.0.1:{http}"),
            format!("extensions.health_check.endpoint=127.0.0.1:{health}"),
            format!("service.telemetry.metrics.address=127.0.0.1:{metrics}"),
            // Two on one host.
            format!("processors.tail_sampling.buffer.kafka.transactional_id=tier-{number}"),
            "processors.tail_sampling.buffer.kafka.group_id=tier".to_owned(),
            "processors.tail_sampling.decision_wait=1s".to_owned(),
            "processors.tail_sampling.decision_wait_after_root_received=0s".to_owned(),
        ]
    });
    place
        .environment("KAFKA_BROKER", brokers)
        .environment("KAFKA_TOPIC", "tier.spans")
        .environment("KAFKA_DEAD_LETTERS", "tier.dead")
        .environment("KAFKA_REPLICAS", "1")
        .environment(
            "TRACES_ENDPOINT",
            format!("http://127.0.0.1:{}", sink.port()),
        )
}

#[tokio::test(flavor = "multi_thread")]
async fn kafka_tier() {
    let broker = broker().await;
    let sink = Sink::http();
    let places = [0, 1].map(|number| place(number, &sink, &broker.address()));
    let (code, printed) = run_to_end(&mut places[0].command("validate"));
    assert_eq!(code, Some(0), "{printed}");
    let mut daemons = Vec::new();
    for place in &places {
        daemons.push(place.start().await);
    }
    // The parts of a trace come to different daemons.
    let failed: Vec<_> = (1..9)
        .flat_map(|n| {
            [
                request(n * 10..n * 10 + 1, 0),
                request(n * 10..n * 10 + 1, 1),
            ]
        })
        .collect();
    for (number, request) in failed.iter().enumerate() {
        send_grpc(daemons[number % 2].grpc, request.clone()).await;
    }
    until("all of them are at the sink", || {
        sink.count() >= failed.len()
    })
    .await;
    assert_same(&flatten(&failed), &sink.spans(), "failed traces");
    for daemon in &mut daemons {
        assert!(daemon.terminate().await.0.success());
    }
}
