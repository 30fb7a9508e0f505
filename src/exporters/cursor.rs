//! An exporter's way through the decision log: read kept traces, batch them, send several batches at once, save the
//! position when the oldest of them is done.
//!
//! Invariants: a position is saved only behind batches whose end is known; after a crash only batches that were in
//! flight leave again. What waits for a dead backend is a position, not memory.

use super::deliver::{Deliverer, Interrupted};
use super::gather::Load;
use super::outbound::Outbound;
use super::settings::QueueSettings;
use crate::log::{DecisionLog, Log};
use crate::sampler::{Delivered, Delivery, KeptReader, Scanned};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Payload of the batches in flight, all together: what a dead backend costs in memory.
pub(crate) const IN_FLIGHT_BYTES: u64 = 16 << 20;
/// After a failed read of the decision log.
const READ_RETRY: Duration = Duration::from_millis(500);

/// One exporter of one pipeline.
pub(crate) struct Cursor {
    pub(crate) decisions: Arc<dyn DecisionLog>,
    pub(crate) log: Arc<dyn Log<Scanned>>,
    pub(crate) delivery: Arc<Delivery>,
    pub(crate) deliverer: Arc<Deliverer>,
    pub(crate) queue: QueueSettings,
    /// Of this cursor; all of an exporter's together: [`IN_FLIGHT_BYTES`].
    pub(crate) in_flight_bytes: u64,
    pub(crate) outbound: Arc<Outbound>,
    pub(crate) tracker: TaskTracker,
    /// Cancelled when nothing new comes: the cursor ends at the end of the decision log.
    pub(crate) last: CancellationToken,
}

struct Flight {
    load: Arc<Load>,
    sending: JoinHandle<Result<Delivered, Interrupted>>,
}

impl Cursor {
    /// Runs to the end of the decision log after `last`, or until the deliverer is stopped.
    pub(crate) async fn run(self) {
        let state = self.delivery.state();
        let mut reader = KeptReader::new(&*self.decisions, state.position, state.skip);
        let mut appended = self.decisions.watch();
        let mut flights: VecDeque<Flight> = VecDeque::new();
        let mut told = 0;
        loop {
            appended.borrow_and_update();
            let room = self.has_room(&flights);
            let last = self.last.is_cancelled();
            let mut load = Load::default();
            if room {
                (reader, load) = self.read(reader).await;
            }
            let full = load.bytes >= self.queue.batch_min_bytes;
            if !load.is_empty() {
                if !full && !last {
                    (reader, load) = self.linger(reader, load).await;
                }
                flights.push_back(self.launch(load));
                continue;
            }
            if flights.is_empty() && reader.damaged > told && self.lose_unread(&reader) {
                told = reader.damaged;
            }
            if last && flights.is_empty() && room {
                break;
            }
            tokio::select! {
                done = Self::oldest(&mut flights), if !flights.is_empty() => if !self.settle(done) { break },
                changed = appended.changed(), if room => if changed.is_err() { break },
                () = self.last.cancelled(), if !last => {}
                () = self.deliverer.stop.cancelled() => break,
            }
        }
        if let Err(error) = self.deliverer.transport.close().await {
            tracing::warn!(%error, "closing an exporter failed");
        }
    }

    /// Frames of the decision log could not be read: what is awaited still was in those. `false` while more is under way.
    fn lose_unread(&self, reader: &KeptReader) -> bool {
        let Some(lost) = self.delivery.lose_unread(reader.position().0) else {
            return false;
        };
        match lost {
            Ok(spans) => {
                tracing::error!(
                    position = self.delivery.name,
                    spans,
                    "kept spans are lost with entries that cannot be read"
                );
            }
            Err(error) => tracing::warn!(%error, "an exporter's position cannot be saved"),
        }
        true
    }

    fn has_room(&self, flights: &VecDeque<Flight>) -> bool {
        let bytes: u64 = flights.iter().map(|flight| flight.load.bytes).sum();
        flights.len() < self.queue.num_consumers.max(1) && bytes < self.in_flight_bytes
    }

    /// Reading is blocking I/O, so it is done on a thread for that.
    async fn read(&self, reader: KeptReader) -> (KeptReader, Load) {
        self.read_more(reader, Load::default()).await
    }

    async fn read_more(&self, mut reader: KeptReader, mut load: Load) -> (KeptReader, Load) {
        let (log, decisions) = (self.log.clone(), self.decisions.clone());
        let outbound = self.outbound.clone();
        let (bytes, state) = (self.queue.batch_min_bytes, reader.position());
        let reading = tokio::task::spawn_blocking(move || {
            let outcome = load.fill(&mut reader, log.as_ref(), &outbound, bytes);
            (reader, load, outcome)
        });
        match reading.await {
            Ok((reader, load, Ok(()))) => (reader, load),
            Ok((reader, load, Err(error))) => {
                tracing::error!(%error, "the decision log cannot be read; trying again");
                tokio::time::sleep(READ_RETRY).await;
                (reader, load)
            }
            // A panic in a read: begin again where this one began.
            Err(_) => (
                KeptReader::new(&*decisions, state.0, state.1),
                Load::default(),
            ),
        }
    }

    /// Waits for more within the flush interval.
    async fn linger(&self, mut reader: KeptReader, mut load: Load) -> (KeptReader, Load) {
        let deadline = tokio::time::sleep(self.queue.flush_interval);
        tokio::pin!(deadline);
        let mut appended = self.decisions.watch();
        while load.bytes < self.queue.batch_min_bytes {
            tokio::select! {
                () = &mut deadline => break,
                () = self.last.cancelled() => break,
                changed = appended.changed() => if changed.is_err() { break },
            }
            (reader, load) = self.read_more(reader, load).await;
        }
        (reader, load)
    }

    fn launch(&self, load: Load) -> Flight {
        let load = Arc::new(load);
        let (deliverer, sent) = (self.deliverer.clone(), load.clone());
        let sending = self
            .tracker
            .spawn(async move { deliverer.deliver(&sent).await });
        Flight { load, sending }
    }

    /// The oldest batch and its end. Safe to drop: the batch stays in front.
    async fn oldest(
        flights: &mut VecDeque<Flight>,
    ) -> Option<(Flight, Result<Delivered, Interrupted>)> {
        let ended = (&mut flights.front_mut()?.sending)
            .await
            .unwrap_or(Err(Interrupted));
        flights.pop_front().map(|flight| (flight, ended))
    }

    /// Saves what became of a batch; `false` when it was interrupted: it and all behind it stay in the log.
    fn settle(&self, done: Option<(Flight, Result<Delivered, Interrupted>)>) -> bool {
        let Some((flight, ended)) = done else {
            return true;
        };
        let Ok(sum) = ended else { return false };
        let places: Vec<_> = flight
            .load
            .kept
            .iter()
            .flat_map(|kept| kept.places().iter().copied())
            .collect();
        if let Err(error) = self.delivery.done(flight.load.position, &places, sum) {
            tracing::warn!(%error, "an exporter's position cannot be saved; a restart would send again");
        }
        true
    }
}
