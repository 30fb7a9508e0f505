//! One sampler: opened on its decision log, run on a thread of its own, stopped.

use super::delivery::Delivery;
use super::owners::{decide_name, deliver_name, give_up_exporters};
use super::pulse::Pulse;
use super::recovery::{Recovered, recover};
use super::scanned::Scanned;
use super::service_modes::ServiceModes;
use super::settings::SamplerSettings;
use super::sources::Sources;
use super::stats::SamplerStats;
use super::stop_signal::StopSignal;
use super::worker::{Parts, Worker};
use crate::clock::SharedClock;
use crate::genai::Meter;
use crate::log::{DecisionLog, Directory, Inlet, Log, LogError, Position, Services};
use crate::processors::Chain;
use crate::rules::{Atoms, Program};
use std::sync::Arc;
use std::thread::JoinHandle;

/// A sampler whose decision log has been read, and which has not begun: the span log is opened between the two.
pub struct OpenSampler {
    settings: SamplerSettings,
    decisions: Arc<dyn DecisionLog>,
    position: Position,
    deliveries: Vec<Arc<Delivery>>,
    gone: Vec<(String, Arc<Delivery>)>,
    recovered: Recovered,
    front: Arc<Chain>,
    beginning: Option<u64>,
}

impl std::fmt::Debug for OpenSampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenSampler")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// What all samplers of a process share.
#[derive(Clone)]
pub struct Shared {
    /// The table of tests.
    pub atoms: Arc<Atoms>,
    /// Who is charged.
    pub services: Arc<Services>,
    /// The span log as receivers see it.
    pub inlet: Arc<dyn Inlet<Scanned>>,
    /// Which services are not sampled at the tail.
    pub modes: Arc<ServiceModes>,
    /// Partitions of the log.
    pub partitions: u16,
    /// To measure with.
    pub clock: SharedClock,
    /// What the state of a trace means: see [`layout`](crate::rules::layout).
    pub layout: u32,
    /// Metrics of model calls.
    pub meter: Option<Arc<Meter>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("partitions", &self.partitions)
            .finish_non_exhaustive()
    }
}

impl OpenSampler {
    /// Opens the decision log and the positions of a sampler and its `exporters`, and reads what a restart needs.
    ///
    /// # Errors
    /// When a file cannot be opened or is of another version.
    pub fn open(
        directory: &Directory,
        settings: SamplerSettings,
        exporters: &[String],
    ) -> Result<Self, LogError> {
        let decisions = Arc::new(directory.decisions(&settings.id)?);
        let position: Position = Arc::new(directory.cursor_file(&decide_name(&settings.id))?);
        let of = |name: &str| Ok(Arc::new(directory.cursor_file(name)?) as Position);
        let mut open = Self::over(settings, decisions, position, &of, exporters)?;
        let counts = (open.recovered.snapshot.volume(), open.decisions.end());
        open.gone = give_up_exporters(directory, &open.settings.id, exporters, counts)?;
        Ok(open)
    }

    /// The same over a store of another kind; `of` gives the position of an exporter by its name.
    ///
    /// # Errors
    /// When a position cannot be had or saved.
    pub(crate) fn over(
        settings: SamplerSettings,
        decisions: Arc<dyn DecisionLog>,
        position: Position,
        of: &dyn Fn(&str) -> Result<Position, LogError>,
        exporters: &[String],
    ) -> Result<Self, LogError> {
        let deliver = |exporter: &String| {
            let name = deliver_name(&settings.id, exporter);
            let position = of(&name)?;
            Ok(Arc::new(Delivery::open(&name, position, decisions.end())))
        };
        let deliveries = exporters
            .iter()
            .map(deliver)
            .collect::<Result<Vec<_>, LogError>>()?;
        let recovered = recover(&*decisions, &*position, &deliveries)?;
        for delivery in deliveries.iter().filter(|delivery| delivery.is_new()) {
            delivery.save().map_err(LogError::io("a position"))?;
        }
        Ok(Self {
            settings,
            decisions,
            position,
            deliveries,
            gone: Vec::new(),
            recovered,
            front: Arc::default(),
            beginning: None,
        })
    }

    /// Spans pass these processors on their way to the rules.
    #[must_use]
    pub fn with_front(mut self, front: Arc<Chain>) -> Self {
        self.front = front;
        self
    }

    #[cfg(feature = "kafka")]
    /// A new instance begins here, not at the end of the spans.
    #[must_use]
    pub(crate) fn with_beginning(mut self, position: u64) -> Self {
        self.beginning = Some(position);
        self
    }

    /// The span log must go on at this position, which no entry names, or behind it, and beyond this stamp.
    #[must_use]
    pub fn resume_after(&self) -> (u64, u64) {
        let Recovered { beyond, stamp, .. } = self.recovered;
        (beyond.saturating_add(u64::from(beyond > 0)), stamp)
    }

    /// Everything in the span log before this position is decided and counted, or none of its own.
    #[must_use]
    pub fn replays_from(&self) -> u64 {
        if self.recovered.begins {
            return u64::MAX;
        }
        self.recovered.replays_from()
    }

    /// Undecided traces that a restart takes from the decision log.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.recovered.waiting.len()
    }

    /// Starts the worker.
    ///
    /// # Errors
    /// When no thread can be had, or when a new instance cannot save where it begins.
    pub fn start(
        mut self,
        shared: &Shared,
        log: Arc<dyn Log<Scanned>>,
        program: Program,
        rules: u32,
        sources: Sources,
    ) -> std::io::Result<Sampler> {
        let stats = Arc::new(SamplerStats::new(program.policy_names()));
        let stop = Arc::new(StopSignal::default());
        let begins = self.recovered.begins;
        if begins {
            self.recovered.begin_at(self.beginning.unwrap_or(log.end()));
        }
        let holder = decide_name(&self.settings.id);
        log.hold(&holder, self.recovered.needs());
        self.deliveries
            .iter()
            .for_each(|delivery| log.hold(&delivery.name, delivery.oldest()));
        let parts = Parts {
            settings: self.settings.clone(),
            sources,
            program,
            rules,
            layout: shared.layout,
            front: self.front,
            atoms: shared.atoms.clone(),
            services: shared.services.clone(),
            modes: shared.modes.clone(),
            log,
            decisions: self.decisions.clone(),
            position: self.position,
            deliveries: self.deliveries.clone(),
            gone: self.gone.clone(),
            stats: stats.clone(),
            meter: shared.meter.clone().filter(|_| self.settings.llm_metrics),
            partitions: shared.partitions,
            clock: shared.clock.clone(),
        };
        let mut worker = Worker::new(parts, self.recovered);
        // What is acknowledged from here on is its own, also after a crash.
        if begins && !worker.save_snapshot() {
            let text = "a new pipeline cannot save its position";
            return Err(std::io::Error::other(text));
        }
        let signal = stop.clone();
        let (pulse, alive) = Pulse::new();
        let run = move || {
            let _alive = alive;
            worker.run(&signal);
        };
        let thread = std::thread::Builder::new()
            .name("tailwater-worker".into())
            .spawn(run)?;
        Ok(Sampler {
            id: self.settings.id,
            decisions: self.decisions,
            deliveries: self.deliveries,
            gone: self.gone,
            stats,
            stop,
            pulse,
            thread: Some(thread),
        })
    }
}

/// A running sampler.
#[derive(Debug)]
pub struct Sampler {
    /// The pipeline's id.
    pub id: String,
    /// Its decision log, for the exporters' cursors.
    pub decisions: Arc<dyn DecisionLog>,
    /// One for each exporter, in the order in which they were named.
    pub deliveries: Vec<Arc<Delivery>>,
    /// Exporters that have left the config, by id.
    pub gone: Vec<(String, Arc<Delivery>)>,
    /// Its counters.
    pub stats: Arc<SamplerStats>,
    stop: Arc<StopSignal>,
    pulse: Pulse,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Ends the worker after its last flush; blocks until then. `false` when the worker had panicked.
    pub fn stop(&mut self) -> bool {
        self.stop.stop();
        self.thread.take().is_none_or(|thread| {
            thread.thread().unpark();
            thread.join().is_ok()
        })
    }

    /// Tells whether the worker has ended: by itself it never does while the log is open.
    #[must_use]
    pub fn pulse(&self) -> Pulse {
        self.pulse.clone()
    }
}
