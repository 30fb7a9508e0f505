//! Taking requests: each becomes a record for every partition that it touches, and is acknowledged when all of them are.
//!
//! Parts of a request that failed may stay in the topic: they are accepted spans, and the copies that the sender's retry
//! brings are duplicates. What waits for the brokers is bounded by the intake budget: a request holds its share until the
//! last record is reported.

use super::brokers::Brokers;
use super::member::GroupStats;
use super::request::{Request, Sent};
use crate::kafka::millis;
use crate::log::account::IntakeCharge;
use crate::log::api::{Append, Appended, Block, Inlet};
use crate::log::cache::Cache;
use crate::log::errors::{AppendError, LogError};
use crate::log::piece::pieces;
use crate::log::services::Services;
use crate::log::settings::OnFull;
use crate::log::stats::{Counters, LogStats};
use crate::otlp::{Signal, halves, shortened};
use bytes::Bytes;
use parking_lot::Mutex;
use rdkafka::config::FromClientConfigAndContext as _;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseRecord, Producer as _, ThreadedProducer};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;

/// Shorter than a sender's own patience (10 s with OpenTelemetry's SDKs), so that a failure is told and not hidden.
const DELIVERY: Duration = Duration::from_secs(8);
/// Memory is freed by decisions, which come every second.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// At the end, for what is on its way.
const LAST: Duration = Duration::from_secs(9);
/// Beside the pieces: what a record takes of the limit for headers and its own frame.
const RECORD_OVERHEAD: usize = 512;

/// librdkafka's own: no topic takes less.
const LEAST: usize = 1000;
/// librdkafka's own size of a batch.
const BATCH: usize = 1_000_000;

type Client = ThreadedProducer<Sent>;

/// The log's side to receivers.
pub(crate) struct KafkaInlet {
    brokers: Brokers,
    services: Arc<Services>,
    client: Mutex<Arc<Client>>,
    counters: Arc<Counters>,
    stopped: AtomicBool,
    /// Bytes of a record that the client takes: the topic's limit may change.
    limit: AtomicUsize,
    queue_bytes: u64,
    cache: Arc<Cache>,
    group: Arc<GroupStats>,
}

impl std::fmt::Debug for KafkaInlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KafkaInlet").finish_non_exhaustive()
    }
}

impl KafkaInlet {
    /// `queue_bytes` of records may wait for the brokers.
    pub(super) fn open(
        brokers: Brokers,
        services: Arc<Services>,
        queue_bytes: u64,
        (cache, group): (Arc<Cache>, Arc<GroupStats>),
    ) -> Result<Self, LogError> {
        let limit = brokers.settings.producer.max_message_bytes as usize;
        let client = connect(&brokers, queue_bytes, limit)?;
        Ok(Self {
            brokers,
            services,
            client: Mutex::new(Arc::new(client)),
            counters: Arc::default(),
            stopped: AtomicBool::new(false),
            limit: AtomicUsize::new(limit),
            queue_bytes,
            cache,
            group,
        })
    }

    fn admit(&self, blocks: &[Block]) -> Result<(), AppendError> {
        if self.stopped.load(Ordering::Acquire) {
            return Err(AppendError::Stopping);
        }
        for block in blocks {
            let account = self.services.account(block.service);
            if account.on_full == OnFull::Refuse && account.is_full() {
                account.refused.fetch_add(1, Ordering::Relaxed);
                return Err(AppendError::Full {
                    reason: "service memory",
                    retry_after: RETRY_AFTER,
                });
            }
        }
        Ok(())
    }

    /// The records of a request with their partitions.
    fn records(&self, blocks: &[Block]) -> Result<Vec<(u16, Vec<u8>)>, AppendError> {
        let most = self.limit.load(Ordering::Relaxed);
        let most = most.saturating_sub(RECORD_OVERHEAD).max(1);
        let mut open: BTreeMap<u16, Vec<u8>> = BTreeMap::new();
        let mut out = Vec::new();
        for piece in blocks.iter().flat_map(|block| pieces(&block.bytes)) {
            let Ok(piece) = piece else { continue };
            let mut parts = vec![piece.body];
            while let Some(part) = parts.pop() {
                if part.len() > most {
                    parts.extend(self.smaller(&part, most)?);
                    continue;
                }
                let record = open.entry(piece.partition).or_default();
                if record.len() + part.len() > most {
                    out.push((piece.partition, std::mem::take(record)));
                }
                record.extend_from_slice(&part);
            }
        }
        out.extend(open.into_iter().filter(|(_, record)| !record.is_empty()));
        Ok(out)
    }

    /// A piece over the limit is cut between its spans, the last of which comes first here; one span over it loses what is
    /// longest in it. One of which nothing can be cut is its sender's fault.
    fn smaller(&self, piece: &Bytes, most: usize) -> Result<Vec<Bytes>, AppendError> {
        if let Some([(first, _), (second, _)]) = halves(Signal::Traces, piece) {
            return Ok(vec![second, first]);
        }
        let short = shortened(piece, most).ok_or(AppendError::TooLarge {
            bytes: piece.len() as u64,
            limit: most as u64,
        })?;
        self.group.shortened.fetch_add(1, Ordering::Relaxed);
        Ok(vec![short])
    }

    /// A client with the topic's limit, where that has changed or was not known.
    fn follow_limit(&self) {
        let own = self.brokers.settings.producer.max_message_bytes as usize;
        let limit = match self.group.topic_limit.load(Ordering::Relaxed) {
            0 => own,
            topic => usize::try_from(topic).unwrap_or(own).clamp(LEAST, own),
        };
        if self.limit.load(Ordering::Relaxed) == limit {
            return;
        }
        let mut client = self.client.lock();
        if self.limit.swap(limit, Ordering::Relaxed) == limit {
            return;
        }
        tracing::warn!(
            limit,
            "Kafka: the topic's limit for a record is another one"
        );
        match connect(&self.brokers, self.queue_bytes, limit) {
            Ok(new) => *client = Arc::new(new),
            Err(error) => tracing::error!(%error, "Kafka: no new producer"),
        }
    }

    fn send(&self, client: &Client, partition: u16, record: &[u8], request: &Arc<Request>) -> bool {
        request.sent();
        let out: BaseRecord<'_, [u8], [u8], Arc<Request>> =
            BaseRecord::with_opaque_to(&self.brokers.settings.topic, request.clone())
                .partition(i32::from(partition))
                .payload(record);
        match client.send(out) {
            Ok(()) => true,
            Err((error, _)) => {
                request.done(Err(refusal(&error)));
                false
            }
        }
    }

    /// A new client, when this one is broken for good: an idempotent producer that has lost its place.
    fn renew(&self, broken: &Arc<Client>) {
        if broken.client().fatal_error().is_none() {
            return;
        }
        let mut client = self.client.lock();
        if !Arc::ptr_eq(&client, broken) {
            return;
        }
        let limit = self.limit.load(Ordering::Relaxed);
        match connect(&self.brokers, self.queue_bytes, limit) {
            Ok(new) => *client = Arc::new(new),
            Err(error) => tracing::error!(%error, "Kafka: no new producer"),
        }
    }
}

/// What a sender is told of a record that was not taken.
pub(super) fn refusal(error: &KafkaError) -> AppendError {
    let full = |reason| AppendError::Full {
        reason,
        retry_after: RETRY_AFTER,
    };
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::QueueFull) => full("kafka queue"),
        // The topic's limit is lower than it was: asked for again within seconds.
        Some(RDKafkaErrorCode::MessageSizeTooLarge) => full("topic limit"),
        Some(code) => AppendError::Io(Arc::new(std::io::Error::other(code))),
        None => AppendError::Io(Arc::new(std::io::Error::other("Kafka"))),
    }
}

impl<A: Send + 'static> Inlet<A> for KafkaInlet {
    fn append(&self, append: Append<A>) -> Appended {
        self.follow_limit();
        let (answer, appended) = oneshot::channel();
        let spans = u64::from(append.meta.spans);
        let records = self
            .admit(&append.blocks)
            .and_then(|()| self.records(&append.blocks));
        let records = match records {
            Ok(records) => records,
            Err(error) => {
                self.counters.refuse(&error);
                drop(answer.send(Err(error)));
                return appended;
            }
        };
        let charge = |block: &Block| {
            let account = self.services.account(block.service);
            IntakeCharge::new(account, block.bytes.len() as u64)
        };
        let held = append.blocks.iter().map(charge).collect();
        let request = Request::new(
            answer,
            append.reservation,
            held,
            self.counters.clone(),
            spans,
        );
        let client = self.client.lock().clone();
        for (partition, record) in &records {
            if !self.send(&client, *partition, record, &request) {
                break;
            }
        }
        request.all_sent();
        self.renew(&client);
        appended
    }

    fn stats(&self) -> LogStats {
        let now = self.brokers.clock.unix();
        LogStats {
            now,
            last_stamp: now,
            refused: self.counters.refused(),
            shared: Some(self.group.shared()),
            window_bytes: self.group.unread.load(Ordering::Relaxed),
            cache_bytes: self.cache.bytes(),
            frames: self.counters.frames.load(Ordering::Relaxed),
            spans: self.counters.spans.load(Ordering::Relaxed),
            appended_bytes: self.counters.bytes.load(Ordering::Relaxed),
            writes: self.counters.writes.load(Ordering::Relaxed),
            ..LogStats::default()
        }
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        let client = self.client.lock().clone();
        if client.flush(LAST).is_err() {
            tracing::warn!(
                "Kafka: records are still on their way at the end; their senders were not told of success"
            );
        }
    }
}

fn connect(brokers: &Brokers, queue_bytes: u64, limit: usize) -> Result<Client, LogError> {
    let settings = &brokers.settings.producer;
    let mut config = brokers.producer()?;
    config
        .set("compression.type", settings.compression.name())
        .set("linger.ms", millis(settings.linger))
        .set("message.timeout.ms", millis(DELIVERY))
        .set(
            "batch.num.messages",
            settings.flush_max_messages.to_string(),
        )
        .set("message.max.bytes", limit.to_string())
        .set("batch.size", limit.min(BATCH).to_string())
        .set(
            "queue.buffering.max.kbytes",
            (queue_bytes >> 10).clamp(1024, 2 << 20).to_string(),
        );
    if let Some(level) = settings.compression_level {
        config.set("compression.level", level.to_string());
    }
    let events = brokers.events("kafka buffer: producer");
    Client::from_config_and_context(&config, Sent(events))
        .map_err(|error| super::brokers::failed("a producer", &error))
}
