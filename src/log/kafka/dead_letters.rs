//! Records of the spans' topic that are no OTLP: told, counted, and copied to the dead letters' topic where there is one.
//!
//! The partition's worker waits for the copy, for as long as an intake would: a topic that takes nothing for longer may not
//! stand in the way of decisions. The record itself stays where it lies until retention takes it.

use super::brokers::{Brokers, refused};
use super::member::GroupStats;
use crate::kafka::{Failure, Hasher, Poison, PoisonLog, Producer, ProducerSettings, Record};
use crate::log::errors::LogError;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// As long as a record of an intake may take.
const DELIVERY: Duration = Duration::from_secs(8);
/// Larger than any record that a topic of the usual settings has, with its headers: what is too large for this one is told.
const LARGEST: u32 = 16 << 20;

#[derive(Debug)]
pub(super) struct DeadLetters {
    /// Where records come from.
    topic: String,
    /// With their topic.
    producer: Option<(Producer, String)>,
    log: PoisonLog,
    stats: Arc<GroupStats>,
}

impl DeadLetters {
    pub(super) fn open(brokers: &Brokers, stats: Arc<GroupStats>) -> Result<Self, LogError> {
        let (settings, clock) = (&brokers.settings, &brokers.clock);
        let id = "kafka buffer: dead letters";
        let producer = settings.dead_letter_topic.clone().map(|topic| {
            let how = ProducerSettings {
                max_message_bytes: LARGEST.max(settings.producer.max_message_bytes),
                linger: Duration::ZERO,
                allow_auto_topic_creation: false,
                ..settings.producer.clone()
            };
            let hasher = Hasher::SaramaCompat;
            Producer::new(
                id,
                &settings.connection,
                &how,
                hasher,
                DELIVERY,
                clock.clone(),
            )
            .map(|producer| (producer, topic))
        });
        Ok(Self {
            topic: settings.topic.clone(),
            producer: producer.transpose().map_err(|misfit| refused(&misfit))?,
            log: PoisonLog::new(id, clock.clone()),
            stats,
        })
    }

    /// Blocks until the dead letters' topic has it, or does not take it.
    pub(super) fn take(&self, partition: u16, offset: i64, value: &[u8]) {
        let poison = Poison {
            place: (&self.topic, i32::from(partition), offset),
            key: None,
            value,
            reason: "malformed: the record is no OTLP",
        };
        self.stats.poison.fetch_add(1, Ordering::Relaxed);
        self.log.tell(&poison);
        let Some((producer, topic)) = &self.producer else {
            return;
        };
        let headers = poison.headers();
        let record = Record {
            topic,
            key: None,
            value,
            headers: &headers,
        };
        let sent = producer.send(&record);
        let sent = sent.and_then(|report| report.blocking_recv().unwrap_or(Err(Failure::GONE)));
        match sent {
            Ok(()) => {
                self.stats.dead_letters.fetch_add(1, Ordering::Relaxed);
            }
            Err(failure) => self.log.tell_untaken(&poison, &failure.reason()),
        }
    }
}
