//! One process of a fleet that shares a log in Kafka: for each partition that it owns a sampler and its exporters' cursors.
//!
//! Invariants: a partition is opened only after its last owner's transactions have ended; it is given back only when
//! nothing of ours works on it any more. What exporters have in flight then leaves again at the next owner.

use super::build_kafka::Seed;
use super::health::Health;
use super::kafka_watch::Watch;
use crate::admin::SamplerSource;
use crate::log::{DecisionLog, KafkaLog, Log, LogError, OwnedPartition, Partitions};
use crate::otlp::SourceId;
use crate::processors::Chain;
use crate::rules::Program;
use crate::sampler::{
    Delivery, OpenSampler, Sampler, SamplerSettings, SamplerStats, Scanned, Shared, Sharers,
    Sources, decide_name, deliver_name,
};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// After a partition could not be opened.
const RETRY: Duration = Duration::from_millis(500);
/// For the cursors of a partition that goes: what they have in flight is then left to the next owner.
const DRAIN: Duration = Duration::from_secs(2);

/// At a stop, for decisions that brokers which are away do not take.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Starts the cursors of a partition: its sampler, its log, the tasks they run as, and what ends them.
pub(super) type Cursors =
    Box<dyn Fn(&Sampler, Arc<dyn Log<Scanned>>, &TaskTracker, CancellationToken) + Send + Sync>;

/// What all partitions have in common.
pub(super) struct Crew {
    pub(super) shared: Shared,
    pub(super) program: Program,
    pub(super) rules: u32,
    pub(super) settings: SamplerSettings,
    pub(super) front: Arc<Chain>,
    pub(super) processor: String,
    pub(super) exporters: Vec<String>,
    pub(super) counts: (bool, bool),
}

/// A partition at work.
struct Post {
    stop: Arc<AtomicBool>,
    opening: Option<JoinHandle<()>>,
    working: Arc<Mutex<Option<Working>>>,
    cursors: TaskTracker,
    abandon: CancellationToken,
}

struct Working {
    sampler: Sampler,
    /// The worker has ended; the cursors may go on.
    ended: bool,
}

/// The partitions of this process.
pub(super) struct Posts {
    crew: Arc<Crew>,
    cursors: Arc<Cursors>,
    posts: Mutex<BTreeMap<u16, Post>>,
    /// Counts of partitions that are gone.
    retired: SamplerStats,
    runtime: Handle,
    abandon: CancellationToken,
    owned: Sharers,
}

/// The log, and what works on it.
pub(super) struct Fleet {
    pub(super) log: Arc<KafkaLog>,
    posts: Arc<Posts>,
    watch: Watch,
}

impl Fleet {
    /// Begins to look after the topics, and joins the group as soon as they are as they must be.
    pub(super) fn start(
        seed: Seed,
        cursors: Cursors,
        abandon: CancellationToken,
        health: &Health,
    ) -> Result<Self, LogError> {
        let Seed {
            log,
            settings,
            topics,
            crew,
        } = seed;
        let decider = decide_name(&crew.settings.id);
        let source = SourceId::of(&settings.topic);
        let posts = Arc::new(Posts {
            retired: SamplerStats::new(crew.program.policy_names()),
            owned: crew.settings.sharers.clone(),
            crew: Arc::new(crew),
            cursors: Arc::new(cursors),
            posts: Mutex::default(),
            runtime: Handle::current(),
            abandon,
        });
        let (joining, partitions) = (log.clone(), posts.clone());
        let join = move || joining.join(&decider, source, partitions.clone());
        let watch = Watch::start(topics, health.clone(), log.stats.clone(), Box::new(join))?;
        Ok(Self { log, posts, watch })
    }

    /// Ends the workers; their last entries are written, and the cursors go on. Blocks until then.
    pub(super) fn stop_workers(&self) {
        self.watch.stop();
        self.log.give_up_after(LAST_WORDS);
        let working: Vec<_> = self.posts.posts.lock().values().map(Post::handle).collect();
        for working in working {
            if let Some(working) = working.lock().as_mut() {
                working.end();
            }
        }
    }

    /// Waits for the cursors, which end by themselves when nothing new comes.
    pub(super) async fn wait_for_cursors(&self) {
        let trackers: Vec<TaskTracker> = {
            let posts = self.posts.posts.lock();
            posts.values().map(|post| post.cursors.clone()).collect()
        };
        for tracker in trackers {
            tracker.close();
            tracker.wait().await;
        }
    }

    /// Nobody waits for the cursors any longer.
    pub(super) fn abandon(&self) {
        self.log.abandon();
    }

    /// Gives everything back. Blocks until then.
    pub(super) fn leave(&self) {
        self.watch.stop();
        self.log.leave();
    }

    /// All partitions as one sampler, for the metrics page.
    pub(super) fn sources(&self) -> Arc<dyn Fn() -> Vec<SamplerSource> + Send + Sync> {
        let posts = self.posts.clone();
        Arc::new(move || vec![posts.source()])
    }
}

impl Working {
    fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) && !self.sampler.stop() {
            tracing::error!(pipeline = self.sampler.id, "a worker had failed");
        }
    }
}

impl Post {
    fn handle(&self) -> Arc<Mutex<Option<Working>>> {
        self.working.clone()
    }
}

impl Partitions for Posts {
    fn assigned(&self, partition: OwnedPartition) {
        let number = partition.number;
        let post = Post {
            stop: Arc::default(),
            opening: None,
            working: Arc::default(),
            cursors: TaskTracker::new(),
            abandon: self.abandon.child_token(),
        };
        let opening = Opening {
            crew: self.crew.clone(),
            cursors: self.cursors.clone(),
            partition,
            stop: post.stop.clone(),
            working: post.working.clone(),
            tasks: post.cursors.clone(),
            abandon: post.abandon.clone(),
            runtime: self.runtime.clone(),
        };
        let thread = std::thread::Builder::new()
            .name(format!("kafka-open-{number}"))
            .spawn(move || opening.run());
        let post = match thread {
            Ok(thread) => Post {
                opening: Some(thread),
                ..post
            },
            Err(error) => {
                tracing::error!(partition = number, %error, "no thread for a partition; its records wait");
                post
            }
        };
        let mut posts = self.posts.lock();
        posts.insert(number, post);
        self.owned.set(posts.len());
    }

    fn revoked(&self, partitions: &[u16]) {
        let mut going = Vec::new();
        {
            let mut posts = self.posts.lock();
            going.extend(partitions.iter().filter_map(|number| posts.remove(number)));
            self.owned.set(posts.len());
        }
        for post in &going {
            post.stop.store(true, Ordering::Release);
            post.abandon.cancel();
        }
        for post in going {
            self.end(post);
        }
    }
}

impl Posts {
    fn end(&self, mut post: Post) {
        if let Some(opening) = post.opening.take() {
            opening.thread().unpark();
            drop(opening.join());
        }
        // An interrupted batch ends at once; one that the backend has, with its answer.
        post.cursors.close();
        let ending = async { tokio::time::timeout(DRAIN, post.cursors.wait()).await };
        drop(self.runtime.block_on(ending));
        if let Some(mut working) = post.working.lock().take() {
            working.end();
            self.retired.add_counters(&working.sampler.stats);
        }
    }

    fn source(&self) -> SamplerSource {
        let stats = SamplerStats::new(self.crew.program.policy_names());
        stats.add_counters(&self.retired);
        let mut deliveries: Vec<Vec<Arc<Delivery>>> = vec![Vec::new(); self.crew.exporters.len()];
        let mut decisions: Vec<Arc<dyn DecisionLog>> = Vec::new();
        let posts = self.posts.lock();
        for post in posts.values() {
            let Some(working) = post.working.try_lock() else {
                continue;
            };
            let Some(Working { sampler, .. }) = working.as_ref() else {
                continue;
            };
            stats.add_counters(&sampler.stats);
            stats.add_holdings(&sampler.stats);
            decisions.push(sampler.decisions.clone());
            for (all, one) in deliveries.iter_mut().zip(&sampler.deliveries) {
                all.push(one.clone());
            }
        }
        drop(posts);
        let id = &self.crew.settings.id;
        let sum = |(exporter, all): (&String, Vec<Arc<Delivery>>)| {
            let sum = Delivery::sum(&deliver_name(id, exporter), all.iter());
            (exporter.clone(), Arc::new(sum))
        };
        SamplerSource {
            pipeline: id.clone(),
            processor: self.crew.processor.clone(),
            stats: Arc::new(stats),
            deliveries: self
                .crew
                .exporters
                .iter()
                .zip(deliveries)
                .map(sum)
                .collect(),
            decisions,
            counts_spans: self.crew.counts.0,
            counts_bytes: self.crew.counts.1,
        }
    }
}

/// A partition on its way to work.
struct Opening {
    crew: Arc<Crew>,
    cursors: Arc<Cursors>,
    partition: OwnedPartition,
    stop: Arc<AtomicBool>,
    working: Arc<Mutex<Option<Working>>>,
    tasks: TaskTracker,
    abandon: CancellationToken,
    runtime: Handle,
}

impl Opening {
    fn ours(&self) -> bool {
        !self.stop.load(Ordering::Acquire)
    }

    fn run(self) {
        let partition = self.partition.number;
        while self.ours() {
            match self.open() {
                Ok(sampler) => {
                    let log = self.partition.log.clone();
                    let entered = self.runtime.enter();
                    (self.cursors)(&sampler, log, &self.tasks, self.abandon.clone());
                    drop(entered);
                    tracing::info!(partition, "Kafka: a partition is at work");
                    *self.working.lock() = Some(Working {
                        sampler,
                        ended: false,
                    });
                    return;
                }
                Err(error) if self.ours() => {
                    tracing::warn!(partition, %error, "Kafka: a partition cannot be opened; trying again");
                    std::thread::park_timeout(RETRY);
                }
                Err(_) => {}
            }
        }
    }

    fn open(&self) -> Result<Sampler, LogError> {
        let (crew, partition) = (&*self.crew, &self.partition);
        let id = &crew.settings.id;
        let decider = decide_name(id);
        let names = crew
            .exporters
            .iter()
            .map(|exporter| deliver_name(id, exporter));
        let names: Vec<String> = names.chain([decider.clone()]).collect();
        partition.keep_only(&names);
        let decisions = partition.decisions(&|| self.ours())?;
        let of = |name: &str| Ok(partition.position(name));
        let position = partition.position(&decider);
        let settings = crew.settings.clone();
        let open = OpenSampler::over(settings, decisions, position, &of, &crew.exporters)?;
        open.with_front(crew.front.clone())
            .with_beginning(partition.beginning())
            .start(
                &crew.shared,
                partition.log.clone(),
                crew.program.clone(),
                crew.rules,
                // Logs do not go into a log in Kafka: the config says so.
                Sources {
                    traces: vec![partition.log.source()],
                    logs: Vec::new(),
                },
            )
            .map_err(LogError::io("starting a partition's worker"))
    }
}
