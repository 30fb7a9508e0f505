//! Backends that are late, dead, slow or refusing; files; two backends that know nothing of each other.

use crate::support::daemon::Place;
use crate::support::fixtures;
use crate::support::ledger::{assert_ledger, becomes, states};
use crate::support::recipe::{ALL, ERRORS, Recipe};
use crate::support::sender::{send_grpc, send_protobuf};
use crate::support::sink::{Manner, Sink};
use crate::support::spans::{Flat, assert_same, flatten};
use crate::support::traffic::{failing_first, fails, request};
use crate::support::wait::until;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use std::fs;
use std::time::Duration;

/// Spans that [`send_hundred`] sends.
const SENT: usize = 300;

/// Sends 100 traces of three spans, ten of which fail; the spans that are to be kept.
async fn send_hundred(port: u16) -> Vec<Flat> {
    for part in failing_first(3) {
        send_grpc(port, request(0..100, part)).await;
    }
    let kept = (0..100).filter(|trace| fails(*trace));
    let requests: Vec<_> = kept
        .flat_map(|trace| (0..3).map(move |part| request(trace..trace + 1, part)))
        .collect();
    flatten(&requests)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_comes_later_gets_everything() {
    let mut sink = Sink::dead();
    let place = Place::new(&Recipe::new(ERRORS, &[&sink]));
    let mut daemon = place.start().await;
    let expected = send_hundred(daemon.grpc).await;
    let kept = expected.len() as u64;
    let decided = [
        ("accepted", SENT as u64),
        ("awaiting", kept),
        ("dropped", SENT as u64 - kept),
    ];
    becomes(&daemon, &sink.exporter(0).0, &states(decided)).await;
    sink.start();
    until("all kept spans are at the sink", || {
        sink.count() >= expected.len()
    })
    .await;
    assert_ledger(&daemon, &sink.exporter(0).0, SENT, expected.len()).await;
    assert!(daemon.terminate().await.0.success());
    assert_same(&expected, &sink.spans(), "a late backend");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_backend_does_not_touch_a_healthy_one() {
    let (healthy, mut dead) = (Sink::grpc(), Sink::dead());
    let place = Place::new(&Recipe::new(ERRORS, &[&healthy, &dead]));
    let mut daemon = place.start().await;
    let expected = send_hundred(daemon.grpc).await;
    until("all kept spans are at the healthy sink", || {
        healthy.count() >= expected.len()
    })
    .await;
    // The dead one's part waits in the log while the daemon is away, too.
    assert!(daemon.terminate().await.0.success());
    assert_same(&expected, &healthy.spans(), "the healthy backend");
    let mut daemon = place.start().await;
    dead.start();
    until("all kept spans are at the other sink", || {
        dead.count() >= expected.len()
    })
    .await;
    for (number, sink) in [&healthy, &dead].into_iter().enumerate() {
        assert_ledger(&daemon, &sink.exporter(number).0, SENT, expected.len()).await;
    }
    assert!(daemon.terminate().await.0.success());
    assert_same(&expected, &dead.spans(), "the backend that was dead");
    assert_same(
        &expected,
        &healthy.spans(),
        "the healthy backend, at the end",
    );
    place.assert_log_is_sound();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_refuses_is_asked_again() {
    for mut sink in [Sink::grpc(), Sink::http()] {
        sink.behave(Manner::Refuse);
        let place = Place::new(&Recipe::new(ERRORS, &[&sink]));
        let mut daemon = place.start().await;
        let expected = send_hundred(daemon.grpc).await;
        until("the sink has refused several times", || sink.refused() >= 3).await;
        sink.stop();
        sink.behave(Manner::Take);
        sink.start();
        until("all kept spans are at the sink", || {
            sink.count() >= expected.len()
        })
        .await;
        assert_ledger(&daemon, &sink.exporter(0).0, SENT, expected.len()).await;
        assert!(daemon.terminate().await.0.success());
        assert_same(&expected, &sink.spans(), "a backend that refused");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_backend_gets_everything_once() {
    let sink = Sink::grpc();
    sink.behave(Manner::Slow(Duration::from_millis(700)));
    let place = Place::new(&Recipe::new(ERRORS, &[&sink]));
    let mut daemon = place.start().await;
    let expected = send_hundred(daemon.grpc).await;
    until("all kept spans are at the sink", || {
        sink.count() >= expected.len()
    })
    .await;
    assert_ledger(&daemon, &sink.exporter(0).0, SENT, expected.len()).await;
    assert!(daemon.terminate().await.0.success());
    assert_same(&expected, &sink.spans(), "a slow backend");
}

#[tokio::test(flavor = "multi_thread")]
async fn compressions_carry_the_same_spans() {
    let sinks = [
        Sink::grpc(),
        Sink::grpc(),
        Sink::grpc(),
        Sink::http(),
        Sink::http(),
        Sink::http(),
    ];
    let mut recipe = Recipe::new(ALL, &[]);
    for (sink, compression) in sinks.iter().zip(["gzip", "zstd", "none"].iter().cycle()) {
        let (kind, settings) = sink.exporter(0);
        let kind = kind.trim_end_matches("/0");
        let settings = settings.replacen('{', &format!("{{compression: {compression}, "), 1);
        recipe = recipe.exporter(&format!("{kind}/{compression}"), settings);
    }
    let place = Place::new(&recipe);
    let mut daemon = place.start().await;
    let fixtures = fixtures::protobuf();
    let expected = flatten(fixtures.iter().map(|fixture| &fixture.message));
    for fixture in fixtures {
        send_protobuf(daemon.http, fixture.bytes).await;
    }
    for sink in &sinks {
        until("all spans are at every sink", || {
            sink.count() >= expected.len()
        })
        .await;
    }
    assert!(daemon.terminate().await.0.success());
    for sink in &sinks {
        assert_same(&expected, &sink.spans(), "one of six compressions");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_holds_what_was_kept_as_json() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("traces.jsonl");
    let recipe = Recipe::new(ALL, &[]).exporter("file", format!("{{path: '{}'}}", file.display()));
    let place = Place::new(&recipe);
    let mut daemon = place.start().await;
    let fixtures = fixtures::protobuf();
    let expected = flatten(fixtures.iter().map(|fixture| &fixture.message));
    for fixture in fixtures {
        send_protobuf(daemon.http, fixture.bytes).await;
    }
    let read = || -> Vec<ExportTraceServiceRequest> {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    until("all spans are in the file", || {
        flatten(&read()).len() >= expected.len()
    })
    .await;
    assert!(daemon.terminate().await.0.success());
    assert_same(&expected, &flatten(&read()), "the file");
}
