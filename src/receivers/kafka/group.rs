//! What the group tells its member: partitions come and go, commits succeed or fail.
//!
//! The callbacks run on the consumer's thread, within `poll`. A partition goes when what was read of it is in the log, or
//! after a short wait: what is still under way then is read again by the next owner.

use super::settings::{InitialOffset, KafkaReceiverSettings};
use super::start::Start;
use super::under_way::UnderWay;
use crate::clock::SharedClock;
use crate::kafka::Events;
use crate::receivers::stats::ReceiverStats;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::statistics::Statistics;
use rdkafka::{ClientContext, Offset, TopicPartitionList};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long a revoked partition waits for what was read of it: far below the time that the group waits for us.
const DRAIN: Duration = Duration::from_secs(3);

/// A member's view of its group.
#[derive(Debug)]
pub(super) struct Group {
    id: String,
    initial: InitialOffset,
    under_way: Arc<UnderWay>,
    stats: Arc<ReceiverStats>,
    pub(super) events: Events,
}

impl Group {
    pub(super) fn new(
        id: &str,
        settings: &KafkaReceiverSettings,
        under_way: Arc<UnderWay>,
        stats: Arc<ReceiverStats>,
        clock: SharedClock,
    ) -> Self {
        Self {
            id: id.to_owned(),
            initial: settings.initial_offset,
            under_way,
            stats,
            events: Events::new(id, clock),
        }
    }

    fn start(&self) -> Start<'_> {
        Start {
            receiver: &self.id,
            initial: self.initial,
            stats: &self.stats.kafka,
        }
    }

    fn assigned(&self, consumer: &BaseConsumer<Self>, assigned: &TopicPartitionList) {
        let starts = self.start().settle(consumer, assigned);
        self.under_way.with(|offsets| {
            for (topic, partition, next) in &starts {
                offsets.own(topic, *partition, *next);
            }
        });
        self.moved("assigned", assigned);
    }

    fn revoked(&self, consumer: &BaseConsumer<Self>, revoked: &TopicPartitionList) {
        let partitions: Vec<(Arc<str>, i32)> = revoked
            .elements()
            .iter()
            .map(|element| (Arc::from(element.topic()), element.partition()))
            .collect();
        let lost = consumer.assignment_lost();
        if !lost {
            if !self.under_way.wait_for(&partitions, DRAIN) {
                tracing::warn!(
                    receiver = self.id,
                    "Kafka: a partition goes before the log has all that was read of it; the next owner reads that again"
                );
            }
            commit(consumer, &self.under_way);
        }
        self.under_way.with(|offsets| {
            for (topic, partition) in &partitions {
                offsets.disown(topic, *partition);
            }
        });
        self.moved(if lost { "lost" } else { "revoked" }, revoked);
    }

    fn moved(&self, what: &'static str, partitions: &TopicPartitionList) {
        let owned = self.under_way.with(|offsets| offsets.count());
        let stats = &self.stats.kafka;
        stats.rebalances.fetch_add(1, Ordering::Relaxed);
        stats.partitions.store(owned as u64, Ordering::Relaxed);
        let moved = partitions.count();
        tracing::info!(receiver = self.id, moved, owned, "Kafka: partitions {what}");
    }

    /// The place that was to be read next is gone (retention, a truncated log): all partitions are checked, and read on
    /// from the nearest place that there is.
    pub(super) fn repair(&self, consumer: &BaseConsumer<Self>) {
        let start = self.start();
        for (topic, partition, next) in self.under_way.with(|offsets| offsets.next()) {
            let to = match next {
                Some(next) => start.within(consumer, &topic, partition, next),
                None => start.first(),
            };
            if to == next.map_or(Offset::Invalid, Offset::Offset) {
                continue;
            }
            match consumer.seek(&topic, partition, to, DRAIN) {
                Ok(()) => {
                    let next = if let Offset::Offset(next) = to {
                        Some(next)
                    } else {
                        None
                    };
                    self.under_way
                        .with(|offsets| offsets.own(&topic, partition, next));
                }
                Err(error) => self.events.failed(&error),
            }
        }
    }
}

/// Commits what is done, without waiting for the answer.
pub(super) fn commit(consumer: &BaseConsumer<Group>, under_way: &UnderWay) {
    let due = under_way.take_due();
    if due.is_empty() {
        return;
    }
    let mut list = TopicPartitionList::with_capacity(due.len());
    for (topic, partition, offset) in &due {
        // An offset that is no offset cannot be there: they come from the brokers.
        let _ = list.add_partition_offset(topic, *partition, Offset::Offset(*offset));
    }
    if let Err(error) = consumer.commit(&list, CommitMode::Async) {
        consumer.context().events.failed(&error);
        under_way.with(|offsets| {
            for (topic, partition, _) in &due {
                offsets.uncommit(topic, *partition);
            }
        });
    }
}

impl ClientContext for Group {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.events.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.events.error(error, reason);
    }

    fn stats(&self, statistics: Statistics) {
        let partitions = statistics
            .topics
            .values()
            .flat_map(|topic| topic.partitions.values());
        let lag = partitions
            .filter_map(|partition| u64::try_from(partition.consumer_lag).ok())
            .sum();
        self.stats.kafka.lag.store(lag, Ordering::Relaxed);
    }
}

impl ConsumerContext for Group {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Assign(partitions) => self.assigned(consumer, partitions),
            Rebalance::Revoke(partitions) => self.revoked(consumer, partitions),
            Rebalance::Error(error) => self.events.failed(error),
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, offsets: &TopicPartitionList) {
        if let Err(error) = &result {
            self.events.failed(error);
        }
        // The result is that of the request; each partition has its own.
        for element in offsets.elements() {
            if result.is_err() || element.error().is_err() {
                self.under_way
                    .with(|offsets| offsets.uncommit(element.topic(), element.partition()));
            }
        }
    }
}
