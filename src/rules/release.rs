//! Which Collector release decides: the breaks in what `tail_sampling` decides, by release of contrib.
//!
//! Evidence for each is in the changelogs and pull requests of opentelemetry-collector-contrib; the numbers stand at the
//! methods. Everything else is equal in all releases that we know of.

/// A minor version of the Collector's contrib distribution: 161 is v0.161.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release(pub u16);

impl Release {
    /// The newest release that we compared with.
    pub const NEWEST: Self = Self(165);
    /// The oldest one whose decisions we know.
    pub const OLDEST: Self = Self(126);

    /// `invert_match` at the top level votes for itself and vetoes (before v0.144; #44132).
    #[must_use]
    pub fn inverted_votes(self) -> bool {
        self.0 < 144
    }

    /// `latency` without an upper bound includes its threshold (before v0.157; #49595).
    #[must_use]
    pub fn latency_includes_threshold(self) -> bool {
        self.0 < 157
    }

    /// `rate_limiting` counts by the second, and a trace as large as the rate never passes (before v0.153; #48226).
    #[must_use]
    pub fn rate_by_second(self) -> bool {
        self.0 < 153
    }

    /// A `composite` child without an allocation gets nothing (before v0.159; #49857).
    #[must_use]
    pub fn missing_allocation_is_zero(self) -> bool {
        self.0 < 159
    }

    /// The recorded policy is the first that samples, not the one with the smallest threshold (before v0.162; #50623).
    #[must_use]
    pub fn records_first_policy(self) -> bool {
        self.0 < 162
    }

    /// Times beyond 2^63 ns are read as signed and their difference saturates (before v0.162).
    #[must_use]
    pub fn times_saturate(self) -> bool {
        self.0 < 162
    }

    /// Schema URLs are lost, and conditions see them empty (before v0.162).
    #[must_use]
    pub fn loses_schema_urls(self) -> bool {
        self.0 < 162
    }

    /// Late spans keep the tracestate that they came with (before v0.162; #50623).
    #[must_use]
    pub fn late_keep_trace_state(self) -> bool {
        self.0 < 162
    }
}

/// How a rule set is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Semantics {
    /// The Collector whose decisions these are.
    pub release: Release,
    /// The gate `processor.tailsamplingprocessor.usetracestate`.
    pub use_trace_state: bool,
    /// The first policy that samples ends the evaluation.
    pub sample_on_first_match: bool,
    /// Limits are divided by this (`num_shards`, at least 1): each shard has its own.
    pub shards: u32,
    /// Limits are divided by this, too: the partitions of a shared log, of which each rule set sees one.
    pub partitions: u32,
}

impl Semantics {
    /// By how much limits are divided.
    pub(crate) fn parts(&self) -> u32 {
        self.shards.max(1).saturating_mul(self.partitions.max(1))
    }
}

impl Default for Semantics {
    fn default() -> Self {
        Self {
            release: Release::NEWEST,
            use_trace_state: false,
            sample_on_first_match: false,
            shards: 1,
            partitions: 1,
        }
    }
}
