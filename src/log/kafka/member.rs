//! The group's member: one thread that polls, hands records to their partitions' queues, and says which partitions come
//! and go.
//!
//! It does no work on records, so that it always polls in time. At the bound of what may be unread all partitions are
//! paused; that throws away what was read ahead, so that they go on only when half of it is worked off. A partition
//! begins at the group's offset, or at the first one there is: never behind a record that nobody has read.

use super::brokers::{ASK, Brokers, failed, watermarks};
use super::fetch::record_of;
use super::points::Points;
use super::queue::PartitionQueue;
use super::scribe::Standing;
use crate::kafka::Events;
use crate::log::errors::LogError;
use crate::log::stats::SharedLog;
use hashbrown::HashMap;
use parking_lot::Mutex;
use rdkafka::config::{FromClientConfigAndContext as _, RDKafkaLogLevel};
use rdkafka::consumer::{
    BaseConsumer, Consumer as _, ConsumerContext, ConsumerGroupMetadata, Rebalance,
};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{ClientContext, Message as _, Offset, TopicPartitionList};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long one poll waits: what a stop may take longer.
const POLL: Duration = Duration::from_millis(100);
/// After the brokers did not say where a partition begins.
const RETRY: Duration = Duration::from_millis(500);

/// A partition that has become ours.
pub(super) struct Assigned {
    pub(super) partition: u16,
    pub(super) standing: Standing,
    /// The first offset there is, and the one after the last.
    pub(super) ends: (i64, i64),
    pub(super) queue: Arc<PartitionQueue>,
}

/// Whoever works on partitions.
pub(super) trait Owner: Send + Sync {
    /// Begins to work on a partition. Does not wait.
    fn assigned(&self, assigned: Assigned);
    /// Ends the work on these; what they have decided is written, unless they are `lost`: then others may have them
    /// already. Returns when nothing works on them any more.
    fn revoked(&self, partitions: &[u16], lost: bool);
}

/// Numbers for the metrics page.
#[derive(Debug, Default)]
pub(crate) struct GroupStats {
    pub(crate) rebalances: AtomicU64,
    pub(crate) owned: AtomicU64,
    /// Records that were deleted before anybody had read them.
    pub(crate) lost: AtomicU64,
    /// Records that are no OTLP, and those of them that the dead letters' topic has.
    pub(crate) poison: AtomicU64,
    pub(crate) dead_letters: AtomicU64,
    /// Spans that were cut to fit a record.
    pub(crate) shortened: AtomicU64,
    /// Bytes that the topic takes at once; 0: not known.
    pub(crate) topic_limit: AtomicU64,
    /// Bytes that are read and not folded.
    pub(crate) unread: Arc<AtomicU64>,
    pub(crate) paused: AtomicBool,
    /// The brokers answer, and the group has dealt its partitions.
    pub(crate) joined: AtomicBool,
    /// Transactions of decisions.
    pub(crate) committed: AtomicU64,
    /// The same, of which nothing came.
    pub(crate) aborted: AtomicU64,
    /// Seconds for which the topic keeps records; 0: for ever, or not known.
    pub(crate) retention: AtomicU64,
    /// When the oldest record of each partition came that is still needed.
    needed: Mutex<HashMap<u16, u64>>,
    /// Why decisions cannot be written at the moment.
    pub(crate) blocked: Mutex<Option<String>>,
}

impl GroupStats {
    /// Of this partition nothing older is needed.
    pub(super) fn needs(&self, partition: u16, since: Option<u64>) {
        let mut needed = self.needed.lock();
        match since {
            Some(since) => _ = needed.insert(partition, since),
            None => _ = needed.remove(&partition),
        }
    }

    pub(super) fn forget(&self, partitions: &[u16]) {
        let mut needed = self.needed.lock();
        for partition in partitions {
            needed.remove(partition);
        }
    }

    /// As the log tells it.
    pub(super) fn shared(&self) -> SharedLog {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SharedLog {
            partitions: get(&self.owned),
            rebalances: get(&self.rebalances),
            lost: get(&self.lost),
            poison: get(&self.poison),
            dead_letters: get(&self.dead_letters),
            shortened: get(&self.shortened),
            committed: get(&self.committed),
            aborted: get(&self.aborted),
            paused: self.paused.load(Ordering::Relaxed),
            retention: get(&self.retention),
            needed_since: self.needed.lock().values().copied().min(),
        }
    }
}

/// What the callbacks work with.
pub(super) struct Group {
    brokers: Brokers,
    owner: Arc<dyn Owner>,
    stats: Arc<GroupStats>,
    queues: Mutex<HashMap<u16, Arc<PartitionQueue>>>,
    events: Events,
    stop: Arc<AtomicBool>,
}

type Consumer = BaseConsumer<Group>;

/// The present consumer, for whoever asks for the group's generation.
#[derive(Clone, Default)]
pub(super) struct Present(Arc<Mutex<Option<Arc<Consumer>>>>);

impl std::fmt::Debug for Present {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Present").finish_non_exhaustive()
    }
}

impl Present {
    /// None for a member that the group thinks dead: librdkafka then takes its id away and says that the assignment is
    /// lost, in one step, and a commit without an id is refused by nobody.
    pub(super) fn generation(&self) -> Option<ConsumerGroupMetadata> {
        let consumer = self.0.lock().clone()?;
        let generation = consumer.group_metadata();
        generation.filter(|_| !consumer.assignment_lost())
    }
}

/// A running member.
pub(crate) struct Member {
    stop: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Member").finish_non_exhaustive()
    }
}

impl Member {
    /// Joins the group; `budget` bytes of records may be unread.
    pub(super) fn start(
        brokers: Brokers,
        owner: Arc<dyn Owner>,
        stats: Arc<GroupStats>,
        present: Present,
        budget: u64,
    ) -> Result<Self, LogError> {
        let stop = Arc::new(AtomicBool::new(false));
        let run = Run {
            brokers,
            owner,
            stats,
            present,
            budget,
            stop: stop.clone(),
        };
        // The settings are looked at before anything runs.
        drop(run.connect()?);
        let thread = std::thread::Builder::new()
            .name("kafka-member".to_owned())
            .spawn(move || run.run())
            .map_err(LogError::io("starting the group's member"))?;
        Ok(Self {
            stop,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Gives the partitions back and leaves the group.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.lock().take() {
            drop(thread.join());
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Run {
    brokers: Brokers,
    owner: Arc<dyn Owner>,
    stats: Arc<GroupStats>,
    present: Present,
    budget: u64,
    stop: Arc<AtomicBool>,
}

/// Tells that the thread has ended, by a panic too.
struct Left<'a>(&'a GroupStats);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.joined.store(false, Ordering::Release);
    }
}

impl Run {
    fn connect(&self) -> Result<Arc<Consumer>, LogError> {
        let group = Group {
            brokers: self.brokers.clone(),
            owner: self.owner.clone(),
            stats: self.stats.clone(),
            queues: Mutex::default(),
            events: self.brokers.events("kafka buffer"),
            stop: self.stop.clone(),
        };
        let consumer: Consumer =
            BaseConsumer::from_config_and_context(&self.brokers.member()?, group)
                .map_err(|error| failed("joining the group", &error))?;
        Ok(Arc::new(consumer))
    }

    /// A client that is broken for good is replaced.
    fn run(&self) {
        let _left = Left(&self.stats);
        while !self.stop.load(Ordering::Acquire) {
            match self.connect() {
                Ok(consumer) => {
                    *self.present.0.lock() = Some(consumer.clone());
                    match consumer.subscribe(&[&self.brokers.settings.topic]) {
                        Ok(()) => self.poll(&consumer),
                        Err(error) => consumer.context().events.failed(&error),
                    }
                    // Leaving the group revokes what is left: the callbacks run in these polls.
                    consumer.unsubscribe();
                    self.leave(&consumer);
                    *self.present.0.lock() = None;
                }
                Err(error) => tracing::error!(%error, "Kafka: no new member"),
            }
            std::thread::park_timeout(RETRY);
        }
    }

    fn poll(&self, consumer: &Consumer) {
        // Paused, as of so many rebalances: partitions that came since are not.
        let mut paused = None;
        while !self.stop.load(Ordering::Acquire) {
            match consumer.poll(POLL) {
                None => {}
                Some(Ok(message)) => {
                    let partition = u16::try_from(message.partition()).unwrap_or(u16::MAX);
                    if let Some(queue) = consumer.context().queue(partition) {
                        queue.push(record_of(&message));
                    }
                }
                Some(Err(KafkaError::PartitionEOF(partition))) => {
                    let partition = u16::try_from(partition).unwrap_or(u16::MAX);
                    if let Some(queue) = consumer.context().queue(partition) {
                        queue.caught_up();
                    }
                }
                Some(Err(error)) => {
                    consumer.context().failed(consumer, &error);
                    if consumer.client().fatal_error().is_some() {
                        return;
                    }
                }
            }
            self.pause_or_resume(consumer, &mut paused);
        }
    }

    fn pause_or_resume(&self, consumer: &Consumer, paused: &mut Option<u64>) {
        let unread = self.stats.unread.load(Ordering::Relaxed);
        let rebalances = self.stats.rebalances.load(Ordering::Relaxed);
        let all = || consumer.assignment();
        if unread > self.budget && *paused != Some(rebalances) {
            if all().and_then(|all| consumer.pause(&all)).is_ok() {
                *paused = Some(rebalances);
            }
        } else if paused.is_some() && unread <= self.budget / 2 {
            if all().and_then(|all| consumer.resume(&all)).is_ok() {
                *paused = None;
            }
        } else {
            return;
        }
        self.stats.paused.store(paused.is_some(), Ordering::Relaxed);
    }

    /// Polls until the partitions are gone, for no longer than a session.
    fn leave(&self, consumer: &Consumer) {
        let clock = &self.brokers.clock;
        let session = self.brokers.settings.session_timeout.as_nanos();
        let end = clock.monotonic() + u64::try_from(session).unwrap_or(u64::MAX / 2);
        let owned = || !consumer.context().queues.lock().is_empty();
        while owned() && clock.monotonic() < end {
            drop(consumer.poll(POLL));
        }
        let left: Vec<u16> = consumer.context().queues.lock().keys().copied().collect();
        if !left.is_empty() {
            consumer.context().gone(&left, true);
        }
    }
}

impl Group {
    fn queue(&self, partition: u16) -> Option<Arc<PartitionQueue>> {
        self.queues.lock().get(&partition).cloned()
    }

    fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Where the partitions begin: asked until the brokers say it, since without it nothing can be decided.
    fn assign(&self, consumer: &Consumer, assigned: &TopicPartitionList) {
        let committed = loop {
            match consumer.committed_offsets(assigned.clone(), ASK) {
                Ok(committed) => break committed,
                Err(error) => self.events.failed(&error),
            }
            if self.stopping() || consumer.assignment_lost() {
                return;
            }
            std::thread::park_timeout(RETRY);
        };
        let topic = &self.brokers.settings.topic;
        for mut element in assigned.elements() {
            let Ok(partition) = u16::try_from(element.partition()) else {
                continue;
            };
            let Some(ends) = self.ends(consumer, partition) else {
                return;
            };
            let known = committed.find_partition(topic, element.partition());
            let offset = known
                .as_ref()
                .map(rdkafka::topic_partition_list::TopicPartitionListElem::offset);
            let begin = self.begin(partition, offset, ends);
            if element.set_offset(Offset::Offset(begin)).is_err() {
                continue;
            }
            let points =
                known.map_or_else(Points::default, |known| Points::parse(known.metadata()));
            let standing = Standing::new(begin, points);
            let clock = self.brokers.clock.clone();
            let queue = Arc::new(PartitionQueue::new(begin, clock, self.stats.unread.clone()));
            self.queues.lock().insert(partition, queue.clone());
            self.owner.assigned(Assigned {
                partition,
                standing,
                ends,
                queue,
            });
        }
        self.stats.joined.store(true, Ordering::Release);
        self.moved("assigned", assigned.count());
    }

    fn ends(&self, consumer: &Consumer, partition: u16) -> Option<(i64, i64)> {
        loop {
            match watermarks(consumer, &self.brokers.settings.topic, partition) {
                Ok(ends) => return Some(ends),
                Err(error) => tracing::warn!(%error, partition, "Kafka"),
            }
            if self.stopping() || consumer.assignment_lost() {
                return None;
            }
            std::thread::park_timeout(RETRY);
        }
    }

    /// The group's offset, or the nearest there is.
    fn begin(&self, partition: u16, committed: Option<Offset>, (low, high): (i64, i64)) -> i64 {
        let Some(Offset::Offset(next)) = committed else {
            return low;
        };
        if next < low {
            let lost = low.abs_diff(next);
            self.stats.lost.fetch_add(lost, Ordering::Relaxed);
            tracing::error!(
                partition,
                next,
                low,
                lost,
                "Kafka: records were deleted before they were decided: the topic's retention is too short"
            );
        } else if next > high {
            tracing::error!(
                partition,
                next,
                high,
                "Kafka: the topic ends before what was read of it: brokers have lost records"
            );
        }
        next.clamp(low, high)
    }

    fn revoke(&self, consumer: &Consumer, revoked: &TopicPartitionList) {
        let partitions: Vec<u16> = revoked
            .elements()
            .iter()
            .filter_map(|element| u16::try_from(element.partition()).ok())
            .collect();
        let lost = consumer.assignment_lost();
        self.gone(&partitions, lost);
        self.moved(if lost { "lost" } else { "revoked" }, partitions.len());
    }

    fn gone(&self, partitions: &[u16], lost: bool) {
        self.owner.revoked(partitions, lost);
        let mut queues = self.queues.lock();
        for partition in partitions {
            if let Some(queue) = queues.remove(partition) {
                queue.close();
            }
        }
    }

    fn moved(&self, what: &'static str, moved: usize) {
        let owned = self.queues.lock().len();
        self.stats.rebalances.fetch_add(1, Ordering::Relaxed);
        self.stats.owned.store(owned as u64, Ordering::Relaxed);
        tracing::info!(moved, owned, "Kafka: partitions {what}");
    }

    /// Errors of a poll are transient, but for a place that is gone: then all partitions go on where there is something.
    fn failed(&self, consumer: &Consumer, error: &KafkaError) {
        self.events.failed(error);
        if error.rdkafka_error_code() != Some(RDKafkaErrorCode::AutoOffsetReset) {
            return;
        }
        let queues: Vec<_> = self
            .queues
            .lock()
            .iter()
            .map(|(partition, queue)| (*partition, queue.clone()))
            .collect();
        let topic = &self.brokers.settings.topic;
        for (partition, queue) in queues {
            let Ok(ends) = watermarks(consumer, topic, partition) else {
                continue;
            };
            let next = queue.end();
            let to = self.begin(partition, Some(Offset::Offset(next)), ends);
            if to == next {
                continue;
            }
            match consumer.seek(topic, i32::from(partition), Offset::Offset(to), ASK) {
                Ok(()) => queue.restart_at(to),
                Err(error) => self.events.failed(&error),
            }
        }
    }
}

impl ClientContext for Group {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.events.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.events.error(error, reason);
    }
}

impl ConsumerContext for Group {
    fn pre_rebalance(&self, consumer: &Consumer, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Assign(partitions) => self.assign(consumer, partitions),
            Rebalance::Revoke(partitions) => self.revoke(consumer, partitions),
            Rebalance::Error(error) => self.events.failed(error),
        }
    }
}
