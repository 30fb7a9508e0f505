//! Starts the consumer's thread, makes a new client when one is broken, stops in bounded time.

use super::consumer::{Ended, Loop};
use super::contents::Contents;
use super::dead_letter::DeadLetters;
use super::group::Group;
use super::record::Intake;
use super::settings::{KafkaReceiverSettings, Strategy};
use super::under_way::UnderWay;
use crate::clock::SharedClock;
use crate::kafka::{Hasher, Misfit, Producer, ProducerSettings, client_config, misfit};
use crate::otlp::Telemetry;
use crate::receivers::destination::Destination;
use crate::receivers::error::ReceiverError;
use rdkafka::ClientConfig;
use rdkafka::config::FromClientConfigAndContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What is read ahead: beside the intake budget, for each receiver.
const READ_AHEAD_KBYTES: &str = "8192";
/// librdkafka's smallest limit of an answer's size.
const SMALLEST_LIMIT: u32 = 100_000_000;
/// Time for the thread to end: a dead coordinator may hold it for as long as a session.
const PATIENCE: Duration = Duration::from_secs(15);
/// A consumer that has not polled for so long is out of the group: librdkafka's default.
const POLLED: Duration = Duration::from_secs(300);
/// Between a broken client and a new one.
const AGAIN: Duration = Duration::from_secs(1);
/// Time for one try of a dead letter: the Collector's for a record.
const DEAD_LETTER: Duration = Duration::from_secs(5);

/// One `kafka` receiver.
pub struct KafkaReceiver {
    id: String,
    settings: KafkaReceiverSettings,
    config: ClientConfig,
    destination: Destination,
    dead_letters: Option<(Producer, String)>,
    clock: SharedClock,
}

/// Neither brokers nor credentials.
impl fmt::Debug for KafkaReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaReceiver")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl KafkaReceiver {
    /// Checks the settings, certificates included; brokers that do not answer are no error: they may come.
    ///
    /// # Errors
    /// What the operator has to put right.
    pub fn new(
        id: &str,
        settings: KafkaReceiverSettings,
        destination: Destination,
        clock: SharedClock,
    ) -> Result<Self, ReceiverError> {
        let refused = |misfit: Misfit| ReceiverError::Kafka {
            id: id.to_owned(),
            key: misfit.key,
            reason: misfit.text,
        };
        let mut config = client_config(&settings.connection).map_err(refused)?;
        consume(&mut config, &settings);
        let dead_letters = settings.dead_letter_topic.clone().map(|topic| {
            let producer = Producer::new(
                id,
                &settings.connection,
                &ProducerSettings::new(),
                Hasher::SaramaCompat,
                DEAD_LETTER,
                clock.clone(),
            );
            producer.map(|producer| (producer, topic))
        });
        let this = Self {
            id: id.to_owned(),
            dead_letters: dead_letters.transpose().map_err(refused)?,
            settings,
            config,
            destination,
            clock,
        };
        // Made and thrown away: only so are certificates read.
        this.connect(&Arc::default()).map_err(refused)?;
        Ok(this)
    }

    fn connect(&self, under_way: &Arc<UnderWay>) -> Result<BaseConsumer<Group>, Misfit> {
        let group = Group::new(
            &self.id,
            &self.settings,
            under_way.clone(),
            self.destination.stats.clone(),
            self.clock.clone(),
        );
        BaseConsumer::from_config_and_context(&self.config, group).map_err(|error| misfit(&error))
    }

    /// Reads until `stop`, then finishes what is in flight. What it starts is tracked by `tracker`.
    ///
    /// # Errors
    /// When there is no thread.
    pub fn start(self, tracker: &TaskTracker, stop: CancellationToken) -> std::io::Result<()> {
        let (id, runtime, tasks) = (self.id.clone(), Handle::current(), tracker.clone());
        let (ended, end) = oneshot::channel();
        let stopping = stop.clone();
        std::thread::Builder::new()
            .name(format!("kafka-{id}"))
            .spawn(move || {
                self.run(&tasks, &runtime, &stop);
                let _ = ended.send(());
            })?;
        tracker.spawn(async move {
            stopping.cancelled().await;
            if tokio::time::timeout(PATIENCE, end).await.is_err() {
                tracing::warn!(
                    receiver = id,
                    "Kafka: the group cannot be left in time; it forgets this member by itself"
                );
            }
        });
        Ok(())
    }

    fn run(mut self, tracker: &TaskTracker, runtime: &Handle, stop: &CancellationToken) {
        let stats = self.destination.stats.clone();
        let letters = self.dead_letters.take();
        let intake = Arc::new(Intake {
            destination: self.destination.clone(),
            contents: Contents::of(&self.settings, self.destination.ways.take(Telemetry::Logs)),
            dead_letters: DeadLetters::new(&self.id, letters, stats, self.clock.clone()),
            stop: stop.clone(),
        });
        let topics = intake.contents.topics();
        while !stop.is_cancelled() {
            let under_way: Arc<UnderWay> = Arc::default();
            let consumer = self.connect(&under_way);
            let subscribed = consumer.and_then(|consumer| {
                let subscribed = consumer.subscribe(&topics);
                subscribed
                    .map(|()| consumer)
                    .map_err(|error| misfit(&error))
            });
            let consumer = match subscribed {
                Ok(consumer) => consumer,
                Err(misfit) => {
                    tracing::error!(
                        receiver = self.id,
                        key = misfit.key,
                        reason = misfit.text,
                        "Kafka: no consumer; trying again"
                    );
                    under_way.wait_for_one(AGAIN);
                    continue;
                }
            };
            tracing::info!(receiver = self.id, "Kafka: reading");
            let reading = Loop {
                consumer,
                intake: intake.clone(),
                under_way: under_way.clone(),
                tracker: tracker.clone(),
                runtime: runtime.clone(),
                commit_interval: self.settings.commit_interval,
                clock: self.clock.clone(),
                waiting: Default::default(),
                committed_at: self.clock.monotonic(),
            };
            if reading.run() == Ended::Broken {
                tracing::warn!(receiver = self.id, "Kafka: the consumer is made anew");
                under_way.wait_for_one(AGAIN);
            }
        }
    }
}

fn consume(config: &mut ClientConfig, settings: &KafkaReceiverSettings) {
    let strategies: Vec<&str> = settings
        .strategies
        .iter()
        .map(|one: &Strategy| one.name())
        .collect();
    let most = settings
        .max_fetch_size
        .max(settings.max_partition_fetch_size);
    let millis = |time: Duration| time.as_millis().to_string();
    config
        .set("group.id", settings.group_id.as_str())
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("auto.offset.reset", "error")
        .set("partition.assignment.strategy", strategies.join(","))
        .set("session.timeout.ms", millis(settings.session_timeout))
        // librdkafka wants it above the session's.
        .set(
            "max.poll.interval.ms",
            millis(settings.session_timeout.max(POLLED)),
        )
        .set("heartbeat.interval.ms", millis(settings.heartbeat_interval))
        .set("fetch.min.bytes", settings.min_fetch_size.to_string())
        .set("fetch.wait.max.ms", millis(settings.max_fetch_wait))
        .set("fetch.max.bytes", settings.max_fetch_size.to_string())
        // librdkafka wants it below the size of an answer; a larger record is fetched all the same.
        .set(
            "message.max.bytes",
            settings.max_fetch_size.clamp(1000, 1_000_000).to_string(),
        )
        .set(
            "max.partition.fetch.bytes",
            settings.max_partition_fetch_size.to_string(),
        )
        .set(
            "receive.message.max.bytes",
            most.saturating_add(1 << 20).max(SMALLEST_LIMIT).to_string(),
        )
        .set("queued.max.messages.kbytes", READ_AHEAD_KBYTES)
        // A second by default, which is what a small queue would wait each time.
        .set("fetch.queue.backoff.ms", "10")
        // Of the lag.
        .set("statistics.interval.ms", "10000");
    if let Some(instance) = &settings.group_instance_id {
        config.set("group.instance.id", instance.as_str());
    }
    if let Some(rack) = &settings.rack_id {
        config.set("client.rack", rack.as_str());
    }
}
