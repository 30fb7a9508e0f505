//! Where a partition is read from when it becomes ours, and again when that place is gone.
//!
//! `auto.offset.reset` is `error`: what librdkafka would pass over silently is counted and told here. The calls ask the
//! brokers, with a limit of time each; what cannot be learned is left to librdkafka, which then says so.

use super::settings::InitialOffset;
use super::stats::KafkaStats;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::{Offset, TopicPartitionList};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Below the session timeout, also for a few partitions in a row.
const ASK: Duration = Duration::from_secs(3);

/// Decides where reading begins.
pub(super) struct Start<'a> {
    pub(super) receiver: &'a str,
    pub(super) initial: InitialOffset,
    pub(super) stats: &'a KafkaStats,
}

impl Start<'_> {
    /// Sets the offset of each partition of an assignment; gives what is read first, where that is a number.
    pub(super) fn settle<C: ConsumerContext>(
        &self,
        consumer: &BaseConsumer<C>,
        assigned: &TopicPartitionList,
    ) -> Vec<(String, i32, Option<i64>)> {
        let committed = consumer.committed_offsets(assigned.clone(), ASK);
        if let Err(error) = &committed {
            tracing::warn!(receiver = self.receiver, %error, "Kafka: the committed offsets cannot be asked for");
        }
        let committed = committed.unwrap_or_default();
        let mut starts = Vec::new();
        for mut element in assigned.elements() {
            let (topic, partition) = (element.topic().to_owned(), element.partition());
            let known = committed.find_partition(&topic, partition);
            let start = match known.map(|known| known.offset()) {
                Some(Offset::Offset(next)) => self.within(consumer, &topic, partition, next),
                Some(_) => self.first(),
                None => Offset::Stored,
            };
            let number = match start {
                Offset::Offset(next) => Some(next),
                _ => None,
            };
            if element.set_offset(start).is_ok() {
                starts.push((topic, partition, number));
            }
        }
        starts
    }

    /// Where a group begins that has committed nothing.
    pub(super) fn first(&self) -> Offset {
        match self.initial {
            InitialOffset::Latest => Offset::End,
            InitialOffset::Earliest => Offset::Beginning,
        }
    }

    /// `next`, or the nearest that the topic still has. What is skipped is lost, and counted.
    pub(super) fn within<C: ConsumerContext>(
        &self,
        consumer: &BaseConsumer<C>,
        topic: &str,
        partition: i32,
        next: i64,
    ) -> Offset {
        let Ok((low, high)) = consumer.fetch_watermarks(topic, partition, ASK) else {
            return Offset::Offset(next);
        };
        let receiver = self.receiver;
        if next < low {
            let lost = low.abs_diff(next);
            self.stats.lost.fetch_add(lost, Ordering::Relaxed);
            tracing::error!(
                receiver,
                topic,
                partition,
                next,
                low,
                lost,
                "Kafka: records were deleted before they were read: the topic's retention is too short"
            );
            return Offset::Offset(low);
        }
        if next > high {
            tracing::error!(
                receiver,
                topic,
                partition,
                next,
                high,
                "Kafka: the topic ends before what was read of it: brokers have lost records"
            );
            return Offset::Offset(high);
        }
        Offset::Offset(next)
    }
}
