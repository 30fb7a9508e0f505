//! Writes decisions: one transaction for all that wait, with the offsets of every partition that it names.
//!
//! Invariants: what a transaction holds can be read only with the offsets committed beside it; it carries the generation
//! in which its first entry was taken, so that a member that was thought dead cannot make a decision take effect when it
//! wakes (KIP-447); an aborted one is repeated verbatim, less what has been revoked since.

use super::brokers::failed;
use super::member::GroupStats;
use super::points::Points;
use super::transaction::{Attempt, Transactions, Wrong};
use crate::clock::SharedClock;
use crate::log::errors::LogError;
use hashbrown::HashMap;
use parking_lot::{Condvar, Mutex};
use rdkafka::consumer::ConsumerGroupMetadata;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// A frame of entries on its way into the decisions topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entries {
    /// Stamp and meta of the frame.
    pub(super) head: [u8; HEAD],
    pub(super) body: Vec<u8>,
}

/// Stamp u64, meta 16 bytes.
pub(super) const HEAD: usize = 24;

/// Why entries were not taken; they have no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Untaken {
    /// The partition is another's.
    Revoked,
    Stopped,
}

/// The offset of each frame.
pub(super) type Answer = Result<Vec<i64>, Untaken>;

struct Order {
    partition: u16,
    frames: Vec<Entries>,
    answer: oneshot::Sender<Answer>,
}

/// What is committed beside decisions.
#[derive(Debug, Clone, Default)]
pub(super) struct Standing {
    /// Offset of the spans' partition.
    pub(super) offset: i64,
    pub(super) points: Points,
    /// Changes since it was committed.
    changed: u64,
}

impl Standing {
    pub(super) fn new(offset: i64, points: Points) -> Self {
        Self {
            offset,
            points,
            changed: 0,
        }
    }
}

#[derive(Default)]
struct State {
    orders: VecDeque<Order>,
    owned: HashMap<u16, Standing>,
    /// The transaction under way names these.
    open: Vec<u16>,
    /// Somebody waits for what is changed.
    hurry: bool,
    /// Monotonic time after which what brokers do not take is given up.
    deadline: Option<u64>,
    stopped: bool,
}

/// The group as its member sees it now; `None` while there is none.
pub(super) type Generation = Box<dyn Fn() -> Option<ConsumerGroupMetadata> + Send + Sync>;

/// The writer of one process.
pub(crate) struct Scribe {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    clock: SharedClock,
    generation: Generation,
    stats: Arc<GroupStats>,
}

/// Positions that nobody waits for are committed as often as this.
const LAZY: Duration = Duration::from_millis(500);
/// Between two tries.
const RETRY: Duration = Duration::from_millis(300);

impl std::fmt::Debug for Scribe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scribe").finish_non_exhaustive()
    }
}

impl Scribe {
    pub(super) fn start(
        transactions: Transactions,
        generation: Generation,
        stats: Arc<GroupStats>,
        clock: &SharedClock,
    ) -> Result<Self, LogError> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            clock: clock.clone(),
            generation,
            stats,
        });
        let writer = shared.clone();
        let thread = std::thread::Builder::new()
            .name("kafka-scribe".to_owned())
            .spawn(move || writer.run(transactions))
            .map_err(LogError::io("starting the writer of decisions"))?;
        Ok(Self {
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// The partition is ours, and so far it stands so.
    pub(super) fn own(&self, partition: u16, standing: Standing) {
        self.shared.state.lock().owned.insert(partition, standing);
    }

    pub(super) fn owns(&self, partition: u16) -> bool {
        self.shared.state.lock().owned.contains_key(&partition)
    }

    /// The partition is ours no more; returns when no transaction under way names it.
    pub(super) fn disown(&self, partition: u16) {
        let mut state = self.shared.state.lock();
        state.owned.remove(&partition);
        self.shared.changed.notify_all();
        while state.open.contains(&partition) {
            self.shared.changed.wait(&mut state);
        }
    }

    /// Writes frames into the decisions of a partition; blocks until they can be read.
    pub(super) fn write(&self, partition: u16, frames: Vec<Entries>) -> Answer {
        let (answer, written) = oneshot::channel();
        let mut state = self.shared.state.lock();
        if state.stopped {
            return Err(Untaken::Stopped);
        }
        state.orders.push_back(Order {
            partition,
            frames,
            answer,
        });
        drop(state);
        self.shared.changed.notify_all();
        written.blocking_recv().unwrap_or(Err(Untaken::Stopped))
    }

    /// Changes what is committed for a partition, soon.
    pub(super) fn change(&self, partition: u16, change: impl FnOnce(&mut Standing)) {
        let mut state = self.shared.state.lock();
        if let Some(standing) = state.owned.get_mut(&partition) {
            change(standing);
            standing.changed += 1;
        }
    }

    /// What the brokers do not take within `patience` is refused from then on: the process ends.
    pub(super) fn give_up_after(&self, patience: Duration) {
        let end = self.shared.clock.monotonic() + nanos(patience);
        self.shared.state.lock().deadline = Some(end);
        self.shared.changed.notify_all();
    }

    /// Waits until what was changed is committed, or for `patience`.
    pub(super) fn settle(&self, partition: u16, patience: Duration) {
        let mut state = self.shared.state.lock();
        let end = self.shared.clock.monotonic() + nanos(patience);
        loop {
            let open = state
                .owned
                .get(&partition)
                .is_some_and(|standing| standing.changed > 0);
            let now = self.shared.clock.monotonic();
            let given_up = state.deadline.is_some_and(|deadline| now >= deadline);
            if !open || now >= end || given_up || state.stopped {
                return;
            }
            state.hurry = true;
            self.shared.changed.notify_all();
            self.shared.changed.wait_for(&mut state, LAZY);
        }
    }

    /// What stands committed, or will.
    pub(super) fn point(&self, partition: u16, name: &str) -> Option<Vec<u8>> {
        let state = self.shared.state.lock();
        let standing = state.owned.get(&partition)?;
        standing.points.get(name).map(<[u8]>::to_vec)
    }

    /// Writes what was ordered and changed, and ends; for a limited time.
    pub(super) fn stop(&self) {
        self.shared.state.lock().stopped = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            drop(thread.join());
        }
    }
}

impl Drop for Scribe {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn run(&self, mut transactions: Transactions) {
        // One more round after the stop: what was ordered before it is written.
        loop {
            let last = self.wait();
            self.round(&mut transactions, last);
            if last {
                break;
            }
        }
        self.refuse_all();
    }

    /// Waits for orders, or for changes to have gathered; whether it is to stop.
    fn wait(&self) -> bool {
        let mut state = self.state.lock();
        while state.orders.is_empty() && !state.stopped && !state.hurry {
            let late = self.changed.wait_for(&mut state, LAZY).timed_out();
            if late && state.owned.values().any(|standing| standing.changed > 0) {
                break;
            }
        }
        state.hurry = false;
        state.stopped
    }

    /// Writes all orders there are in one transaction, however often it takes.
    fn round(&self, transactions: &mut Transactions, last: bool) {
        let mut tries = 0;
        loop {
            let (orders, standings) = self.take();
            if orders.is_empty() && standings.is_empty() {
                return;
            }
            // Brokers that are away are not asked once more when nobody waits.
            if self.gives_up() && self.stats.blocked.lock().is_some() {
                self.close(&[]);
                self.put_back(orders);
                self.refuse_all();
                return;
            }
            let attempt = Attempt {
                frames: orders
                    .iter()
                    .map(|order| (order.partition, &order.frames[..]))
                    .collect(),
                standings: &standings,
            };
            let outcome = match (self.generation)() {
                Some(generation) => transactions.commit(&attempt, &generation, &|| self.gives_up()),
                None => Err(Wrong::NoGroup),
            };
            match outcome {
                Ok(offsets) => {
                    self.stats.committed.fetch_add(1, Ordering::Relaxed);
                    *self.stats.blocked.lock() = None;
                    self.close(&standings);
                    for (order, offsets) in orders.into_iter().zip(offsets) {
                        drop(order.answer.send(Ok(offsets)));
                    }
                    return;
                }
                Err(wrong) => {
                    self.stats.aborted.fetch_add(1, Ordering::Relaxed);
                    self.close(&[]);
                    self.put_back(orders);
                    tries += 1;
                    transactions.tell(&wrong);
                    if tries > 1 || self.gives_up() {
                        *self.stats.blocked.lock() = Some(wrong.to_string());
                    }
                    if last || self.gives_up() {
                        self.refuse_all();
                        return;
                    }
                    let mut state = self.state.lock();
                    self.changed.wait_for(&mut state, RETRY);
                }
            }
        }
    }

    /// The process ends, and has waited for the brokers long enough.
    fn gives_up(&self) -> bool {
        let state = self.state.lock();
        let now = self.clock.monotonic();
        state.stopped || state.deadline.is_some_and(|end| now >= end)
    }

    fn refuse_all(&self) {
        let mut state = self.state.lock();
        for order in state.orders.drain(..) {
            drop(order.answer.send(Err(Untaken::Stopped)));
        }
    }

    /// Takes the orders of partitions that are ours, and what is to be committed for each that they name or that has
    /// changed. Orders of other partitions are refused.
    fn take(&self) -> (Vec<Order>, Vec<(u16, Standing)>) {
        let mut state = self.state.lock();
        let (orders, foreign): (Vec<_>, Vec<_>) = state
            .orders
            .drain(..)
            .collect::<Vec<_>>()
            .into_iter()
            .partition(|order| state.owned.contains_key(&order.partition));
        for order in foreign {
            drop(order.answer.send(Err(Untaken::Revoked)));
        }
        let named = |partition: &u16| orders.iter().any(|order| order.partition == *partition);
        let standings: Vec<_> = state
            .owned
            .iter()
            .filter(|(partition, standing)| standing.changed > 0 || named(partition))
            .map(|(partition, standing)| (*partition, standing.clone()))
            .collect();
        state.open = standings.iter().map(|(partition, _)| *partition).collect();
        (orders, standings)
    }

    /// The transaction has ended; of these, what it took is committed.
    fn close(&self, committed: &[(u16, Standing)]) {
        let mut state = self.state.lock();
        for (partition, then) in committed {
            if let Some(now) = state.owned.get_mut(partition) {
                now.changed -= then.changed.min(now.changed);
            }
        }
        state.open.clear();
        drop(state);
        self.changed.notify_all();
    }

    fn put_back(&self, orders: Vec<Order>) {
        let mut state = self.state.lock();
        for order in orders.into_iter().rev() {
            state.orders.push_front(order);
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2)
}

/// For the transactions' own errors.
pub(super) fn cannot(error: &rdkafka::error::KafkaError) -> LogError {
    failed("writing decisions", error)
}
