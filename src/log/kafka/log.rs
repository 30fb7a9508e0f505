//! The log of one process: its inlet, its place in the group, the partitions that it owns at the moment.

use super::brokers::{Brokers, Ends};
use super::dead_letters::DeadLetters;
use super::decisions::{Beside, PartitionDecisions};
use super::fetch::Fetch;
use super::inlet::KafkaInlet;
use super::member::{Assigned, GroupStats, Member, Owner, Present};
use super::partition::PartitionLog;
use super::place::position;
use super::scribe::Scribe;
use super::transaction::Transactions;
use crate::clock::SharedClock;
use crate::kafka::KafkaLogSettings;
use crate::log::cache::Cache;
use crate::log::decisions::{DecisionLog, Position};
use crate::log::errors::LogError;
use crate::log::services::Services;
use crate::otlp::SourceId;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// What a partition that goes may take for its last positions.
const LAST: Duration = Duration::from_secs(3);

/// Bytes that the parts of a log may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KafkaBudgets {
    /// Payload of undecided traces.
    pub(crate) cache: u64,
    /// Records that are read and not folded.
    pub(crate) unread: u64,
    /// Records on their way to the brokers.
    pub(crate) queue: u64,
}

/// Whoever decides over partitions.
pub(crate) trait Partitions: Send + Sync {
    /// Begins to work on a partition, without waiting.
    fn assigned(&self, partition: OwnedPartition);
    /// Ends the work on these, and returns when it has ended. What is decided is written, where it still may be.
    fn revoked(&self, partitions: &[u16]);
}

/// A partition that has become ours.
#[derive(Debug)]
pub(crate) struct OwnedPartition {
    pub(crate) number: u16,
    pub(crate) log: Arc<PartitionLog>,
    brokers: Brokers,
    ends: Arc<Ends>,
    scribe: Arc<Scribe>,
}

impl OwnedPartition {
    /// Its decisions, once every transaction of the last owner has ended; gives up when `ours` is `false`.
    ///
    /// # Errors
    /// The brokers', or that it is not ours any more.
    pub(crate) fn decisions(
        &self,
        ours: &dyn Fn() -> bool,
    ) -> Result<Arc<dyn DecisionLog>, LogError> {
        let scribe = self.scribe.clone();
        let clients = (&self.brokers, &*self.ends);
        let decisions = PartitionDecisions::open(clients, scribe, self.number, ours)?;
        Ok(Arc::new(decisions))
    }

    /// Positions of these names only: whose owner has left the config begins anew when it comes back.
    pub(crate) fn keep_only(&self, names: &[String]) {
        self.scribe.change(self.number, |standing| {
            standing.points.keep_only(names);
        });
    }

    /// A position beside the group's offset. The one of the decider moves the offset itself.
    pub(crate) fn position(&self, name: &str) -> Position {
        let decides = name == self.log.decider;
        Arc::new(Beside {
            partition: self.number,
            name: name.to_owned(),
            scribe: self.scribe.clone(),
            needed: decides.then(|| self.log.needed.clone()),
        })
    }

    /// Where a group begins that has decided nothing.
    pub(crate) fn beginning(&self) -> u64 {
        position(self.number, self.log.begins)
    }
}

/// The log.
#[derive(Debug)]
pub(crate) struct KafkaLog {
    pub(crate) inlet: Arc<KafkaInlet>,
    pub(crate) stats: Arc<GroupStats>,
    brokers: Brokers,
    ends: Arc<Ends>,
    scribe: Arc<Scribe>,
    fetch: Arc<Fetch>,
    dead_letters: Arc<DeadLetters>,
    cache: Arc<Cache>,
    budgets: KafkaBudgets,
    member: Mutex<Option<Member>>,
    present: Present,
}

impl KafkaLog {
    /// Opens the clients; nothing is read before [`Self::join`].
    ///
    /// # Errors
    /// Settings that librdkafka refuses. Brokers that cannot be reached are none: it goes on asking.
    pub(crate) fn open(
        settings: &KafkaLogSettings,
        budgets: KafkaBudgets,
        services: Arc<Services>,
        clock: SharedClock,
    ) -> Result<Self, LogError> {
        let brokers = Brokers {
            settings: settings.clone(),
            clock,
        };
        let present = Present::default();
        let generation = present.clone();
        let generation = Box::new(move || generation.generation());
        let cache = Arc::new(Cache::new(budgets.cache, services.clone()));
        let stats: Arc<GroupStats> = Arc::default();
        let shared = (cache.clone(), stats.clone());
        let inlet = KafkaInlet::open(brokers.clone(), services, budgets.queue, shared)?;
        let ends = Arc::new(Ends::new(&brokers)?);
        let transactions = Transactions::new(brokers.clone(), ends.clone());
        let scribe = Scribe::start(transactions, generation, stats.clone(), &brokers.clock)?;
        Ok(Self {
            inlet: Arc::new(inlet),
            scribe: Arc::new(scribe),
            ends,
            stats: stats.clone(),
            fetch: Arc::new(Fetch::new(&brokers, &settings.topic)?),
            dead_letters: Arc::new(DeadLetters::open(&brokers, stats.clone())?),
            cache,
            brokers,
            budgets,
            member: Mutex::default(),
            present,
        })
    }

    /// Joins the group. `decider` is the name of the position that says what a restart needs.
    ///
    /// # Errors
    /// Settings that librdkafka refuses.
    pub(crate) fn join(
        &self,
        decider: &str,
        source: SourceId,
        partitions: Arc<dyn Partitions>,
    ) -> Result<(), LogError> {
        let handover = Handover {
            partitions,
            decider: decider.to_owned(),
            source,
            brokers: self.brokers.clone(),
            ends: self.ends.clone(),
            scribe: self.scribe.clone(),
            fetch: self.fetch.clone(),
            dead_letters: self.dead_letters.clone(),
            cache: self.cache.clone(),
            stats: self.stats.clone(),
        };
        let member = Member::start(
            self.brokers.clone(),
            Arc::new(handover),
            self.stats.clone(),
            self.present.clone(),
            self.budgets.unread,
        )?;
        *self.member.lock() = Some(member);
        Ok(())
    }

    /// The brokers have so long to take what is decided; then it is left to the next owner.
    pub(crate) fn give_up_after(&self, patience: Duration) {
        self.scribe.give_up_after(patience);
    }

    /// Nobody waits for payload any longer.
    pub(crate) fn abandon(&self) {
        self.fetch.close();
    }

    /// Gives all partitions back and leaves the group. Blocks until then.
    pub(crate) fn leave(&self) {
        let member = self.member.lock().take();
        if let Some(member) = member {
            member.stop();
        }
        self.scribe.stop();
    }
}

/// Between the group and whoever decides.
struct Handover {
    partitions: Arc<dyn Partitions>,
    decider: String,
    source: SourceId,
    brokers: Brokers,
    ends: Arc<Ends>,
    scribe: Arc<Scribe>,
    fetch: Arc<Fetch>,
    dead_letters: Arc<DeadLetters>,
    cache: Arc<Cache>,
    stats: Arc<GroupStats>,
}

impl Owner for Handover {
    fn assigned(&self, assigned: Assigned) {
        let Assigned {
            partition,
            standing,
            ends,
            queue,
        } = assigned;
        let begins = standing.offset;
        self.scribe.own(partition, standing);
        let log = PartitionLog {
            number: partition,
            source: self.source,
            queue,
            fetch: self.fetch.clone(),
            dead_letters: self.dead_letters.clone(),
            cache: self.cache.clone(),
            low: ends.0,
            high: ends.1,
            begins,
            needed: Arc::new(AtomicU64::new(u64::MAX)),
            holds: Mutex::default(),
            decider: self.decider.clone(),
            stamps: Arc::default(),
            stats: self.stats.clone(),
        };
        self.partitions.assigned(OwnedPartition {
            number: partition,
            log: Arc::new(log),
            brokers: self.brokers.clone(),
            ends: self.ends.clone(),
            scribe: self.scribe.clone(),
        });
    }

    fn revoked(&self, partitions: &[u16], lost: bool) {
        if lost {
            // Whatever is under way is not ours to write.
            partitions.iter().for_each(|p| self.scribe.disown(*p));
        }
        self.partitions.revoked(partitions);
        self.stats.forget(partitions);
        if !lost {
            for partition in partitions {
                self.scribe.settle(*partition, LAST);
                self.scribe.disown(*partition);
            }
        }
    }
}
