//! The sampler over a real log, on a driven clock: decisions against a naive sampler, through restarts at any moment.

use super::entry::{Entries, Entry};
use super::*;
use crate::clock::{ManualClock, SECOND};
use crate::genai::Dialects;
use crate::log::{
    Directory, Durability, Inlet as _, Log as _, LogSettings, MemorySettings, OnFull, OpenAt,
    Services, SpanLog, StoreKind,
};
use crate::otlp::{Signal, SourceId, Submit, TraceId};
use crate::processors::Chain;
use crate::rules::{
    AtomsBuilder, Compiler, PolicyKind, PolicySpec, Program, Semantics, StatusCode, TextKeys,
    ValueIds, fingerprint, layout,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, LogsData, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, TracesData};
use proptest::prelude::*;
use prost::Message;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

mod accounts;
mod budgets;
mod calls;
mod front;
mod late_evidence;
mod logs;
mod long_traces;
mod long_waits;
mod service_modes;
mod stops;

const WAIT: u64 = 3;
const WINDOW: u32 = 20;
const PARTITIONS: u16 = 4;

fn policies() -> Vec<PolicySpec> {
    let policy = |name: &str, kind| PolicySpec {
        name: name.into(),
        kind,
    };
    vec![
        policy(
            "errors",
            PolicyKind::StatusCode {
                codes: vec![StatusCode::Error],
            },
        ),
        policy(
            "many",
            PolicyKind::SpanCount {
                min_spans: 4,
                max_spans: 0,
            },
        ),
    ]
}

/// A running sampler over a directory.
struct Rig {
    clock: Arc<ManualClock>,
    log: Arc<SpanLog<Scanned>>,
    intake: Intake,
    sampler: Sampler,
    policies: Vec<PolicySpec>,
    wait: u64,
    idle: Option<Idle>,
    program: Program,
    atoms: Arc<crate::rules::Atoms>,
    services: Arc<Services>,
    directory: Directory,
    front: Arc<Chain>,
    modes: Arc<ServiceModes>,
    /// In place of them, for the checker.
    checked_modes: Option<Arc<ServiceModes>>,
    runtime: tokio::runtime::Runtime,
}

fn log_settings(place: &Path) -> LogSettings {
    LogSettings {
        store: StoreKind::Disk(place.to_owned()),
        max_size: 32 << 20,
        retention: None,
        durability: Durability::Os,
        partitions: PARTITIONS,
        segment_size: 1 << 20,
    }
}

fn memory_settings() -> MemorySettings {
    MemorySettings {
        total: 64 << 20,
        per_service_default: 32 << 20,
        per_service: vec![],
        on_full: OnFull::Spill,
        on_full_of: vec![],
    }
}

fn text_keys() -> TextKeys {
    TextKeys::new(Dialects::with("").unwrap().text_keys())
}

fn settings_of_rig() -> SamplerSettings {
    SamplerSettings {
        id: "traces".into(),
        decision_wait: WAIT,
        decision_wait_after_root: None,
        idle: None,
        early_keep: false,
        late_window: WINDOW,
        late_evidence: vec![],
        keep_untraced: true,
        max_trace_spans: 1000,
        max_trace_bytes: u64::MAX,
        skeleton_cap: 32 << 20,
        sharers: Sharers::default(),
        memory_cap: 8 << 20,
        num_traces: None,
        span_ingest: false,
        strict: None,
        llm_metrics: false,
        decide_at_stop: false,
        drop_at_stop: false,
    }
}

fn source() -> SourceId {
    SourceId::of("otlp")
}

/// Its spans and its log records.
fn sources() -> Sources {
    Sources {
        traces: vec![source()],
        logs: vec![source()],
    }
}

impl Rig {
    fn start(place: &Path, now: u64, skeleton_cap: u64) -> Self {
        Self::start_with(place, now, |settings| settings.skeleton_cap = skeleton_cap)
    }

    fn start_with(place: &Path, now: u64, change: impl Fn(&mut SamplerSettings)) -> Self {
        Self::open(&log_settings(place), now, policies(), change)
    }

    fn open(
        settings: &LogSettings,
        now: u64,
        policies: Vec<PolicySpec>,
        change: impl Fn(&mut SamplerSettings),
    ) -> Self {
        Self::open_behind(Arc::default(), settings, now, policies, change)
    }

    fn open_behind(
        front: Arc<Chain>,
        settings: &LogSettings,
        now: u64,
        policies: Vec<PolicySpec>,
        change: impl Fn(&mut SamplerSettings),
    ) -> Self {
        let memory = memory_settings();
        Self::open_all((front, &[]), &memory, settings, now, policies, change)
    }

    #[allow(clippy::too_many_lines, reason = "opens all parts, one after another")]
    fn open_all(
        (front, modes): (Arc<Chain>, &[(&str, ServiceMode)]),
        memory: &MemorySettings,
        settings: &LogSettings,
        now: u64,
        policies: Vec<PolicySpec>,
        change: impl Fn(&mut SamplerSettings),
    ) -> Self {
        let clock = Arc::new(ManualClock::at(now));
        let mut builder = AtomsBuilder::default();
        let program = Compiler::new(&mut builder, Semantics::default())
            .compile(&policies)
            .unwrap();
        let atoms = Arc::new(
            builder
                .build(text_keys(), Arc::new(ValueIds::default()))
                .unwrap(),
        );
        let program = program.link(atoms.bits());
        let directory = Directory::open(settings).unwrap();
        let mut sampler = settings_of_rig();
        change(&mut sampler);
        let (wait, idle) = (sampler.decision_wait, sampler.idle);
        let open = OpenSampler::open(&directory, sampler, &["sink".into()]).unwrap();
        let (beyond, stamp) = open.resume_after();
        let services = Arc::new(Services::new(memory));
        let modes = Arc::new(ServiceModes::new(modes.iter().copied(), &services, false));
        let at = OpenAt { beyond, stamp };
        let log = SpanLog::open(
            &directory,
            settings,
            4 << 20,
            4 << 20,
            services.clone(),
            clock.clone(),
            at,
        )
        .unwrap();
        let rules = rules_of(&policies, &modes);
        let shared = Shared {
            atoms: atoms.clone(),
            services: services.clone(),
            inlet: log.clone(),
            modes: modes.clone(),
            partitions: PARTITIONS,
            clock: clock.clone(),
            layout: layout([rules]),
            meter: None,
        };
        let sampler = open
            .with_front(front.clone())
            .start(&shared, log.clone(), program.clone(), rules, sources())
            .unwrap();
        let intake = Intake::new(atoms.clone(), services.clone(), log.clone(), PARTITIONS)
            .with_modes(modes.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        Self {
            clock,
            log,
            intake,
            sampler,
            policies,
            wait,
            idle,
            program,
            atoms,
            services,
            directory,
            front,
            modes,
            checked_modes: None,
            runtime,
        }
    }

    fn send(&self, spans: Vec<Span>) {
        self.send_all(vec![ResourceSpans {
            scope_spans: vec![ScopeSpans {
                spans,
                ..Default::default()
            }],
            ..Default::default()
        }]);
    }

    fn send_all(&self, resource_spans: Vec<ResourceSpans>) {
        let request = TracesData { resource_spans };
        let answer = self.runtime.block_on(self.intake.submit(
            source(),
            Signal::Traces,
            request.encode_to_vec().into(),
        ));
        assert_eq!(answer.unwrap().rejected, 0);
    }

    fn send_logs(&self, log_records: Vec<LogRecord>) {
        let scope_logs = vec![ScopeLogs {
            log_records,
            ..Default::default()
        }];
        let request = LogsData {
            resource_logs: vec![ResourceLogs {
                scope_logs,
                ..Default::default()
            }],
        };
        let bytes = request.encode_to_vec().into();
        let answer = self
            .runtime
            .block_on(self.intake.submit(source(), Signal::Logs, bytes));
        assert_eq!(answer.unwrap().rejected, 0);
    }

    /// Log time goes on by a second, and the worker has seen it.
    fn second(&self) {
        self.seconds(1);
    }

    fn seconds(&self, n: u64) {
        self.clock.advance(n * SECOND);
        self.settle();
    }

    /// The worker has read everything and its time is the log's.
    fn settle(&self) {
        let now = self.log.stats().now;
        for _ in 0..60_000 {
            let stats = &self.sampler.stats;
            let time = stats::get(&stats.log_time);
            let records = stats::get(&stats.records.accepted);
            if time / SECOND >= now / SECOND
                && stats::get(&stats.accepted) + records >= self.log.stats().spans
            {
                return;
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
        panic!(
            "the worker does not come to {now}: {:?}",
            self.sampler.stats
        );
    }

    fn stop(mut self) {
        assert!(self.sampler.stop());
        self.log.stop();
    }

    /// Stops, checks the whole log, and returns the decisions.
    fn finish(mut self) -> (Vec<Entry>, CheckReport) {
        assert!(self.sampler.stop());
        self.log.stop();
        let Self {
            log,
            intake,
            sampler,
            policies,
            wait: decision_wait,
            idle,
            program,
            atoms,
            services,
            directory,
            front,
            modes,
            checked_modes,
            ..
        } = self;
        let rules = rules_of(&policies, &modes);
        drop((log, intake));
        let mut reader = sampler.decisions.reader(sampler.decisions.start());
        let mut entries = Vec::new();
        while let Some(frame) = reader.next().unwrap() {
            entries.extend(Entries::new(&frame.body));
        }
        drop((reader, sampler));
        let checked = Checked {
            id: "traces",
            sources: sources(),
            program: &program,
            rules,
            layout: layout([rules]),
            atoms: &atoms,
            services: &services,
            modes: checked_modes.as_ref().unwrap_or(&modes),
            decision_wait,
            idle,
            front: &front,
        };
        let report = check(&directory, &checked).unwrap();
        (entries, report)
    }
}

/// Other modes are other rules.
fn rules_of(policies: &[PolicySpec], modes: &ServiceModes) -> u32 {
    let text = format!("{modes:?}");
    let number = |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte));
    let modes = text.bytes().fold(0, number);
    fingerprint(policies, Semantics::default()) ^ modes
}

fn span(trace: u8, number: u64, error: bool) -> Span {
    Span {
        trace_id: (u128::from(trace) + 1).to_be_bytes().to_vec(),
        span_id: (number + 1).to_be_bytes().to_vec(),
        start_time_unix_nano: 1,
        end_time_unix_nano: 2,
        status: error.then(|| Status {
            code: 2,
            message: String::new(),
        }),
        ..Default::default()
    }
}

#[derive(Debug, Clone)]
enum Step {
    Send(Vec<(u8, bool)>),
    Seconds(u8),
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => proptest::collection::vec((0..6_u8, proptest::bool::weighted(0.15)), 1..6).prop_map(Step::Send),
        4 => (1..4_u8).prop_map(Step::Seconds),
        1 => Just(Step::Seconds(30)),
        2 => Just(Step::Restart),
    ]
}

/// One life of a trace in the naive sampler.
#[derive(Debug, Default, Clone)]
struct Life {
    first: u64,
    last: u64,
    spans: u64,
    error: bool,
    late: u64,
    /// Decided: kept or not.
    keep: Option<bool>,
}

/// Holds every span, decides at ticks, forgets after the window.
#[derive(Debug, Default)]
struct Naive {
    lives: BTreeMap<u8, Vec<Life>>,
}

/// A kept or dropped trace, and its spans but for the late ones.
type Decided = (u128, bool, u64);

impl Naive {
    fn send(&mut self, second: u64, spans: &[(u8, bool)]) {
        for (trace, error) in spans {
            let lives = self.lives.entry(*trace).or_default();
            match lives.last_mut() {
                Some(life) if life.keep.is_none() => {
                    life.spans += 1;
                    life.error |= error;
                    life.last = second;
                }
                Some(life) if life.last + u64::from(WINDOW) >= second => {
                    life.late += 1;
                    life.last = second;
                }
                _ => lives.push(Life {
                    first: second,
                    last: second,
                    spans: 1,
                    error: *error,
                    ..Life::default()
                }),
            }
        }
    }

    fn tick(&mut self, second: u64, wait: u64, keep: impl Fn(&Life) -> bool) {
        for life in self.lives.values_mut().flatten() {
            if life.keep.is_none() && life.first + 1 + wait <= second {
                life.keep = Some(keep(life));
            }
        }
    }

    /// The decisions in the log are these.
    fn compare(&self, entries: &[Entry]) -> Result<(), TestCaseError> {
        let mut expected: Vec<Decided> = Vec::new();
        let mut late = BTreeMap::<(u128, bool), u64>::new();
        for (trace, lives) in &self.lives {
            for life in lives {
                expected.push((u128::from(*trace) + 1, life.keep.unwrap(), life.spans));
                *late
                    .entry((u128::from(*trace) + 1, life.keep.unwrap()))
                    .or_default() += life.late;
            }
        }
        let mut found = Vec::new();
        for (decision, extent, keep) in entries.iter().filter_map(Entry::decision) {
            if decision.evidence == Evidence::Late {
                *late.entry((decision.trace.0, keep)).or_default() -= extent.spans;
            } else {
                found.push((decision.trace.0, keep, extent.spans));
            }
        }
        found.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(found, expected);
        prop_assert!(late.values().all(|left| *left == 0), "{late:?}");
        Ok(())
    }
}

/// What the rules of [`policies`] keep.
fn kept(life: &Life) -> bool {
    life.error || life.spans >= 4
}

/// Everything taken is decided.
fn balanced(stats: &SamplerStats, number: u64) -> Result<(), TestCaseError> {
    let (accepted, kept, dropped) = (
        stats::get(&stats.accepted),
        stats::get(&stats.kept),
        stats::get(&stats.dropped),
    );
    prop_assert_eq!(
        (accepted, accepted),
        (number, kept + dropped),
        "the ledger, over all restarts"
    );
    Ok(())
}

fn run(steps: &[Step]) -> Result<(), TestCaseError> {
    let place = tempfile::tempdir().unwrap();
    let mut now = 1_000 * SECOND;
    let mut rig = Rig::start(place.path(), now, 32 << 20);
    rig.settle();
    let (mut naive, mut number) = (Naive::default(), 0);
    for step in steps {
        match step {
            Step::Send(spans) => {
                naive.send(now / SECOND, spans);
                rig.send(
                    spans
                        .iter()
                        .map(|(trace, error)| {
                            number += 1;
                            span(*trace, number, *error)
                        })
                        .collect(),
                );
            }
            Step::Seconds(n) => {
                for _ in 0..*n {
                    now += SECOND;
                    naive.tick(now / SECOND, WAIT, kept);
                    rig.second();
                }
            }
            Step::Restart => {
                rig.stop();
                rig = Rig::start(place.path(), now, 32 << 20);
                rig.clock.advance(1);
            }
        }
    }
    for _ in 0..=WAIT + 1 {
        now += SECOND;
        naive.tick(now / SECOND, WAIT, kept);
        rig.second();
    }
    let stats = rig.sampler.stats.clone();
    let (entries, report) = rig.finish();
    prop_assert_eq!(&report.problems, &Vec::<String>::new());
    prop_assert_eq!(report.undecided, 0);
    naive.compare(&entries)?;
    balanced(&stats, number)
}

proptest! {
    #![proptest_config(crate::cases::cases(8))]

    #[test]
    fn decisions_are_a_naive_samplers_through_restarts(steps in proptest::collection::vec(step(), 1..25)) {
        run(&steps)?;
    }
}
