//! One transaction: entries of several partitions, and the group's offsets.

use super::brokers::Brokers;
use super::scribe::{Entries, Standing, cannot};
use crate::kafka::{Codec, millis};
use crate::log::errors::LogError;
use parking_lot::Mutex;
use rdkafka::config::FromClientConfigAndContext as _;
use rdkafka::consumer::ConsumerGroupMetadata;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Header, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer};
use rdkafka::{ClientContext, Message as _, Offset, TopicPartitionList};
use std::sync::Arc;
use std::time::Duration;

/// The header of a record of decisions: stamp and meta of the frame.
pub(super) const HEAD_NAME: &str = "tailwater-frame";

/// What one transaction is to hold.
pub(super) struct Attempt<'a> {
    pub(super) frames: Vec<(u16, &'a [Entries])>,
    pub(super) standings: &'a [(u16, Standing)],
}

/// Why a transaction came to nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum Wrong {
    #[error("this process is not in the group")]
    NoGroup,
    #[error("{0}")]
    Refused(RDKafkaErrorCode),
    #[error(transparent)]
    Client(#[from] LogError),
    #[error("a record was not acknowledged")]
    Unacknowledged,
}

impl From<KafkaError> for Wrong {
    fn from(error: KafkaError) -> Self {
        error
            .rdkafka_error_code()
            .map_or_else(|| cannot(&error).into(), Self::Refused)
    }
}

/// The offsets of one attempt's records, in the order in which they were sent.
type Offsets = Arc<Mutex<Vec<Option<i64>>>>;

struct Reports;

impl ClientContext for Reports {}

impl ProducerContext for Reports {
    type DeliveryOpaque = Box<(Offsets, usize)>;

    fn delivery(&self, result: &DeliveryResult<'_>, opaque: Self::DeliveryOpaque) {
        let (offsets, number) = *opaque;
        if let (Ok(message), Some(slot)) = (result, offsets.lock().get_mut(number)) {
            *slot = Some(message.offset());
        }
    }
}

type Client = ThreadedProducer<Reports>;

/// The process's producer of decisions, made when it is needed and again when it is broken for good.
pub(super) struct Transactions {
    brokers: Brokers,
    client: Option<Client>,
}

impl Transactions {
    pub(super) fn new(brokers: Brokers) -> Self {
        Self {
            brokers,
            client: None,
        }
    }

    fn time(&self) -> Duration {
        self.brokers.settings.transaction_timeout()
    }

    fn client(&mut self) -> Result<&Client, Wrong> {
        if self.client.is_none() {
            let client = self.connect()?;
            client.init_transactions(self.time() * 2)?;
            self.client = Some(client);
        }
        self.client.as_ref().ok_or(Wrong::NoGroup)
    }

    fn connect(&self) -> Result<Client, Wrong> {
        let settings = &self.brokers.settings;
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy();
        let mut config = self.brokers.producer()?;
        let compression = match settings.producer.compression {
            Codec::None => "none",
            _ => "lz4",
        };
        config
            .set("transactional.id", settings.transactional_id_on(&host))
            .set("transaction.timeout.ms", millis(self.time()))
            .set("message.timeout.ms", millis(self.time()))
            .set("compression.type", compression)
            .set(
                "message.max.bytes",
                settings.producer.max_message_bytes.to_string(),
            )
            .set("linger.ms", "0");
        Ok(Client::from_config_and_context(&config, Reports)?)
    }

    /// Writes and commits; the offsets of each partition's frames.
    pub(super) fn commit(
        &mut self,
        attempt: &Attempt<'_>,
        generation: &ConsumerGroupMetadata,
    ) -> Result<Vec<Vec<i64>>, Wrong> {
        let time = self.time();
        let settings = self.brokers.settings.clone();
        let client = self.client()?;
        let tried = write(client, attempt, generation, &settings, time);
        if tried.is_err() {
            let fatal = client.client().fatal_error().is_some();
            if fatal || client.abort_transaction(time).is_err() {
                // What it left open, the next one with its id ends.
                self.client = None;
            }
        }
        tried
    }
}

fn write(
    client: &Client,
    attempt: &Attempt<'_>,
    generation: &ConsumerGroupMetadata,
    settings: &crate::kafka::KafkaLogSettings,
    time: Duration,
) -> Result<Vec<Vec<i64>>, Wrong> {
    client.begin_transaction()?;
    let sum = attempt.frames.iter().map(|(_, frames)| frames.len()).sum();
    let offsets: Offsets = Arc::new(Mutex::new(vec![None; sum]));
    let mut number = 0;
    for (partition, frames) in &attempt.frames {
        for frame in *frames {
            let opaque = Box::new((offsets.clone(), number));
            send(client, &settings.decisions_topic, *partition, frame, opaque)?;
            number += 1;
        }
    }
    let mut list = TopicPartitionList::with_capacity(attempt.standings.len());
    for (partition, standing) in attempt.standings {
        list.add_partition_offset(
            &settings.topic,
            i32::from(*partition),
            Offset::Offset(standing.offset),
        )?;
        if let Some(mut element) = list.find_partition(&settings.topic, i32::from(*partition)) {
            element.set_metadata(standing.points.text());
        }
    }
    client.flush(time)?;
    client.send_offsets_to_transaction(&list, generation, time)?;
    client.commit_transaction(time)?;
    let offsets = offsets.lock();
    let mut offsets = offsets.iter().copied();
    let mut of = |frames: &[Entries]| {
        let own = offsets.by_ref().take(frames.len());
        own.collect::<Option<Vec<_>>>().ok_or(Wrong::Unacknowledged)
    };
    let each = attempt.frames.iter();
    each.map(|(_, frames)| of(frames)).collect()
}

fn send(
    client: &Client,
    topic: &str,
    partition: u16,
    frame: &Entries,
    opaque: Box<(Offsets, usize)>,
) -> Result<(), Wrong> {
    let headers = OwnedHeaders::new_with_capacity(1).insert(Header {
        key: HEAD_NAME,
        value: Some(&frame.head[..]),
    });
    let record: BaseRecord<'_, [u8], [u8], Box<(Offsets, usize)>> =
        BaseRecord::with_opaque_to(topic, opaque)
            .partition(i32::from(partition))
            .payload(&frame.body[..])
            .headers(headers);
    client.send(record).map_err(|(error, _)| error.into())
}
