//! Sends a run's requests at a rate until they are acknowledged: an open loop, several in flight.

use super::client::{Answer, Client};
use super::outcome::Outcome;
use super::requests::{Request, Requests};
use super::shape::Shape;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tailwater::clock::{Clock, SystemClock};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How fast.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Spans a second.
    pub(crate) rate: u64,
    /// Requests at once; what would be more waits, and its wait counts as latency.
    pub(crate) in_flight: usize,
    /// Connections.
    pub(crate) connections: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            rate: 20_000,
            in_flight: 16,
            connections: 2,
        }
    }
}

/// While the daemon is down nothing is caught up beyond this.
const CATCH_UP: Duration = Duration::from_millis(500);
/// Between two tries at a daemon that is not there.
const RECONNECT: Duration = Duration::from_millis(10);
/// After a refusal that names no time.
const RETRY: Duration = Duration::from_millis(100);

/// A run in progress.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) shape: Arc<Shape>,
    pub(crate) outcome: Arc<Outcome>,
    finish: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    abandon: CancellationToken,
    task: JoinHandle<u64>,
    _tasks: TaskTracker,
}

impl Drop for Load {
    /// What is not acknowledged stays so.
    fn drop(&mut self) {
        self.abandon.cancel();
    }
}

impl Load {
    pub(crate) fn start(address: SocketAddr, shape: Shape, pace: Pace) -> Self {
        Self::spread(&[address], shape, pace)
    }

    /// Over several daemons in turn; what one does not take goes to the next.
    pub(crate) fn spread(addresses: &[SocketAddr], shape: Shape, pace: Pace) -> Self {
        let (shape, tasks) = (Arc::new(shape), TaskTracker::new());
        let abandon = CancellationToken::new();
        let (outcome, finish, sent) =
            (Arc::new(Outcome::default()), Arc::default(), Arc::default());
        let run = Run {
            requests: Requests::new(shape.clone(), SystemClock::new().unix()),
            pace,
            clients: (0..pace.connections)
                .flat_map(|_| addresses)
                .map(|address| Client::new(*address))
                .collect(),
            outcome: outcome.clone(),
            finish: Arc::clone(&finish),
            sent: Arc::clone(&sent),
            abandon: abandon.clone(),
        };
        let task = tasks.spawn(run.run());
        Self {
            shape,
            outcome,
            finish,
            sent,
            abandon,
            task,
            _tasks: tasks,
        }
    }

    /// Spans handed to connections so far, retries not counted.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Begins no more traces and waits until all that began are acknowledged whole; returns how many they are.
    pub(crate) async fn finish(mut self) -> (Arc<Shape>, Arc<Outcome>, u64) {
        self.finish.store(true, Ordering::Relaxed);
        let traces = (&mut self.task).await.unwrap();
        (self.shape.clone(), self.outcome.clone(), traces)
    }
}

struct Run {
    requests: Requests,
    pace: Pace,
    clients: Arc<[Client]>,
    outcome: Arc<Outcome>,
    finish: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    abandon: CancellationToken,
}

impl Run {
    async fn run(mut self) -> u64 {
        let (start, tasks) = (Instant::now(), TaskTracker::new());
        let permits = Arc::new(Semaphore::new(self.pace.in_flight));
        let mut due = start;
        for number in 0.. {
            if self.finish.load(Ordering::Relaxed) {
                self.requests.finish();
            }
            let Some(request) = self.requests.next() else {
                break;
            };
            tokio::time::sleep_until(due).await;
            if self.abandon.is_cancelled() {
                break;
            }
            let permit = permits.clone().acquire_owned().await.unwrap();
            self.sent
                .fetch_add(u64::from(request.spans), Ordering::Relaxed);
            let (clients, outcome) = (self.clients.clone(), self.outcome.clone());
            let (at, spans) = (due, request.spans);
            let abandon = self.abandon.clone();
            tasks.spawn(async move {
                tokio::select! {
                    () = deliver(&clients, number, &request, &outcome) => {
                        outcome.acknowledged(&request.parts, request.spans, at - start, at.elapsed());
                    }
                    () = abandon.cancelled() => {}
                }
                drop(permit);
            });
            due += Duration::from_secs_f64(f64::from(spans) / self.pace.rate as f64);
            due = due.max(Instant::now().checked_sub(CATCH_UP).unwrap_or(due));
        }
        tasks.close();
        tasks.wait().await;
        self.requests.traces()
    }
}

/// Until it is acknowledged; client `first` is the first to be asked.
async fn deliver(clients: &[Client], first: usize, request: &Request, outcome: &Outcome) {
    for client in clients.iter().cycle().skip(first % clients.len()) {
        let delay = match client.export(&request.bytes).await {
            Answer::Taken(response) if response.is_empty() => return,
            Answer::Taken(_) => {
                outcome.strange();
                return;
            }
            Answer::Refused {
                code,
                message,
                retry,
            } => {
                outcome.refused(code, message, retry);
                retry.unwrap_or(RETRY)
            }
            Answer::None => {
                outcome.unanswered(&request.parts, request.spans);
                RECONNECT
            }
            Answer::Unreachable => RECONNECT,
        };
        tokio::time::sleep(delay).await;
    }
}
