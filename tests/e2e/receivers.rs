//! Requests of many instrumentations, replayed byte for byte through each receiver; the sink gets what prost reads in them.

use crate::support::daemon::Place;
use crate::support::fixtures::{self, Fixture};
use crate::support::ledger::assert_ledger;
use crate::support::recipe::{ALL, Recipe};
use crate::support::sender::{send_grpc, send_json, send_protobuf};
use crate::support::sink::Sink;
use crate::support::spans::{assert_same, flatten};
use crate::support::wait::until;

async fn check(name: &str, fixtures: Vec<Fixture>, send: impl AsyncFn(u16, u16, Fixture)) {
    let sink = Sink::grpc();
    let place = Place::new(&Recipe::new(ALL, &[&sink]));
    let mut daemon = place.start().await;
    let expected = flatten(fixtures.iter().map(|fixture| &fixture.message));
    for fixture in fixtures {
        send(daemon.grpc, daemon.http, fixture).await;
    }
    until("all spans are at the sink", || {
        sink.count() >= expected.len()
    })
    .await;
    assert_ledger(&daemon, &sink.exporter(0).0, expected.len(), sink.count()).await;
    assert!(daemon.terminate().await.0.success());
    assert_same(&expected, &sink.spans(), name);
}

#[tokio::test(flavor = "multi_thread")]
async fn dialects_over_grpc() {
    let send = async |grpc, _, fixture: Fixture| send_grpc(grpc, fixture.message).await;
    check("gRPC", fixtures::protobuf(), send).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dialects_over_http_protobuf() {
    let send = async |_, http, fixture: Fixture| send_protobuf(http, fixture.bytes).await;
    check("HTTP protobuf", fixtures::protobuf(), send).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dialects_over_http_json() {
    let send = async |_, http, fixture: Fixture| send_json(http, fixture.bytes).await;
    check("HTTP JSON", fixtures::json(), send).await;
}
