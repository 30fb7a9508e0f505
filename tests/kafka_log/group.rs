//! A group as its coordinator sees it.

use crate::broker::Broker;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use std::time::Duration;
use tokio::time::Instant;

const ASK: Duration = Duration::from_secs(10);

/// Members of a group that has come to rest; `None` while it deals partitions out, or when nobody knows it.
pub(crate) fn members(broker: &Broker, group: &str) -> Option<usize> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", broker.address())
        .create()
        .unwrap();
    let groups = consumer.fetch_group_list(Some(group), ASK).ok()?;
    let found = groups.groups().iter().find(|one| one.name() == group)?;
    (found.state() == "Stable").then(|| found.members().len())
}

/// A member that takes partitions and does nothing with them.
pub(crate) struct Stranger(BaseConsumer);

impl Stranger {
    pub(crate) fn join(broker: &Broker, group: &str, topic: &str) -> Self {
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", broker.address())
            .set("group.id", group)
            .set("client.id", "stranger")
            .set("partition.assignment.strategy", "cooperative-sticky")
            .set("session.timeout.ms", "6000")
            .set("enable.auto.commit", "false")
            .create()
            .unwrap();
        consumer.subscribe(&[topic]).unwrap();
        Self(consumer)
    }

    /// Stays for a while, as a member that is alive.
    pub(crate) fn stay(&self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            drop(self.0.poll(Duration::from_millis(100)));
        }
    }
}
