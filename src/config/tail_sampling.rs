//! The `tail_sampling` processor: the Collector's keys and ours.

use std::time::Duration;

use super::buffer::{self, Buffer};
use super::component::ComponentId;
use super::fields::Fields;
use super::item::Item;
use super::late_evidence;
use super::long_traces::{self, Waits};
use super::memory::{self, Memory};
use super::own_keys::OwnKey;
use super::policies;
use super::services::{self, Services};
use super::settings::{Compat, SamplingStrategy};
use super::thinning;
use crate::exporters::Route;
use crate::rules::{PolicySpec, Release};
use crate::thinning::ThinningRule;

/// design.md section 2: ten minutes of log time after a trace's last piece.
const LATE_WINDOW: Duration = Duration::from_secs(600);

/// One block, before the buffer and the memory that all instances share are settled.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub id: String,
    pub wait: Waits,
    pub num_traces: Option<u64>,
    pub sampled_cache_size: u64,
    pub non_sampled_cache_size: u64,
    pub block_on_overflow: bool,
    pub sample_on_first_match: bool,
    pub drop_pending_traces_on_shutdown: bool,
    pub maximum_trace_size_bytes: Option<u64>,
    pub maximum_trace_spans: Option<u64>,
    pub late_window: Duration,
    pub llm_metrics: Option<usize>,
    pub late_evidence: Vec<String>,
    pub own_keys: Vec<OwnKey>,
    pub untraced_logs: bool,
    pub sampling_strategy: SamplingStrategy,
    pub num_shards: u32,
    pub compat_version: Release,
    pub policies: Vec<PolicySpec>,
    pub routes: Vec<Route>,
    pub thinning: Vec<ThinningRule>,
    pub buffer: Option<Buffer>,
    pub memory: Option<Memory>,
    pub services: Option<Services>,
    pub compat: Option<Compat>,
}

/// Decodes one block.
pub(crate) fn decode(id: &ComponentId, item: &Item<'_>) -> Option<Instance> {
    let mut fields = item.fields()?;
    let caches = fields.fields("decision_cache").map(|mut cache| {
        (
            size(&mut cache, "sampled_cache_size"),
            size(&mut cache, "non_sampled_cache_size"),
        )
    });
    let (sampled_cache_size, non_sampled_cache_size) = caches.unwrap_or_default();
    let policies = fields.get("policies");
    if policies.as_ref().is_none_or(|item| item.list_is_empty()) {
        item.warning("no policy: every trace is dropped");
    }
    let compat = fields.one_of(
        "compat",
        &[("strict", Compat::Strict), ("lossless", Compat::Lossless)],
    );
    let sampling_strategy = strategy(&mut fields);
    let (policies, routes) = policies
        .map(|item| policies::decode(&item, sampling_strategy))
        .unwrap_or_default();
    let thinning = fields.get("thinning");
    let thinning = thinning.map(|item| thinning::decode(&item, &policies));
    let compat_version = compat_version(&mut fields);
    let late_evidence = fields.get("late_evidence");
    let mut own_keys: Vec<OwnKey> = late_evidence.iter().map(OwnKey::of).collect();
    let untraced_logs = fields
        .one_of("untraced_logs", &[("pass", true), ("drop", false)])
        .unwrap_or(true);
    let late_evidence = late_evidence.and_then(|item| late_evidence::decode(&item, &policies));
    let wait = long_traces::decode(&mut fields, &policies, compat_version, &mut own_keys);
    let late_window = fields.duration("late_window").unwrap_or(LATE_WINDOW);
    let needed = wait.longest() + late_window;
    let instance = Instance {
        id: id.text.clone(),
        wait,
        num_traces: num_traces(&mut fields),
        sampled_cache_size,
        non_sampled_cache_size,
        block_on_overflow: fields.boolean("block_on_overflow").unwrap_or(false),
        sample_on_first_match: fields.boolean("sample_on_first_match").unwrap_or(false),
        drop_pending_traces_on_shutdown: fields
            .boolean("drop_pending_traces_on_shutdown")
            .unwrap_or(false),
        maximum_trace_size_bytes: fields.u64("maximum_trace_size_bytes").filter(|n| *n > 0),
        maximum_trace_spans: fields.u64("maximum_trace_spans").filter(|n| *n > 0),
        late_window,
        llm_metrics: llm_metrics(&mut fields),
        sampling_strategy,
        num_shards: num_shards(&mut fields),
        compat_version,
        policies,
        routes,
        thinning: thinning.unwrap_or_default(),
        late_evidence: late_evidence.unwrap_or_default(),
        own_keys,
        untraced_logs,
        buffer: fields
            .get("buffer")
            .and_then(|item| buffer::decode(&item, needed)),
        memory: fields.get("memory").and_then(|item| memory::decode(&item)),
        services: fields.get("services").map(|item| services::decode(&item)),
        compat,
    };
    without_effect(&mut fields);
    Some(instance)
}

/// Series of model calls, each of which has some 200 lines on the page: far more than a fleet has models and services.
const MAX_SERIES: u64 = 200;

/// The most series, when model calls are to be measured.
fn llm_metrics(fields: &mut Fields<'_>) -> Option<usize> {
    let mut block = fields.fields("llm_metrics")?;
    let wanted = block.get("max_series");
    let most = wanted.as_ref().and_then(Item::u64);
    if let (Some(item), Some(0)) = (&wanted, most) {
        item.error("a whole number of at least 1");
    }
    usize::try_from(most.unwrap_or(MAX_SERIES)).ok()
}

/// A cache size; negative means off in the Collector.
fn size(fields: &mut Fields<'_>, key: &'static str) -> u64 {
    fields
        .i64(key)
        .and_then(|n| u64::try_from(n).ok())
        .unwrap_or(0)
}

fn num_traces(fields: &mut Fields<'_>) -> Option<u64> {
    let item = fields.get("num_traces")?;
    let wanted = item.u64()?;
    if wanted == 0 {
        item.warning("taken as 1, as in the Collector; leave the key out for no limit");
    }
    Some(wanted.max(1))
}

fn strategy(fields: &mut Fields<'_>) -> SamplingStrategy {
    let known = [
        ("trace-complete", SamplingStrategy::TraceComplete),
        ("span-ingest", SamplingStrategy::SpanIngest),
    ];
    fields
        .one_of("sampling_strategy", &known)
        .unwrap_or_default()
}

/// 0 is 1, and more than 256 is refused, as in the Collector.
fn num_shards(fields: &mut Fields<'_>) -> u32 {
    let shards = fields
        .get("num_shards")
        .and_then(|item| item.u64_in(0, 256));
    shards
        .and_then(|shards| u32::try_from(shards).ok())
        .unwrap_or(1)
        .max(1)
}

/// A release of the Collector, `0.161` or `0.161.0`.
fn compat_version(fields: &mut Fields<'_>) -> Release {
    let Some(item) = fields.get("compat_version") else {
        return Release::NEWEST;
    };
    let Some(text) = item.string() else {
        return Release::NEWEST;
    };
    let minor = text
        .trim_start_matches('v')
        .strip_prefix("0.")
        .and_then(|rest| rest.split('.').next())
        .and_then(|minor| minor.parse().ok());
    match minor.map(Release) {
        Some(release) if release >= Release::OLDEST => {
            if release > Release::NEWEST {
                item.warning(
                    "newer than the newest release that we compared with, 0.165: taken as that",
                );
            }
            release.min(Release::NEWEST)
        }
        _ => {
            let help = "write it in quotes, as `\"0.161\"`";
            item.error_help("expected a release of the Collector from 0.126 on", help);
            Release::NEWEST
        }
    }
}

fn without_effect(fields: &mut Fields<'_>) {
    fields.no_effect(
        "expected_new_traces_per_sec",
        "memory is not allocated ahead",
    );
    let tail_storage = "leave it out: pending spans are in the log already, and survive a restart";
    fields.not_yet("tail_storage", tail_storage);
}
