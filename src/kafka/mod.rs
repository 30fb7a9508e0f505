//! What every client of Kafka here shares: the connection's settings, librdkafka's errors in our words, a producer whose
//! delivery reports can be awaited.
//!
//! Knows no span, no log and no config file. librdkafka is behind the cargo feature `kafka`; settings are there without
//! it, so that a config means the same to every build.
//!
//! Invariants: only a delivery report proves that a broker has a record (a flush that returns success does not);
//! librdkafka never stores or commits an offset by itself; no text of a [`Failure`] or log line holds a payload, a key
//! or a credential.

#[cfg(feature = "kafka")]
mod connect;
#[cfg(feature = "kafka")]
mod events;
#[cfg(feature = "kafka")]
mod failure;
mod log_settings;
#[cfg(feature = "kafka")]
mod poison;
#[cfg(feature = "kafka")]
mod producer;
mod settings;
#[cfg(feature = "kafka")]
mod topic_findings;
#[cfg(feature = "kafka")]
mod topic_plan;
#[cfg(feature = "kafka")]
mod topics;

#[cfg(feature = "kafka")]
pub(crate) use connect::{Misfit, client_config, millis, misfit};
#[cfg(feature = "kafka")]
pub(crate) use events::Events;
#[cfg(feature = "kafka")]
pub(crate) use failure::Failure;
pub use log_settings::{GroupProtocol, KafkaLogSettings};
#[cfg(feature = "kafka")]
pub(crate) use poison::{Poison, PoisonLog};
#[cfg(feature = "kafka")]
pub(crate) use producer::{Producer, Receipt, Record};
pub use settings::{
    Acks, Codec, ConnectionSettings, Encoding, Hasher, Mechanism, ProducerSettings, Sasl,
};
#[cfg(feature = "kafka")]
pub use topic_findings::TopicFinding;
#[cfg(feature = "kafka")]
pub use topics::{TopicError, TopicFacts, verify_topics};

/// What a build without the feature says when it is asked for Kafka.
pub const NOT_BUILT: &str = "this build has no Kafka: build it with the cargo feature `kafka`";
