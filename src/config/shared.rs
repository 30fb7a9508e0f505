//! What all `tail_sampling` instances share: one buffer, one memory, one set of services. Conflicting blocks are an error.

use super::buffer::{self, Buffer};
use super::decoder::Decoder;
use super::diagnostic::{Diagnostic, Severity};
use super::expand::Env;
use super::memory::{self, Memory};
use super::own_keys;
use super::pipelines::Wired;
use super::services;
use super::settings::{Compat, InstanceSettings, MemoryPlan, ServicePlan};
use super::tail_sampling::Instance;
use crate::log::{LogSettings, StoreKind};

/// The Collector's default, for [`Compat::Strict`].
const NUM_TRACES: u64 = 50_000;

/// Settled for all instances.
pub(crate) struct Shared {
    pub log: LogSettings,
    pub memory: MemoryPlan,
    pub services: Vec<ServicePlan>,
    /// `TAILWATER_COMPAT`.
    pub compat: Compat,
}

/// Settles buffer, memory and compat over all pipelines.
pub(crate) fn settle(decoder: &Decoder<'_>, pipelines: &[Wired], env: Env<'_>) -> Shared {
    let instances: Vec<&Instance> = pipelines
        .iter()
        .filter_map(|wired| wired.sampler.as_ref())
        .collect();
    let compat = compat_of_env(decoder, env);
    own_keys::refuse(decoder, &instances, compat);
    let mut log = log(decoder, &instances, env);
    let strict = instances
        .iter()
        .any(|instance| instance.compat.unwrap_or(compat) == Compat::Strict);
    let logs = pipelines.iter().any(|wired| !wired.logs.is_empty());
    in_kafka(decoder, &instances, (strict, logs));
    if strict {
        // The Collector's order of traces is that of one worker.
        log.partitions = 1;
    }
    let services = services::settle(decoder, &instances, compat);
    let mut memory = memory(decoder, &instances, pipelines);
    let on_full_of = services.iter();
    let on_full_of = on_full_of.filter_map(|plan| Some((plan.name.clone(), plan.on_full?)));
    memory.on_full_of = on_full_of.collect();
    Shared {
        log,
        memory,
        services,
        compat,
    }
}

fn log(decoder: &Decoder<'_>, instances: &[&Instance], env: Env<'_>) -> LogSettings {
    let blocks: Vec<&Buffer> = instances
        .iter()
        .filter_map(|instance| instance.buffer.as_ref())
        .collect();
    if let Some((first, others)) = blocks.split_first() {
        for other in others.iter().filter(|other| other.log != first.log) {
            let at = decoder.sources.describe(first.place, other.place);
            decoder.error(
                other.place,
                &other.path,
                format!("all instances share one buffer: it is another one on {at}"),
            );
        }
        return first.log.clone();
    }
    match env("TAILWATER_BUFFER")
        .filter(|text| !text.is_empty())
        .map(|text| buffer::from_env(&text))
    {
        Some(Ok(log)) => log,
        Some(Err(message)) => {
            variable(decoder, "TAILWATER_BUFFER", message);
            buffer::default_log()
        }
        None => buffer::default_log(),
    }
}

/// What a log in Kafka does not go with.
fn in_kafka(decoder: &Decoder<'_>, instances: &[&Instance], (strict, logs): (bool, bool)) {
    let buffers = instances.iter().filter_map(|one| one.buffer.as_ref());
    let mut found = buffers.filter(|buffer| matches!(buffer.log.store, StoreKind::Kafka(_)));
    let Some(Buffer { place, path, .. }) = found.next() else {
        return;
    };
    if strict {
        let why = "the Collector has one worker for all traces, a group has one for each partition";
        let message = format!("must not be set with `compat: strict`: {why}");
        decoder.error(*place, path, message);
    }
    if logs {
        decoder.error_help(
            *place,
            path,
            "log records cannot be kept in a log in Kafka yet",
            "leave the pipeline of logs out, or use `disk`",
        );
    }
    if instances.len() > 1 {
        decoder.error_help(
            *place,
            path,
            "one pipeline only can have its log in Kafka",
            "run a daemon with a topic of its own for each pipeline with `tail_sampling`",
        );
    }
}

fn compat_of_env(decoder: &Decoder<'_>, env: Env<'_>) -> Compat {
    match env("TAILWATER_COMPAT").as_deref() {
        None | Some("" | "lossless") => Compat::Lossless,
        Some("strict") => Compat::Strict,
        Some(_) => {
            variable(
                decoder,
                "TAILWATER_COMPAT",
                "expected `strict` or `lossless`",
            );
            Compat::Lossless
        }
    }
}

fn variable(decoder: &Decoder<'_>, name: &str, message: &str) {
    decoder.push(Diagnostic {
        severity: Severity::Error,
        file: format!("environment variable {name}"),
        line: 0,
        column: 0,
        key: String::new(),
        message: message.to_owned(),
        help: None,
        source: None,
    });
}

fn memory(decoder: &Decoder<'_>, instances: &[&Instance], pipelines: &[Wired]) -> MemoryPlan {
    let blocks: Vec<&Memory> = instances
        .iter()
        .filter_map(|instance| instance.memory.as_ref())
        .collect();
    let mut plan = memory::default_plan();
    if let Some((first, others)) = blocks.split_first() {
        for other in others.iter().filter(|other| other.plan != first.plan) {
            let at = decoder.sources.describe(first.place, other.place);
            decoder.error(
                other.place,
                &other.path,
                format!("all instances share one memory: it is another one on {at}"),
            );
        }
        plan = first.plan.clone();
    }
    let mut limits = pipelines.iter().filter_map(|wired| wired.limit.as_ref());
    let Some(first) = limits.next() else {
        return plan;
    };
    for other in limits.filter(|other| other.total != first.total) {
        let at = decoder.sources.describe(first.place, other.place);
        decoder.error(
            other.place,
            &other.path,
            format!("all pipelines share one memory: its limit is another one on {at}"),
        );
    }
    if plan.total_is_set {
        decoder.warning(
            first.place,
            &first.path,
            "has no effect: `tail_sampling.memory.total` is set",
        );
    } else {
        plan.total = first.total;
        plan.total_is_set = true;
    }
    plan
}

/// An instance with what it shares.
pub(crate) fn finish(instance: Instance, shared: &Shared) -> InstanceSettings {
    let compat = instance.compat.unwrap_or(shared.compat);
    let strict = compat == Compat::Strict;
    InstanceSettings {
        id: instance.id,
        decision_wait: instance.wait.decision_wait,
        decision_wait_after_root_received: instance.wait.after_root,
        idle_wait: instance.wait.idle_wait,
        max_age: instance.wait.max_age,
        early_keep: instance.wait.early_keep,
        num_traces: instance.num_traces.or(strict.then_some(NUM_TRACES)),
        sampled_cache_size: instance.sampled_cache_size,
        non_sampled_cache_size: instance.non_sampled_cache_size,
        block_on_overflow: instance.block_on_overflow,
        sample_on_first_match: instance.sample_on_first_match,
        drop_pending_traces_on_shutdown: instance.drop_pending_traces_on_shutdown,
        maximum_trace_size_bytes: instance.maximum_trace_size_bytes,
        maximum_trace_spans: instance.maximum_trace_spans,
        late_window: instance.late_window,
        llm_metrics: instance.llm_metrics,
        late_evidence: instance.late_evidence,
        untraced_logs: instance.untraced_logs,
        sampling_strategy: instance.sampling_strategy,
        num_shards: instance.num_shards,
        compat_version: instance.compat_version,
        policies: instance.policies,
        routes: instance.routes,
        thinning: instance.thinning,
        log: shared.log.clone(),
        memory: shared.memory.clone(),
        services: shared.services.clone(),
        compat,
    }
}
