//! `pipelines/sidecar-to-kafka.yaml` is valid, starts, and puts a failed trace into the topic.

use crate::broker::Broker;
use crate::support::daemon::{Place, run_to_end};
use crate::support::ledger::assert_ledger;
use crate::support::sender::send_grpc;
use crate::support::spans::flatten;
use crate::support::traffic::request;
use crate::topic;
use std::path::Path;

#[tokio::test(flavor = "multi_thread")]
async fn sidecar_to_kafka() {
    let broker = Broker::start().await;
    broker.topic("kept", 3, &[]).await;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/sidecar-to-kafka.yaml");
    let place = Place::with_file(&file, |place| {
        let (grpc, http, metrics) = (place.grpc, place.http, place.metrics);
        let log = place.path().join("log");
        vec![
            format!("receivers.otlp.protocols.grpc.endpoint=127.0.0.1:{grpc}"),
            format!("receivers.otlp.protocols.http.endpoint=127.0.0.1:{http}"),
            format!("service.telemetry.metrics.address=127.0.0.1:{metrics}"),
            "processors.tail_sampling.decision_wait=1s".to_owned(),
            format!(
                "processors.tail_sampling.buffer.disk.directory={}",
                log.display()
            ),
        ]
    });
    let place = place
        .environment("KAFKA_BROKER", broker.address())
        .environment("KAFKA_TOPIC", "kept");
    let (code, printed) = run_to_end(&mut place.command("validate"));
    assert_eq!(code, Some(0), "{printed}");
    let mut daemon = place.start().await;
    let failed = [request(10..11, 1), request(10..11, 0)];
    for request in &failed {
        send_grpc(daemon.grpc, request.clone()).await;
    }
    assert_ledger(&daemon, "kafka", 2, 2).await;
    let stored = topic::all(&broker, "kept");
    let requests: Vec<_> = stored.iter().map(topic::Stored::request).collect();
    // The coin writes its threshold into the trace state.
    let ids = |requests: &[_]| -> Vec<_> {
        let flat = flatten(requests).into_iter();
        flat.map(|span| (span.trace, span.span)).collect()
    };
    assert_eq!(ids(&requests), ids(&failed));
    assert!(daemon.terminate().await.0.success());
}
