//! The log in Kafka: spans in one topic, decisions in another with the same partitions, shared by the members of a group.
//!
//! Invariants (design: "Kafka"): a request is acknowledged when every record of it is; a partition has one owner, whose
//! decisions take effect only in a transaction that carries the group's generation; offsets are committed there and
//! nowhere else. What a member may hold of unread records is bounded; at the bound it pauses its partitions.

mod brokers;
mod dead_letters;
mod decisions;
mod fetch;
mod inlet;
mod log;
mod member;
mod partition;
mod place;
mod points;
mod queue;
mod request;
mod scribe;
mod stamps;
mod transaction;

pub(crate) use log::{KafkaBudgets, KafkaLog, OwnedPartition, Partitions};
pub(crate) use member::GroupStats;
pub(crate) use place::PARTITIONS_MAX;
