//! A producer whose delivery reports can be awaited.
//!
//! One thread of the wrapper serves the reports. A fatal error (of an idempotent producer, whose order is lost for good)
//! is put right by a new client; what was in the old one is reported as failed and is the caller's to send again.

use super::connect::{Misfit, client_config, millis, misfit};
use super::events::Events;
use super::failure::Failure;
use super::settings::{Acks, ConnectionSettings, Hasher, ProducerSettings};
use crate::clock::SharedClock;
use parking_lot::Mutex;
use rdkafka::ClientConfig;
use rdkafka::ClientContext;
use rdkafka::config::{FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// What the producer holds at most: twice what an exporter has under way, as copies.
const QUEUE_KBYTES: u32 = 32 << 10;

/// librdkafka's longest time for a record, 24 days.
const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

/// Tells the sender of a record how it went.
type Report = Box<oneshot::Sender<Result<(), Failure>>>;

/// The report of one record, to come.
pub(crate) type Receipt = oneshot::Receiver<Result<(), Failure>>;

/// A record to be sent.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) topic: &'a str,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: &'a [u8],
    /// Names with values.
    pub(crate) headers: &'a [(&'a str, String)],
}

struct Reports(Events);

impl ClientContext for Reports {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.0.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.0.error(error, reason);
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = Report;

    fn delivery(&self, result: &DeliveryResult<'_>, report: Report) {
        let outcome = match result {
            Ok(_) => Ok(()),
            Err((error, _)) => Err(Failure::of(error)),
        };
        // Nobody waits any longer: the daemon stops.
        let _ = report.send(outcome);
    }
}

/// Sends records to the topics of one cluster.
pub(crate) struct Producer {
    id: String,
    config: ClientConfig,
    clock: SharedClock,
    client: Mutex<Arc<ThreadedProducer<Reports>>>,
}

impl Producer {
    /// Connects with the first record. `timeout` is the time for one record; zero is no limit.
    pub(crate) fn new(
        id: &str,
        connection: &ConnectionSettings,
        settings: &ProducerSettings,
        hasher: Hasher,
        timeout: Duration,
        clock: SharedClock,
    ) -> Result<Self, Misfit> {
        let mut config = client_config(connection)?;
        produce(&mut config, settings, hasher, timeout);
        let client = connect(&config, id, &clock).map_err(|error| misfit(&error))?;
        Ok(Self {
            id: id.to_owned(),
            config,
            clock,
            client: Mutex::new(Arc::new(client)),
        })
    }

    /// Puts a copy of a record into the queue.
    pub(crate) fn send(&self, record: &Record<'_>) -> Result<Receipt, Failure> {
        let (report, receipt) = oneshot::channel();
        let mut out: BaseRecord<'_, [u8], [u8], Report> =
            BaseRecord::with_opaque_to(record.topic, Box::new(report)).payload(record.value);
        if let Some(key) = record.key {
            out = out.key(key);
        }
        if !record.headers.is_empty() {
            let mut headers = OwnedHeaders::new_with_capacity(record.headers.len());
            for (key, value) in record.headers {
                let value = Some(value.as_str());
                headers = headers.insert(rdkafka::message::Header { key, value });
            }
            out = out.headers(headers);
        }
        let client = self.client.lock().clone();
        match client.send(out) {
            Ok(()) => Ok(receipt),
            Err((error, _)) => {
                self.renew(&client);
                Err(Failure::of(&error))
            }
        }
    }

    /// A new client, when this one is broken for good.
    fn renew(&self, broken: &Arc<ThreadedProducer<Reports>>) {
        let Some((code, _)) = broken.client().fatal_error() else {
            return;
        };
        let mut client = self.client.lock();
        if !Arc::ptr_eq(&client, broken) {
            return;
        }
        tracing::warn!(component = self.id, error = %code, "Kafka: the producer is made anew");
        match connect(&self.config, &self.id, &self.clock) {
            Ok(new) => *client = Arc::new(new),
            Err(error) => tracing::error!(
                component = self.id,
                error = misfit(&error).text,
                "Kafka: no new producer"
            ),
        }
    }
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

fn connect(
    config: &ClientConfig,
    id: &str,
    clock: &SharedClock,
) -> Result<ThreadedProducer<Reports>, KafkaError> {
    ThreadedProducer::from_config_and_context(config, Reports(Events::new(id, clock.clone())))
}

fn produce(
    config: &mut ClientConfig,
    settings: &ProducerSettings,
    hasher: Hasher,
    timeout: Duration,
) {
    let acks = match settings.required_acks {
        Acks::None => "0",
        Acks::Leader => "1",
        Acks::All => "all",
    };
    let partitioner = match hasher {
        Hasher::SaramaCompat => "fnv1a_random",
        Hasher::Murmur2 => "murmur2_random",
    };
    let idempotent = settings.required_acks == Acks::All;
    // librdkafka wants more time than it lingers.
    let timeout = if timeout.is_zero() {
        timeout
    } else {
        timeout.clamp(settings.linger + Duration::from_millis(1), LONGEST)
    };
    // One record must fit, whatever its size.
    let queue = QUEUE_KBYTES.max(settings.max_message_bytes >> 9);
    config
        .set("acks", acks)
        .set("enable.idempotence", idempotent.to_string())
        .set("compression.type", settings.compression.name())
        .set("partitioner", partitioner)
        .set("linger.ms", millis(settings.linger))
        .set("message.timeout.ms", millis(timeout))
        .set("message.max.bytes", settings.max_message_bytes.to_string())
        .set(
            "batch.num.messages",
            settings.flush_max_messages.to_string(),
        )
        .set("queue.buffering.max.kbytes", queue.to_string())
        .set(
            "allow.auto.create.topics",
            settings.allow_auto_topic_creation.to_string(),
        );
    if let Some(level) = settings.compression_level {
        config.set("compression.level", level.to_string());
    }
}
