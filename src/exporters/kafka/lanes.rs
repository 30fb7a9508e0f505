//! Two producers to one topic: records together in large requests, and, once the broker has refused such a request for its
//! size, records alone.
//!
//! A broker measures what arrives together: it refuses a request that is over the topic's limit, not the record in it
//! that is. Only of a record that left alone is its word on the size a word on that record.

use super::settings::KafkaExporterSettings;
use crate::clock::SharedClock;
use crate::kafka::{Failure, Misfit, Producer, ProducerSettings, Receipt, Record};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Lanes {
    id: String,
    settings: KafkaExporterSettings,
    timeout: Duration,
    clock: SharedClock,
    together: Producer,
    /// Made when it is needed, which is where a topic's limit is below ours.
    alone: Mutex<Option<Arc<Producer>>>,
}

impl Lanes {
    pub(super) fn new(
        id: &str,
        settings: &KafkaExporterSettings,
        timeout: Duration,
        clock: SharedClock,
    ) -> Result<Self, Misfit> {
        Ok(Self {
            id: id.to_owned(),
            together: producer(id, settings, &settings.producer, timeout, clock.clone())?,
            settings: settings.clone(),
            timeout,
            clock,
            alone: Mutex::default(),
        })
    }

    pub(super) fn send(&self, record: &Record<'_>, alone: bool) -> Result<Receipt, Failure> {
        if alone {
            return self.lone()?.send(record);
        }
        self.together.send(record)
    }

    fn lone(&self) -> Result<Arc<Producer>, Failure> {
        let mut lone = self.alone.lock();
        if let Some(producer) = &*lone {
            return Ok(producer.clone());
        }
        tracing::warn!(
            exporter = self.id,
            "Kafka: the topic's max.message.bytes is below producer.max_message_bytes: records are sent once more, one by one; set the latter to the former"
        );
        let settings = ProducerSettings {
            flush_max_messages: 1,
            linger: Duration::ZERO,
            ..self.settings.producer.clone()
        };
        let clock = self.clock.clone();
        let made = producer(&self.id, &self.settings, &settings, self.timeout, clock);
        let made = Arc::new(made.map_err(|_| Failure::GONE)?);
        *lone = Some(made.clone());
        Ok(made)
    }
}

fn producer(
    id: &str,
    settings: &KafkaExporterSettings,
    producer: &ProducerSettings,
    timeout: Duration,
    clock: SharedClock,
) -> Result<Producer, Misfit> {
    let KafkaExporterSettings {
        connection, hasher, ..
    } = settings;
    Producer::new(id, connection, producer, *hasher, timeout, clock)
}
