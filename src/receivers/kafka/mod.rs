//! The `kafka` receiver: OTLP records of topics, read as a member of a consumer group.
//!
//! Invariants: an offset is committed only behind records that the log has (or that were passed over for good, counted
//! and told); librdkafka neither stores nor commits any by itself. Reading stops where the intake budget is full, and
//! goes on when there is room: the topic holds the backlog. Records under way at once may reach the log in another order.

#[cfg(feature = "kafka")]
mod consumer;
#[cfg(feature = "kafka")]
mod contents;
#[cfg(feature = "kafka")]
mod dead_letter;
#[cfg(feature = "kafka")]
mod group;
#[cfg(feature = "kafka")]
mod offsets;
#[cfg(feature = "kafka")]
mod receiver;
#[cfg(feature = "kafka")]
mod record;
mod settings;
#[cfg(feature = "kafka")]
mod start;
mod stats;
#[cfg(feature = "kafka")]
mod under_way;

#[cfg(feature = "kafka")]
pub use receiver::KafkaReceiver;
pub use settings::{InitialOffset, KafkaReceiverSettings, Strategy, Topics};
pub use stats::KafkaStats;
