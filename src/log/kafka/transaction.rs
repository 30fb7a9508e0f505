//! One transaction: entries of several partitions, and the group's offsets.

use super::brokers::{Brokers, Ends};
use super::scribe::{Entries, Standing, cannot};
use crate::clock::{Nanos, SECOND, SharedClock};
use crate::kafka::{KafkaLogSettings, millis};
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
    /// The process ends before the brokers say what became of it: the next owner reads that.
    #[error("the brokers do not say whether a transaction was committed")]
    Unknown,
}

/// A commit without an answer.
struct Unsure {
    wrong: Wrong,
    offsets: Vec<Vec<i64>>,
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
    ends: Arc<Ends>,
    client: Option<Client>,
    /// One that has no answer yet to its question for the transactional id.
    starting: Option<Client>,
    /// Tells this transaction from all others.
    number: u64,
    trouble: Trouble,
}

/// Tells what is wrong, at once and then every few seconds: an attempt may take as long.
#[derive(Debug)]
struct Trouble {
    clock: SharedClock,
    told: Option<Nanos>,
}

/// Between two lines.
const QUIET: Nanos = 10 * SECOND;

impl Trouble {
    fn tell(&mut self, wrong: &Wrong) {
        let now = self.clock.monotonic();
        let quiet = self
            .told
            .is_some_and(|told| now.saturating_sub(told) < QUIET);
        if !quiet {
            self.told = Some(now);
            tracing::warn!(error = %wrong, "decisions cannot be written; they wait and take no effect");
        }
    }
}

/// Beside the positions: which transaction has written them.
const NUMBER: &str = "transaction";
/// Between two questions what became of a commit.
const AGAIN: Duration = Duration::from_millis(500);

impl Transactions {
    pub(super) fn new(brokers: Brokers, ends: Arc<Ends>) -> Self {
        Self {
            number: brokers.clock.unix(),
            trouble: Trouble {
                clock: brokers.clock.clone(),
                told: None,
            },
            brokers,
            ends,
            client: None,
            starting: None,
        }
    }

    fn time(&self) -> Duration {
        self.brokers.settings.transaction_timeout()
    }

    fn client(&mut self) -> Result<&Client, Wrong> {
        if self.client.is_none() {
            let client = match self.starting.take() {
                Some(client) => client,
                None => self.connect()?,
            };
            if let Err(error) = client.init_transactions(self.time()) {
                // Asked again by a new client, the question of this one would be answered later, and fence that one.
                if client.client().fatal_error().is_none() {
                    self.starting = Some(client);
                }
                return Err(error.into());
            }
            self.client = Some(client);
        }
        self.client.as_ref().ok_or(Wrong::NoGroup)
    }

    fn connect(&self) -> Result<Client, Wrong> {
        let settings = &self.brokers.settings;
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy();
        let mut config = self.brokers.producer()?;
        config
            .set("transactional.id", settings.transactional_id_on(&host))
            .set("transaction.timeout.ms", millis(self.time()))
            .set("message.timeout.ms", millis(self.time()))
            .set("compression.type", settings.producer.compression.name())
            .set(
                "message.max.bytes",
                settings.producer.max_message_bytes.to_string(),
            )
            .set("linger.ms", "0");
        Ok(Client::from_config_and_context(&config, Reports)?)
    }

    /// For the operator: why nothing takes effect.
    pub(super) fn tell(&mut self, wrong: &Wrong) {
        self.trouble.tell(wrong);
    }

    /// Writes and commits; the offsets of each partition's frames. A commit without an answer is asked after until it is
    /// known what became of it, or `stopped`: repeated on a guess it might be there twice.
    pub(super) fn commit(
        &mut self,
        attempt: &Attempt<'_>,
        generation: &ConsumerGroupMetadata,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<i64>>, Wrong> {
        self.number += 1;
        let texts = self.texts(attempt);
        let (time, topics) = (self.time(), self.brokers.settings.clone());
        let client = self.client()?;
        let tried = write(client, attempt, (&topics, &texts, generation), time)
            .and_then(|offsets| finish(client, offsets, time));
        let unsure = match tried {
            Ok(Ok(offsets)) => return Ok(offsets),
            Ok(Err(unsure)) => unsure,
            Err(wrong) => {
                let fatal = client.client().fatal_error().is_some();
                if fatal || client.abort_transaction(time).is_err() {
                    // What it left open, the next one with its id ends.
                    self.client = None;
                }
                return Err(wrong);
            }
        };
        self.client = None;
        tracing::warn!(error = %unsure.wrong, "Kafka: a commit was not answered; asking what became of it");
        while !stopped() {
            // A new client with its id waits until the old one's transaction has ended, one way or the other.
            let ready = self.client().map(drop);
            let committed = ready.and_then(|()| Ok(self.is_committed(attempt, &texts)?));
            match committed {
                Ok(true) => return Ok(unsure.offsets),
                Ok(false) => return Err(unsure.wrong),
                Err(wrong) => self.trouble.tell(&wrong),
            }
            std::thread::park_timeout(AGAIN);
        }
        Err(Wrong::Unknown)
    }

    /// What is committed beside each partition's offset.
    fn texts(&self, attempt: &Attempt<'_>) -> Vec<String> {
        let standings = attempt.standings.iter();
        let text = |(_, standing): &(u16, Standing)| {
            let mut points = standing.points.clone();
            points.set(NUMBER, &self.number.to_le_bytes());
            points.text()
        };
        standings.map(text).collect()
    }

    /// Whether the group has what the transaction was to commit.
    fn is_committed(&self, attempt: &Attempt<'_>, texts: &[String]) -> Result<bool, LogError> {
        let Some(((partition, _), text)) = attempt.standings.iter().zip(texts).next() else {
            return Ok(false);
        };
        let topic = &self.brokers.settings.topic;
        Ok(self.ends.metadata(topic, *partition)? == *text)
    }
}

/// Begins a transaction and fills it; what its records' offsets will be.
fn write(
    client: &Client,
    attempt: &Attempt<'_>,
    (settings, texts, generation): (&KafkaLogSettings, &[String], &ConsumerGroupMetadata),
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
    for ((partition, standing), text) in attempt.standings.iter().zip(texts) {
        let (topic, partition) = (&settings.topic, i32::from(*partition));
        list.add_partition_offset(topic, partition, Offset::Offset(standing.offset))?;
        if let Some(mut element) = list.find_partition(topic, partition) {
            element.set_metadata(text);
        }
    }
    client.flush(time)?;
    client.send_offsets_to_transaction(&list, generation, time)?;
    let offsets = offsets.lock();
    let mut offsets = offsets.iter().copied();
    let mut of = |frames: &[Entries]| {
        let own = offsets.by_ref().take(frames.len());
        own.collect::<Option<Vec<_>>>().ok_or(Wrong::Unacknowledged)
    };
    let each = attempt.frames.iter();
    each.map(|(_, frames)| of(frames)).collect()
}

/// Commits; what is refused is an error, what is not answered is [`Unsure`].
fn finish(
    client: &Client,
    offsets: Vec<Vec<i64>>,
    time: Duration,
) -> Result<Result<Vec<Vec<i64>>, Unsure>, Wrong> {
    match client.commit_transaction(time) {
        Ok(()) => Ok(Ok(offsets)),
        Err(KafkaError::Transaction(error)) if !error.txn_requires_abort() => Ok(Err(Unsure {
            wrong: Wrong::Refused(error.code()),
            offsets,
        })),
        // Refused, or never asked for: records were still on their way.
        Err(error) => Err(error.into()),
    }
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
