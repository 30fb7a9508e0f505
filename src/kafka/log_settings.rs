//! Settings of the log in Kafka: its two topics, the group that shares their partitions, how they are written.

use super::settings::{Codec, ConnectionSettings, ProducerSettings};
use std::time::Duration;

/// How members of the group agree on who owns what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupProtocol {
    /// The members deal the partitions out (cooperative-sticky): every broker knows it.
    #[default]
    Classic,
    /// The broker deals them out (KIP-848); brokers from 4.0 on.
    Consumer,
}

impl GroupProtocol {
    /// As it stands in the config, and as librdkafka has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Consumer => "consumer",
        }
    }
}

/// `buffer.kafka`. All daemons of a group have the same, but for [`Self::transactional_id`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaLogSettings {
    /// Brokers, TLS, user.
    pub connection: ConnectionSettings,
    /// How records are written; `required_acks` is always all in-sync replicas, and no broker makes a topic by itself.
    pub producer: ProducerSettings,
    /// Where accepted spans lie.
    pub topic: String,
    /// Where decisions lie; as many partitions as [`Self::topic`].
    pub decisions_topic: String,
    /// Where records go that nobody can read; none: they are counted and told.
    pub dead_letter_topic: Option<String>,
    /// Daemons of one group share the partitions.
    pub group_id: String,
    /// How they share them.
    pub group_protocol: GroupProtocol,
    /// A silent member is dead after this time. With [`GroupProtocol::Consumer`] brokers have their own.
    pub session_timeout: Duration,
    /// Partitions that both topics must have.
    pub partitions: u16,
    /// Replicas of a topic that is made.
    pub replication_factor: u16,
    /// Whether a missing topic is made.
    pub create: bool,
    /// How long a topic that is made keeps spans.
    pub retention: Duration,
    /// Names this process's producer of decisions; no other process may have it. None: [`Self::transactional_id_on`].
    pub transactional_id: Option<String>,
}

/// The longest that brokers leave a transaction open. design.md section 2.
const TRANSACTION: Duration = Duration::from_secs(10);

impl KafkaLogSettings {
    /// design.md sections 2 and 3; where they are silent, reference values for a fleet: a session of 30 s survives a long
    /// pause, lz4 makes a third of spans for next to no CPU.
    #[must_use]
    pub fn new() -> Self {
        let topic = "tailwater.spans".to_owned();
        Self {
            connection: ConnectionSettings::new(),
            producer: Self::producer(),
            decisions_topic: Self::decisions_of(&topic),
            topic,
            dead_letter_topic: None,
            group_id: "tailwater".to_owned(),
            group_protocol: GroupProtocol::Classic,
            session_timeout: Duration::from_secs(30),
            partitions: 12,
            replication_factor: 3,
            create: false,
            retention: Duration::from_secs(2 * 3600),
            transactional_id: None,
        }
    }

    /// Defaults of `producer`.
    #[must_use]
    pub fn producer() -> ProducerSettings {
        ProducerSettings {
            compression: Codec::Lz4,
            allow_auto_topic_creation: false,
            ..ProducerSettings::new()
        }
    }

    /// The decisions' topic beside a topic of spans.
    #[must_use]
    pub fn decisions_of(topic: &str) -> String {
        format!(
            "{}.decisions",
            topic.strip_suffix(".spans").unwrap_or(topic)
        )
    }

    /// The transactional id of a process on `host`. Two daemons of one group on one host need ids of their own in the
    /// config: with the same one each would shut the other out.
    #[must_use]
    pub fn transactional_id_on(&self, host: &str) -> String {
        let default = || format!("{}-{host}", self.group_id);
        self.transactional_id.clone().unwrap_or_else(default)
    }

    /// Below the session, so that what a dead owner left open does not hold up the next one.
    #[must_use]
    pub fn transaction_timeout(&self) -> Duration {
        TRANSACTION.min(self.session_timeout * 2 / 3)
    }
}

impl Default for KafkaLogSettings {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_lie_beside_spans() {
        let check =
            |topic, expected: &str| assert_eq!(KafkaLogSettings::decisions_of(topic), expected);
        check("tailwater.spans", "tailwater.decisions");
        check("spans", "spans.decisions");
        check("a.spans.b", "a.spans.b.decisions");
    }

    #[test]
    fn a_transaction_ends_before_the_session() {
        let check = |session, expected| {
            let settings = KafkaLogSettings {
                session_timeout: Duration::from_secs(session),
                ..KafkaLogSettings::new()
            };
            assert_eq!(
                settings.transaction_timeout(),
                Duration::from_secs(expected)
            );
        };
        check(30, 10);
        check(6, 4);
    }

    #[test]
    fn every_host_has_its_own_transactions() {
        let mut settings = KafkaLogSettings::new();
        assert_eq!(settings.transactional_id_on("pod-3"), "tailwater-pod-3");
        settings.transactional_id = Some("one".to_owned());
        assert_eq!(settings.transactional_id_on("pod-3"), "one");
    }
}
