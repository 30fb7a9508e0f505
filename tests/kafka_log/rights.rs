//! Row 6: a right is taken away and given back.

use crate::broker::{PASSWORD, USER};
use crate::field::Field;
use crate::plan::Plan;
use crate::probe::{assert_refused, not_ready, send};
use crate::shared::broker;
use std::time::Duration;
use tokio::time::sleep;

/// Without a right to its topic the daemon is not ready and says why; it waits for the right, and spends nothing on it.
#[tokio::test(flavor = "multi_thread")]
async fn row_06_rights_that_are_missing() {
    let broker = broker().await;
    let name = "row06";
    let login = format!(
        ", create: true, replication_factor: 1, tls: {{ca_file: '{}'}}, \
         auth: {{sasl: {{mechanism: PLAIN, username: {USER}, password: {PASSWORD}}}}}",
        broker.ca_file()
    );
    let plan = Plan {
        kafka: login,
        ..Plan::new(name, &broker.secure_address())
    };
    let topic = plan.topic();
    let address = broker.address();
    // Once a topic has a right for anybody, nobody else has one.
    let acl = |what: &'static str, who: &'static str| {
        let mut words = vec![
            "org.apache.kafka.tools.AclCommand",
            "--bootstrap-server",
            &address,
        ];
        words.extend([
            what,
            "--allow-principal",
            who,
            "--operation",
            "All",
            "--topic",
            &topic,
        ]);
        if what == "--remove" {
            words.push("--force");
        }
        broker.tool(&words);
    };
    acl("--add", "User:bob");
    let mut field = Field::new(plan, 1).await;
    field.spawn(0);
    let reason = not_ready(field.daemon(0), &["authoriz", "row06.spans"]).await;
    eprintln!("not ready: {reason}");
    assert!(!reason.contains(PASSWORD) && !field.daemon(0).log().contains(PASSWORD));
    assert_refused(&send(field.daemon(0), 0..10, 0).await);
    acl("--remove", "User:bob");
    field.ready(0).await;
    let load = field.load(6, &[0]);
    sleep(Duration::from_secs(3)).await;
    // Taken away while spans come in: refused, not lost.
    acl("--add", "User:bob");
    sleep(Duration::from_secs(6)).await;
    let lines = field.daemon(0).log().lines().count();
    assert!(lines < 500, "it spins: {lines} lines of log");
    acl("--remove", "User:bob");
    field.ready(0).await;
    sleep(Duration::from_secs(2)).await;
    field.settle(load, crate::field::COPIES).await;
}
