//! TLS and users: the right password delivers, a wrong one keeps the spans and is told, and none is ever shown.

use crate::broker::{Broker, PASSWORD, USER};
use crate::place::{from_kafka, to_kafka};
use crate::support::ledger::assert_ledger;
use crate::support::recipe::ALL;
use crate::support::sender::send_grpc;
use crate::support::sink::Sink;
use crate::support::traffic::request;
use crate::support::wait::until;

fn secure(broker: &Broker, mechanism: &str, password: &str) -> String {
    format!(
        "brokers: ['{}'], tls: {{ca_file: '{}'}}, \
         auth: {{sasl: {{mechanism: {mechanism}, username: {USER}, password: {password}}}}}",
        broker.secure_address(),
        broker.ca_file()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_with_the_right_password_gets_in_over_tls() {
    let broker = Broker::start().await;
    for (number, mechanism) in ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
        .iter()
        .enumerate()
    {
        let topic = format!("spans-{number}");
        broker.topic(&topic, 1, &[]).await;
        let sink = Sink::grpc();
        let connection = secure(&broker, mechanism, PASSWORD);
        let writer = to_kafka(ALL, &format!("{connection}, traces: {{topic: {topic}}}"));
        let reader = from_kafka(
            &format!(
                "{connection}, traces: {{topics: [{topic}]}}, initial_offset: earliest, group_id: {topic}"
            ),
            &sink,
        );
        let writing = writer.place.start().await;
        let reading = reader.place.start().await;
        send_grpc(writing.grpc, request(1..2, 0)).await;
        assert_ledger(&writing, "kafka", 1, 1).await;
        until("the span is at the sink", || sink.count() == 1).await;
        assert!(!reading.log().contains(PASSWORD) && !writing.log().contains(PASSWORD));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_told_and_costs_no_span() {
    let broker = Broker::start().await;
    broker.topic("spans", 1, &[]).await;
    let connection = secure(&broker, "SCRAM-SHA-256", "canary-wrong");
    let settings = format!("{connection}, traces: {{topic: spans}}, timeout: 1s");
    let writer = to_kafka(ALL, &settings);
    let daemon = writer.place.start().await;
    send_grpc(daemon.grpc, request(1..2, 0)).await;
    until("the wrong password is told", || {
        daemon
            .log()
            .to_lowercase()
            .contains("authentication failure")
    })
    .await;
    assert!(!daemon.log().contains("canary"));
    drop(daemon);
    // The right one, later: the span has waited in the log.
    let password = format!("exporters.kafka.auth.sasl.password={PASSWORD}");
    let place = writer.place.set(&password);
    let daemon = place.start().await;
    assert_ledger(&daemon, "kafka", 1, 1).await;
}
