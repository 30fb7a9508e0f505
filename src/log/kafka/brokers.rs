//! The clients of one process, and what they are told. Each has a thread of librdkafka for each broker, so that they are
//! few and shared: only a reader of old decisions is a client of its own, for as long as it reads.

use crate::clock::SharedClock;
use crate::kafka::{Events, GroupProtocol, KafkaLogSettings, Misfit, client_config, millis};
use crate::log::errors::LogError;
use rdkafka::ClientConfig;
use rdkafka::config::FromClientConfigAndContext as _;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::KafkaError;
use rdkafka::{ClientContext, Offset, TopicPartitionList};
use std::io;
use std::time::Duration;

/// One question to the brokers; longer than a transaction may be left open, for offsets are answered when it has ended.
pub(super) const ASK: Duration = Duration::from_secs(15);

/// What every consumer reads ahead at most, in KiB: design.md section 2 charges it to nobody, so it is small.
const READ_AHEAD_KB: u32 = 8 << 10;

/// Makes clients.
#[derive(Debug, Clone)]
pub(crate) struct Brokers {
    pub(super) settings: KafkaLogSettings,
    pub(super) clock: SharedClock,
}

/// What a client without a group has to say.
pub(super) struct Quiet(Events);

impl ClientContext for Quiet {
    fn error(&self, error: KafkaError, reason: &str) {
        self.0.error(error, reason);
    }
}

impl ConsumerContext for Quiet {}

impl Brokers {
    fn common(&self) -> Result<ClientConfig, LogError> {
        client_config(&self.settings.connection).map_err(|misfit| refused(&misfit))
    }

    pub(super) fn events(&self, what: &str) -> Events {
        Events::new(what, self.clock.clone())
    }

    fn reading(&self, isolation: &str) -> Result<ClientConfig, LogError> {
        let mut config = self.common()?;
        config
            .set("group.id", &self.settings.group_id)
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("auto.offset.reset", "error")
            .set("isolation.level", isolation)
            .set("enable.partition.eof", "true")
            .set("check.crcs", "true")
            .set("queued.max.messages.kbytes", READ_AHEAD_KB.to_string())
            .set("fetch.queue.backoff.ms", "10")
            .set("fetch.max.bytes", (8 << 20).to_string())
            .set("fetch.wait.max.ms", "200")
            .set("allow.auto.create.topics", "false");
        Ok(config)
    }

    /// A consumer of partitions that it is given, outside the group.
    pub(super) fn reader(
        &self,
        what: &str,
        committed: bool,
    ) -> Result<BaseConsumer<Quiet>, LogError> {
        let isolation = if committed {
            "read_committed"
        } else {
            "read_uncommitted"
        };
        let config = self.reading(isolation)?;
        BaseConsumer::from_config_and_context(&config, Quiet(self.events(what)))
            .map_err(|error| failed("a consumer", &error))
    }

    /// What a member of the group is configured with.
    pub(super) fn member(&self) -> Result<ClientConfig, LogError> {
        let mut config = self.reading("read_committed")?;
        match self.settings.group_protocol {
            GroupProtocol::Classic => config
                .set("partition.assignment.strategy", "cooperative-sticky")
                .set("session.timeout.ms", millis(self.settings.session_timeout))
                .set(
                    "heartbeat.interval.ms",
                    millis(self.settings.session_timeout / 10),
                ),
            GroupProtocol::Consumer => config.set("group.protocol", "consumer"),
        };
        Ok(config)
    }

    /// What a producer is configured with that writes records as they come.
    pub(super) fn producer(&self) -> Result<ClientConfig, LogError> {
        let mut config = self.common()?;
        config
            .set("acks", "all")
            .set("enable.idempotence", "true")
            .set("allow.auto.create.topics", "false");
        Ok(config)
    }
}

/// Asks for the ends of partitions and for the group's offsets; shared by all partitions.
pub(super) struct Ends {
    all: BaseConsumer<Quiet>,
    committed: BaseConsumer<Quiet>,
}

impl std::fmt::Debug for Ends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ends").finish_non_exhaustive()
    }
}

impl Ends {
    pub(super) fn new(brokers: &Brokers) -> Result<Self, LogError> {
        Ok(Self {
            all: brokers.reader("kafka buffer: ends", false)?,
            committed: brokers.reader("kafka buffer: ends", true)?,
        })
    }

    /// Of all that lies in a partition.
    pub(super) fn of(&self, topic: &str, partition: u16) -> Result<(i64, i64), LogError> {
        watermarks(&self.all, topic, partition)
    }

    /// To a reader of what is committed the partition ends where the first open transaction begins.
    pub(super) fn of_committed(&self, topic: &str, partition: u16) -> Result<(i64, i64), LogError> {
        watermarks(&self.committed, topic, partition)
    }

    /// What the group has committed beside its offset of a partition.
    pub(super) fn metadata(&self, topic: &str, partition: u16) -> Result<String, LogError> {
        let asked = self
            .committed
            .committed_offsets(at(topic, partition, 0), ASK)
            .map_err(|error| failed("asking for the group's offsets", &error))?;
        let found = asked.find_partition(topic, i32::from(partition));
        Ok(found.map_or_else(String::new, |found| found.metadata().to_owned()))
    }
}

/// The offsets that a partition has: the first, and after the last.
pub(super) fn watermarks<C: ConsumerContext>(
    consumer: &BaseConsumer<C>,
    topic: &str,
    partition: u16,
) -> Result<(i64, i64), LogError> {
    let ends = consumer.fetch_watermarks(topic, i32::from(partition), ASK);
    ends.map_err(|error| {
        // librdkafka answers from what it knows of the cluster, which after a change of leaders may lack partitions for
        // minutes: the next try knows better.
        drop(consumer.fetch_metadata(Some(topic), ASK));
        failed("asking for the ends of a partition", &error)
    })
}

/// A list of one partition that is read from `offset` on.
pub(super) fn at(topic: &str, partition: u16, offset: i64) -> TopicPartitionList {
    let mut list = TopicPartitionList::with_capacity(1);
    // An offset that is no offset cannot be there: they come from the brokers.
    let _ = list.add_partition_offset(topic, i32::from(partition), Offset::Offset(offset));
    list
}

pub(super) fn failed(what: &'static str, error: &KafkaError) -> LogError {
    let source = io::Error::other(match error.rdkafka_error_code() {
        Some(code) => code.to_string(),
        None => error.to_string(),
    });
    LogError::Io { what, source }
}

pub(super) fn refused(misfit: &Misfit) -> LogError {
    LogError::Settings(format!("kafka: {}: {}", misfit.key, misfit.text))
}
