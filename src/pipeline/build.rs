//! From a config to parts that are opened but do not run yet: rules, log, samplers.
//!
//! The order is that of restart: decision logs are read first, because the span log must go on beyond what they name.

use super::budgets::Budgets;
use super::chains::{Chains, modes_of, rule_sets};
use super::start_error::StartError;
use crate::clock::SharedClock;
use crate::config::settings::{
    Compat, Config, InstanceSettings, PipelineSettings, SamplingStrategy,
};
use crate::genai::{Dialects, Meter};
use crate::log::{
    Directory, Fed, Inlet as _, Log, MemorySettings, OpenAt, Services, SpanLog, StoreKind,
};
use crate::otlp::SourceId;
use crate::rules::{Atoms, AtomsBuilder, Compiler, Program, TextKeys, ValueIds, layout};
use crate::sampler::{
    GoneExporter, Idle, OpenSampler, Sampler, SamplerSettings, Scanned, Shared, Sharers, Sources,
    Strict, TableLimits, give_up_instances,
};
use std::sync::Arc;
use std::time::Duration;

/// Everything behind the receivers and in front of the exporters.
pub(super) struct Core {
    pub(super) shared: Shared,
    /// The log that all samplers read; with Kafka each partition is one.
    pub(super) log: Option<Arc<dyn Log<Scanned>>>,
    pub(super) samplers: Vec<Sampler>,
    /// The processors of each of them.
    pub(super) chains: Vec<Chains>,
    /// Exporters of pipelines that have left the config.
    pub(super) gone: Vec<GoneExporter>,
    pub(super) budgets: Budgets,
    #[cfg(feature = "kafka")]
    pub(super) fleet: Option<super::build_kafka::Seed>,
}

/// What is made of a config for any kind of log.
#[cfg(feature = "kafka")]
pub(super) struct Made {
    pub(super) programs: Vec<Program>,
    pub(super) atoms: Atoms,
    pub(super) chains: Vec<Chains>,
    pub(super) budgets: Budgets,
    pub(super) meter: Option<Arc<Meter>>,
}

/// A trace with more spans than this is decided on what it has. Far above any real request (50 to 100 spans), so that
/// only a runaway sender meets it; its skeleton then holds at most 18 MB of pieces.
const MAX_TRACE_SPANS: u64 = 1_000_000;

pub(super) fn build(
    config: &Config,
    memory: &MemorySettings,
    clock: SharedClock,
) -> Result<Core, StartError> {
    let (programs, atoms) = compile(config)?;
    let chains = config.instances.iter().map(Chains::of);
    let chains = chains.collect::<Result<Vec<_>, _>>()?;
    let Some(pipeline) = config.instances.first() else {
        return Err(StartError::Thread(std::io::Error::other(
            "the config has no pipeline",
        )));
    };
    let first = &pipeline.sampler;
    let relays = !config.relays.is_empty();
    let budgets = Budgets::of(memory, first.memory.skeletons(memory.total), relays);
    #[cfg(feature = "kafka")]
    if let StoreKind::Kafka(settings) = &first.log.store {
        let made = Made {
            programs,
            atoms,
            chains,
            budgets,
            meter: meter(config),
        };
        return super::build_kafka::build(config, (pipeline, settings), memory, clock, made);
    }
    let directory = Directory::open(&first.log)?;
    directory.expect_instances(config.instances.len());
    let open = open_samplers(config, &directory, &budgets)?;
    let known = config.instances.iter().map(|pipeline| &*pipeline.name);
    let gone = give_up_instances(&directory, &known.collect::<Vec<_>>());
    let at = resume_after(&open);
    let services = Arc::new(Services::new(memory));
    let modes = modes_of(config, &services);
    // In memory the log itself is the payload: a cache in front of it would hold everything twice.
    let cache = if first.log.store == StoreKind::Memory {
        0
    } else {
        budgets.cache
    };
    let budgets = Budgets { cache, ..budgets };
    let log = SpanLog::open(
        &directory,
        &first.log,
        cache,
        budgets.window,
        services.clone(),
        clock.clone(),
        at,
    )?;
    let partitions = partitions(&directory, first.log.partitions, log.as_ref(), &open)?;
    let shared = Shared {
        atoms: Arc::new(atoms),
        services,
        inlet: log.clone(),
        modes: Arc::new(modes),
        partitions,
        clock,
        layout: layout(rule_sets(config)),
        meter: meter(config),
    };
    let mut samplers = Vec::new();
    let rules = rule_sets(config);
    let open = open.into_iter().zip(&chains);
    let parts = config.instances.iter().zip(programs).zip(open).zip(rules);
    for (((pipeline, program), (sampler, chains)), rules) in parts {
        let sampler = sampler.with_front(chains.front.clone());
        let sources = sources(pipeline);
        samplers.push(sampler.start(&shared, log.clone(), program, rules, sources)?);
    }
    Ok(Core {
        shared,
        log: Some(log),
        samplers,
        chains,
        gone,
        budgets,
        #[cfg(feature = "kafka")]
        fleet: None,
    })
}

/// One for the process: of the pipelines that measure model calls, the one with most series.
fn meter(config: &Config) -> Option<Arc<Meter>> {
    let wanted = config
        .instances
        .iter()
        .filter_map(|pipeline| pipeline.sampler.llm_metrics);
    wanted.max().map(|most| Arc::new(Meter::new(most)))
}

/// The partition count to work with. Another one than the log's is taken when no trace is undecided: a trace that began
/// in one partition would go on in another.
fn partitions(
    directory: &Directory,
    in_config: u16,
    log: &SpanLog<Scanned>,
    samplers: &[OpenSampler],
) -> Result<u16, StartError> {
    let in_log = directory.partitions();
    if in_log == in_config {
        return Ok(in_log);
    }
    let decided = |sampler: &OpenSampler| {
        let next = log.feed(sampler.replays_from()).next(Duration::ZERO);
        sampler.waiting() == 0 && matches!(next, Fed::Idle { .. })
    };
    if !samplers.iter().all(decided) {
        log.stop();
        return Err(StartError::Partitions { in_log, in_config });
    }
    directory.set_partitions(in_config)?;
    tracing::info!(
        in_log,
        in_config,
        "nothing is undecided: the partition count is changed"
    );
    Ok(in_config)
}

/// Compiles all rule sets against one table of tests.
pub(crate) fn compile(config: &Config) -> Result<(Vec<Program>, Atoms), StartError> {
    let mut builder = AtomsBuilder::default();
    let mut programs = Vec::new();
    for pipeline in &config.instances {
        let settings = &pipeline.sampler;
        if settings.maximum_trace_size_bytes.is_some() || config.gates.count_bytes_sampled {
            builder.want_sizes();
        }
        if settings.compat == Compat::Strict {
            builder.take_zero_ids();
        }
        let compiler = Compiler::new(&mut builder, settings.semantics(config.gates));
        let mut program = compiler.compile(&settings.policies)?;
        if settings.llm_metrics.is_some() {
            builder.want_records();
            program.want_features();
        }
        programs.push(program);
    }
    let dialects = Arc::new(Dialects::with("")?);
    let text_keys = TextKeys::new(dialects.text_keys());
    builder.speak(dialects);
    let atoms = builder
        .build(text_keys, Arc::new(ValueIds::default()))
        .map_err(StartError::Keywords)?;
    let bits = atoms.bits();
    Ok((
        programs
            .into_iter()
            .map(|program| program.link(bits))
            .collect(),
        atoms,
    ))
}

fn open_samplers(
    config: &Config,
    directory: &Directory,
    budgets: &Budgets,
) -> Result<Vec<OpenSampler>, StartError> {
    let instances = config.instances.len() as u64;
    let open = config.instances.iter().map(|pipeline| {
        let settings = sampler_settings(pipeline, budgets, instances);
        Ok(OpenSampler::open(directory, settings, &pipeline.exporters)?)
    });
    open.collect()
}

fn resume_after(samplers: &[OpenSampler]) -> OpenAt {
    let ends = samplers.iter().map(OpenSampler::resume_after);
    let (beyond, stamp) = ends.fold((0, 0), |(a, b), (beyond, stamp)| {
        (a.max(beyond), b.max(stamp))
    });
    OpenAt { beyond, stamp }
}

/// The receivers that feed a pipeline.
pub(super) fn sources(pipeline: &PipelineSettings) -> Sources {
    let of = |ids: &[String]| ids.iter().map(|id| SourceId::of(id)).collect();
    Sources {
        traces: of(&pipeline.receivers),
        logs: of(&pipeline.logs),
    }
}

/// Without an idle wait there is no age.
pub(super) fn idle(settings: &InstanceSettings) -> Option<Idle> {
    let (wait, max_age) = settings.idle_wait.zip(settings.max_age)?;
    Some(Idle {
        wait: wait.as_secs().max(1),
        max_age: max_age.as_secs().max(1),
    })
}

/// Indices of the policies that late pieces are asked for.
fn late_evidence(settings: &InstanceSettings) -> Vec<u16> {
    let index = |name: &String| {
        let mut names = settings.policies.iter().map(|policy| &policy.name);
        names.position(|other| other == name)
    };
    let named = settings.late_evidence.iter().filter_map(index);
    named.filter_map(|index| index.try_into().ok()).collect()
}

/// Sizes of one shard: a part of what the file says, at least 1 when it says anything.
fn strict(settings: &InstanceSettings) -> Strict {
    let shards = settings.num_shards.max(1);
    let part = |size: u64| match size {
        0 => 0,
        size => usize::try_from((size / u64::from(shards)).max(1)).unwrap_or(usize::MAX),
    };
    Strict {
        limits: TableLimits {
            num_traces: part(settings.num_traces.unwrap_or(u64::MAX)),
            sampled_cache: part(settings.sampled_cache_size),
            non_sampled_cache: part(settings.non_sampled_cache_size),
        },
        shards: u16::try_from(shards).unwrap_or(u16::MAX),
        block_on_overflow: settings.block_on_overflow,
    }
}

pub(super) fn sampler_settings(
    pipeline: &PipelineSettings,
    budgets: &Budgets,
    instances: u64,
) -> SamplerSettings {
    let InstanceSettings { log, .. } = &pipeline.sampler;
    let settings = &pipeline.sampler;
    SamplerSettings {
        id: pipeline.name.clone(),
        decision_wait: settings.decision_wait.as_secs().max(1),
        decision_wait_after_root: settings
            .decision_wait_after_root_received
            .map(|wait| wait.as_secs()),
        idle: idle(settings),
        early_keep: settings.early_keep,
        late_window: u32::try_from(settings.late_window.as_secs()).unwrap_or(u32::MAX),
        late_evidence: late_evidence(settings),
        keep_untraced: settings.untraced_logs,
        max_trace_spans: u32::try_from(settings.maximum_trace_spans.unwrap_or(MAX_TRACE_SPANS))
            .unwrap_or(u32::MAX),
        max_trace_bytes: settings.maximum_trace_size_bytes.unwrap_or(u64::MAX),
        num_traces: settings
            .num_traces
            .filter(|_| settings.compat != Compat::Strict),
        span_ingest: settings.sampling_strategy == SamplingStrategy::SpanIngest,
        llm_metrics: settings.llm_metrics.is_some(),
        strict: (settings.compat == Compat::Strict).then(|| strict(settings)),
        skeleton_cap: budgets.skeletons / instances.max(1),
        sharers: Sharers::default(),
        memory_cap: budgets.memory / instances.max(1),
        decide_at_stop: (log.store == StoreKind::Memory || settings.compat == Compat::Strict)
            && !settings.drop_pending_traces_on_shutdown,
        drop_at_stop: settings.drop_pending_traces_on_shutdown,
    }
}
