//! From a config with a log in Kafka to parts that do not run yet. The brokers may be away: only topics that are wrong
//! keep the daemon from starting.

use super::budgets::Budgets;
use super::build::{Core, Made, sampler_settings};
use super::chains::{Chains, modes_of, rule_sets, rules_of};
use super::fleet::Crew;
use super::kafka_watch::Topics;
use super::start_error::StartError;
use crate::clock::SharedClock;
use crate::config::settings::{Config, InstanceSettings, PipelineSettings};
use crate::kafka::{KafkaLogSettings, TopicError};
use crate::log::{KafkaBudgets, KafkaLog, LogError, MemorySettings, PARTITIONS_MAX, Services};
use crate::rules::layout;
use crate::sampler::Shared;
use std::sync::Arc;
use std::time::Duration;

/// Positions of exporters travel with the group's offset, in 4 KiB: some two hundred bytes each, and room to spare.
const EXPORTERS_MAX: usize = 12;
/// Topics that were just made are not known to all brokers at once.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(500);

/// What a fleet is started from.
pub(super) struct Seed {
    pub(super) log: Arc<KafkaLog>,
    pub(super) settings: KafkaLogSettings,
    pub(super) topics: Topics,
    pub(super) crew: Crew,
}

/// Opens the clients and looks at the topics once.
pub(super) fn build(
    config: &Config,
    (pipeline, settings): (&PipelineSettings, &KafkaLogSettings),
    memory: &MemorySettings,
    clock: SharedClock,
    made: Made,
) -> Result<Core, StartError> {
    let Made {
        mut programs,
        atoms,
        chains,
        budgets,
        meter,
    } = made;
    let sampler = &pipeline.sampler;
    let topics = Topics {
        settings: settings.clone(),
        longest_wait: longest_wait(sampler),
        late_window: sampler.late_window,
    };
    check(pipeline, settings)?;
    look(&topics)?;
    let services = Arc::new(Services::new(memory));
    let parts = KafkaBudgets {
        cache: budgets.cache,
        unread: budgets.window,
        queue: budgets.intake,
    };
    let log = KafkaLog::open(settings, parts, services.clone(), clock.clone())?;
    let log = Arc::new(log);
    let shared = Shared {
        atoms: Arc::new(atoms),
        modes: Arc::new(modes_of(config, &services)),
        services,
        inlet: log.inlet.clone(),
        partitions: settings.partitions,
        clock,
        layout: layout(rule_sets(config)),
        meter,
    };
    let (Some(program), Some(own)) = (programs.pop(), chains.first()) else {
        return Err(no_pipeline());
    };
    let crew = Crew {
        // One worker works on one partition, whatever its number.
        shared: Shared {
            partitions: 1,
            ..shared.clone()
        },
        program,
        rules: rules_of(pipeline, config.gates),
        settings: of_partition(pipeline, &budgets, settings.partitions),
        front: Chains::front(own),
        processor: sampler.id.clone(),
        exporters: pipeline.exporters.clone(),
        counts: (
            config.gates.count_spans_sampled,
            config.gates.count_bytes_sampled,
        ),
    };
    Ok(Core {
        shared,
        log: None,
        samplers: Vec::new(),
        chains,
        gone: Vec::new(),
        budgets,
        fleet: Some(Seed {
            log,
            settings: settings.clone(),
            topics,
            crew,
        }),
    })
}

fn no_pipeline() -> StartError {
    StartError::Thread(std::io::Error::other("the config has no pipeline"))
}

fn check(pipeline: &PipelineSettings, settings: &KafkaLogSettings) -> Result<(), StartError> {
    let refused = |text: String| Err(StartError::Log(LogError::Settings(text)));
    let (exporters, partitions) = (pipeline.exporters.len(), settings.partitions);
    if exporters > EXPORTERS_MAX {
        return refused(format!(
            "a log in Kafka holds the positions of up to {EXPORTERS_MAX} exporters; the pipeline has {exporters}"
        ));
    }
    if partitions > PARTITIONS_MAX {
        return refused(format!(
            "a log in Kafka has up to {PARTITIONS_MAX} partitions; the config says {partitions}"
        ));
    }
    Ok(())
}

/// Wrong topics end the start; brokers that are away do not.
fn look(topics: &Topics) -> Result<(), StartError> {
    for _ in 0..TRIES {
        match topics.verify() {
            Ok(_) => return Ok(()),
            Err(TopicError::NotReady(reason)) => tracing::warn!("{reason}"),
            // The watch goes on asking, and tells.
            Err(TopicError::Missing(_)) => return Ok(()),
            Err(wrong @ TopicError::Wrong { .. }) => return Err(StartError::Topics(wrong)),
        }
        std::thread::park_timeout(PAUSE);
    }
    Ok(())
}

/// How long a trace may be undecided.
fn longest_wait(settings: &InstanceSettings) -> Duration {
    let waits = [Some(settings.decision_wait), settings.max_age];
    waits.into_iter().flatten().max().unwrap_or_default()
}

/// Skeletons are shared by the partitions that the process owns, decision memory is dealt out among all.
fn of_partition(
    pipeline: &PipelineSettings,
    budgets: &Budgets,
    partitions: u16,
) -> crate::sampler::SamplerSettings {
    let settings = sampler_settings(pipeline, budgets, 1);
    crate::sampler::SamplerSettings {
        memory_cap: settings.memory_cap / u64::from(partitions.max(1)),
        decide_at_stop: false,
        ..settings
    }
}
