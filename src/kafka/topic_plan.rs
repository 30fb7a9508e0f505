//! What the topics of the log in Kafka must be, and what they are made with where they are missing. Pure.

use super::log_settings::KafkaLogSettings;
use std::time::Duration;

/// A topic's segment: large enough that rolling is rare, small enough that retention is fine-grained and a restart of a
/// broker quick (the reference has 128 to 256 MiB).
const SEGMENT_BYTES: u64 = 128 << 20;
/// Only closed segments are deleted, so a slow topic must close them by time as well (the reference has 10 to 15 minutes).
const SEGMENT_TIME: Duration = Duration::from_mins(10);
/// What spans may outlive their retention by: a segment that is still open, and the time between two looks of a broker
/// (five minutes by default). Decisions outlive both.
const OVERHANG: Duration = Duration::from_mins(30);
/// Somebody looks at them on the next working day: what brokers have unless they are told otherwise.
const DEAD_LETTERS: Duration = Duration::from_hours(7 * 24);
/// What a batch has around its records: its header, and the keys and headers of the smallest ones.
const AROUND: u64 = 64 << 10;
/// Brokers' own `message.max.bytes`: nobody is made smaller than that.
const MESSAGE_BYTES: u64 = 1_048_588;

/// What both topics are checked against.
#[derive(Debug, Clone)]
pub(crate) struct TopicPlan {
    /// As commands have them: `one:9092,two:9092`.
    pub(crate) brokers: String,
    pub(crate) spans: String,
    pub(crate) decisions: String,
    pub(crate) dead_letters: Option<String>,
    pub(crate) partitions: u16,
    pub(crate) replicas: u16,
    /// Make what is missing.
    pub(crate) create: bool,
    /// Of spans, where they are made.
    pub(crate) retention: Duration,
    /// From a trace's first span to its decision, at most.
    pub(crate) longest_wait: Duration,
    pub(crate) late_window: Duration,
    /// The largest record.
    pub(crate) max_message_bytes: u32,
}

impl TopicPlan {
    /// For a log; the waits are the sampler's.
    pub(crate) fn of(
        log: &KafkaLogSettings,
        longest_wait: Duration,
        late_window: Duration,
    ) -> Self {
        Self {
            brokers: log.connection.brokers.join(","),
            spans: log.topic.clone(),
            decisions: log.decisions_topic.clone(),
            dead_letters: log.dead_letter_topic.clone(),
            partitions: log.partitions,
            replicas: log.replication_factor,
            create: log.create,
            retention: log.retention,
            longest_wait,
            late_window,
            max_message_bytes: log.producer.max_message_bytes,
        }
    }

    /// How long spans must be there.
    pub(crate) fn spans_needed(&self) -> Duration {
        self.longest_wait + self.late_window
    }

    /// How long decisions must be there beside spans that are kept for `spans`; none: for ever.
    pub(crate) fn decisions_needed(&self, spans: Option<Duration>) -> Option<Duration> {
        spans.map(|spans| spans + self.late_window)
    }

    /// A write needs so many replicas: all but one, so that one broker may be down.
    pub(crate) fn in_sync(&self) -> u16 {
        self.replicas.saturating_sub(1).max(1)
    }

    /// The settings of a topic that is made.
    pub(crate) fn settings(&self, topic: &str) -> Vec<(&'static str, String)> {
        let retention = if topic == self.decisions {
            self.retention + self.late_window + OVERHANG
        } else if self.dead_letters.as_deref() == Some(topic) {
            DEAD_LETTERS
        } else {
            self.retention
        };
        let segment = SEGMENT_TIME.min(self.retention / 4);
        let message = (u64::from(self.max_message_bytes) + AROUND).max(MESSAGE_BYTES);
        vec![
            ("cleanup.policy", "delete".to_owned()),
            ("message.timestamp.type", "LogAppendTime".to_owned()),
            ("retention.ms", retention.as_millis().to_string()),
            ("min.insync.replicas", self.in_sync().to_string()),
            ("max.message.bytes", message.to_string()),
            ("segment.bytes", SEGMENT_BYTES.max(message * 2).to_string()),
            ("segment.ms", segment.as_millis().max(1000).to_string()),
            ("unclean.leader.election.enable", "false".to_owned()),
        ]
    }

    /// One of [`Self::settings`].
    pub(crate) fn wanted(&self, topic: &str, key: &str) -> String {
        let settings = self.settings(topic);
        let wanted = settings.into_iter().find(|(name, _)| *name == key);
        wanted.map(|(_, value)| value).unwrap_or_default()
    }

    /// The command that makes a topic as [`Self::settings`] has it.
    pub(crate) fn creating(&self, topic: &str) -> String {
        let settings = self.settings(topic);
        let settings: Vec<String> = settings
            .iter()
            .map(|(key, value)| format!("--config {key}={value}"))
            .collect();
        format!(
            "kafka-topics.sh --bootstrap-server {} --create --topic {topic} --partitions {} --replication-factor {} {}",
            self.brokers,
            self.partitions,
            self.replicas,
            settings.join(" ")
        )
    }

    /// The command that sets one of a topic's settings.
    pub(crate) fn setting(&self, topic: &str, key: &str, value: &str) -> String {
        format!(
            "kafka-configs.sh --bootstrap-server {} --alter --entity-type topics --entity-name {topic} --add-config {key}={value}",
            self.brokers
        )
    }
}
