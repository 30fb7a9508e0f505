//! Checked settings of one `tail_sampling` instance.

use std::time::Duration;

use super::Gates;
use crate::exporters::Route;
use crate::log::{LogSettings, MemorySettings, OnFull, StoreKind};
use crate::rules::{PolicySpec, Release, Semantics};
use crate::sampler::ServiceMode;
use crate::thinning::ThinningRule;

/// Which behaviour wins where the Collector loses data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    /// Nothing that was accepted is lost.
    #[default]
    Lossless,
    /// As the Collector: eviction without evaluation, new life for evicted ids, a decision at shutdown, one partition.
    Strict,
}

/// When policies are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SamplingStrategy {
    /// Once for each trace, when its wait is over.
    #[default]
    TraceComplete,
    /// For each piece alone as it arrives; what never matches is dropped when the wait is over.
    SpanIngest,
}

/// One `tail_sampling` block.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceSettings {
    /// `tail_sampling` or `tail_sampling/name`.
    pub id: String,
    /// Log time from a trace's first span to its decision; whole seconds, at least 1. The Collector's default 30 s. Without
    /// effect with [`Self::idle_wait`].
    pub decision_wait: Duration,
    /// Whole seconds from the root span to the decision (0: the next tick); none: off.
    pub decision_wait_after_root_received: Option<Duration>,
    /// Log time from a trace's last span to its decision (ours); whole seconds, at least 1; none: off.
    pub idle_wait: Option<Duration>,
    /// Log time from a trace's first span, at which it is decided on what it has (ours). Set where [`Self::idle_wait`] is.
    pub max_age: Option<Duration>,
    /// A trace that a policy keeps whatever comes is kept at once (ours).
    pub early_keep: bool,
    /// Undecided traces at once; none: no limit. Under [`Compat::Strict`] the Collector's 50,000.
    pub num_traces: Option<u64>,
    /// `decision_cache.sampled_cache_size`: ids; 0 = not set. Late spans follow the decision anyway, except under
    /// [`Compat::Strict`].
    pub sampled_cache_size: u64,
    /// `decision_cache.non_sampled_cache_size`.
    pub non_sampled_cache_size: u64,
    /// At `num_traces`, intake waits where the oldest trace would be evicted.
    pub block_on_overflow: bool,
    /// The first policy that samples ends the evaluation.
    pub sample_on_first_match: bool,
    /// At shutdown pending traces are dropped, where they would be decided.
    pub drop_pending_traces_on_shutdown: bool,
    /// Bytes of a trace beyond which it is decided at once; none: off.
    pub maximum_trace_size_bytes: Option<u64>,
    /// Spans of a trace beyond which it is decided at once (ours); none: off.
    pub maximum_trace_spans: Option<u64>,
    /// Log time after a trace's last piece in which late spans follow its decision (ours); ten minutes.
    pub late_window: Duration,
    /// Model calls are counted and measured (ours), with at most so many series; none: off.
    pub llm_metrics: Option<usize>,
    /// Names of the policies that bring a dropped trace back when a late span matches (ours); off unless set.
    pub late_evidence: Vec<String>,
    /// Log records without a trace id pass (ours); they do unless the file says `drop`.
    pub untraced_logs: bool,
    /// When policies are asked.
    pub sampling_strategy: SamplingStrategy,
    /// Limits and tables are divided by this; 1 to 256.
    pub num_shards: u32,
    /// Whose decisions where releases of the Collector differ.
    pub compat_version: Release,
    /// In the order of the file.
    pub policies: Vec<PolicySpec>,
    /// Which exporters policies name.
    pub routes: Vec<Route>,
    /// Which spans of kept traces do not leave.
    pub thinning: Vec<ThinningRule>,
    /// The buffer, shared by all instances.
    pub log: LogSettings,
    /// Memory caps, shared by all instances.
    pub memory: MemoryPlan,
    /// What is set for single services, shared by all instances.
    pub services: Vec<ServicePlan>,
    /// Lossless or as the Collector.
    pub compat: Compat,
}

/// `services.NAME`.
#[derive(Debug, Clone, PartialEq)]
pub struct ServicePlan {
    /// `service.name`.
    pub name: String,
    /// `mode` and `sampling_percentage`; at the tail unless set.
    pub mode: ServiceMode,
    /// `on_full`; as for all services unless set.
    pub on_full: Option<OnFull>,
}

impl InstanceSettings {
    /// How the policies are to be read.
    #[must_use]
    pub fn semantics(&self, gates: Gates) -> Semantics {
        Semantics {
            release: self.compat_version,
            use_trace_state: gates.use_trace_state,
            sample_on_first_match: self.sample_on_first_match,
            shards: self.num_shards,
            partitions: match self.log.store {
                StoreKind::Kafka(_) => u32::from(self.log.partitions),
                _ => 1,
            },
        }
    }
}

/// The cap on everything, before the cgroup limit is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MemoryTotal {
    /// Bytes.
    Bytes(u64),
    /// Percent of the cgroup's limit, above 0 and at most 100.
    Percent(f64),
}

/// `memory`, with its total unresolved.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryPlan {
    /// `total`; 60 % unless set.
    pub total: MemoryTotal,
    /// Whether the file sets a total (then a missing cgroup limit under a percentage is worth a warning).
    pub total_is_set: bool,
    /// `per_service.default`; 64 MiB unless set (design.md section 3).
    pub per_service_default: u64,
    /// `per_service`, in the order of the file.
    pub per_service: Vec<(String, u64)>,
    /// `on_full`; `spill` unless set.
    pub on_full: OnFull,
    /// `services.NAME.on_full`.
    pub on_full_of: Vec<(String, OnFull)>,
    /// Bytes of all skeletons; none: a quarter of the total.
    pub skeleton_cap: Option<u64>,
}

/// Total when there is neither a limit in the file nor one of a cgroup (design.md section 3: with a warning).
const WITHOUT_LIMIT: u64 = 1 << 30;
/// A smaller total cannot hold one request of the default size beside everything else.
const SMALLEST: u64 = 32 << 20;

impl MemoryPlan {
    /// The settings under a cgroup limit in bytes, and whether the total is the stopgap of 1 GiB.
    #[must_use]
    pub fn resolve(&self, cgroup_limit: Option<u64>) -> (MemorySettings, bool) {
        let (total, stopgap) = match (self.total, cgroup_limit) {
            (MemoryTotal::Bytes(bytes), _) => (bytes, false),
            (MemoryTotal::Percent(percent), Some(limit)) => (share(limit, percent), false),
            (MemoryTotal::Percent(_), None) => (WITHOUT_LIMIT, true),
        };
        let settings = MemorySettings {
            total: total.max(SMALLEST),
            per_service_default: self.per_service_default,
            per_service: self.per_service.clone(),
            on_full: self.on_full,
            on_full_of: self.on_full_of.clone(),
        };
        (settings, stopgap)
    }

    /// Bytes of all skeletons under a total; a quarter of it unless set.
    #[must_use]
    pub fn skeletons(&self, total: u64) -> u64 {
        self.skeleton_cap.unwrap_or(total / 4).min(total)
    }
}

/// `percent` of a limit, in parts per million so that no float holds the bytes.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 1,000,000"
)]
fn share(limit: u64, percent: f64) -> u64 {
    let parts = (percent.clamp(0.0, 100.0) * 10_000.0) as u128;
    u64::try_from(u128::from(limit) * parts / 1_000_000).unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_the_total() {
        let plan = |total| MemoryPlan {
            total,
            total_is_set: true,
            per_service_default: 1,
            per_service: Vec::new(),
            on_full: OnFull::Spill,
            on_full_of: Vec::new(),
            skeleton_cap: None,
        };
        let check = |total, limit, expected| {
            let (settings, stopgap) = plan(total).resolve(limit);
            assert_eq!((settings.total, stopgap), expected);
        };
        check(
            MemoryTotal::Bytes(100 << 20),
            Some(1 << 30),
            (100 << 20, false),
        );
        check(
            MemoryTotal::Percent(60.0),
            Some(1000 << 20),
            (600 << 20, false),
        );
        check(MemoryTotal::Percent(12.5), Some(8 << 30), (1 << 30, false));
        check(MemoryTotal::Percent(60.0), None, (1 << 30, true));
        check(MemoryTotal::Percent(1.0), Some(1 << 20), (SMALLEST, false));
        check(
            MemoryTotal::Percent(100.0),
            Some(u64::MAX),
            (u64::MAX, false),
        );
        assert_eq!(plan(MemoryTotal::Bytes(0)).skeletons(400), 100);
    }
}
