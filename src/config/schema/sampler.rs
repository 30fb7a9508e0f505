//! Keys of the processors.

use super::Key;
use super::Shape::{self, Block, Duration, Flag, Many, Named, Share, Size, Text, Whole, Words};
use super::kafka::KAFKA_LOG;
use super::policies::POLICY;
use super::processors::{ATTRIBUTES, FILTER, RESOURCE, SAMPLER};

const CACHE: Shape = Block(&[
    Key::new(
        "sampled_cache_size",
        Whole,
        "Ids of kept traces (compat: strict).",
    ),
    Key::new(
        "non_sampled_cache_size",
        Whole,
        "Ids of dropped traces (compat: strict).",
    ),
]);

const LLM_METRICS: Shape = Block(&[Key::new(
    "max_series",
    Whole,
    "Sets of labels, beyond which all others share one; 200.",
)]);

const RETENTION: Key = Key::new(
    "retention",
    Duration,
    "Age after which sealed segments go; as much as max_size allows.",
);
const PARTITIONS: Key = Key::new(
    "partitions",
    Whole,
    "Partitions of the log, set when it is made; 16.",
);

const DISK: Shape = Block(&[
    Key::new("directory", Text, "Where the log lies; /var/lib/tailwater."),
    Key::new("max_size", Size, "Bytes of all files; 20GiB."),
    Key::new("segment_size", Size, "Bytes of one file; 128MiB."),
    Key::new(
        "durability",
        Words(&["os", "fsync"]),
        "What an answer survives: the process (os) or the power (fsync).",
    ),
    RETENTION,
    PARTITIONS,
]);

const MEMORY_LOG: Shape = Block(&[
    Key::new("max_size", Size, "Bytes; 256MiB."),
    RETENTION,
    PARTITIONS,
]);

const BUFFER: Shape = Block(&[
    Key::new("disk", DISK, "Files below a directory."),
    Key::new("memory", MEMORY_LOG, "In memory: lost with the process."),
    Key::new("kafka", KAFKA_LOG, "Topics that a group of daemons shares."),
]);

const MEMORY: Shape = Block(&[
    Key::new(
        "total",
        Share,
        "All caps together: bytes, or percent of the cgroup's limit; 60%.",
    ),
    Key::new(
        "per_service",
        Named(&Size),
        "Cap of a service by its name; `default` for the others, 64MiB.",
    ),
    Key::new(
        "on_full",
        Words(&["spill", "decide_early", "refuse"]),
        "What happens at a service's cap; spill.",
    ),
    Key::new(
        "skeletons",
        Size,
        "Cap of what is held of undecided traces; a quarter of the total.",
    ),
]);

const SERVICE: Shape = Block(&[
    Key::new(
        "mode",
        Words(&["tail", "head", "off"]),
        "With its trace by the rules (tail), by a coin before the log (head), not at all (off); tail.",
    ),
    Key::new(
        "sampling_percentage",
        Shape::Number,
        "Share of the traces whose spans leave; with mode: head only.",
    ),
    Key::new(
        "on_full",
        Words(&["spill", "decide_early", "refuse"]),
        "What happens at its cap; as for all services.",
    ),
]);

const TAIL_SAMPLING: Shape = Block(&[
    Key::new(
        "decision_wait",
        Duration,
        "From a trace's first span to its decision, whole seconds; 30s.",
    ),
    Key::new(
        "decision_wait_after_root_received",
        Duration,
        "From the root span to the decision; off.",
    ),
    Key::new(
        "idle_wait",
        Duration,
        "From a trace's last span to its decision, in place of decision_wait; off.",
    ),
    Key::new(
        "max_age",
        Duration,
        "A trace that never rests is decided at this age; 10m where idle_wait is set.",
    ),
    Key::new(
        "early_keep",
        Flag,
        "A trace that a policy keeps whatever comes is kept at once.",
    ),
    Key::new(
        "preset",
        Words(&["llm"]),
        "llm: idle_wait 1m, decision_wait_after_root_received 6s, max_age 10m, early_keep where the policies allow it.",
    ),
    Key::new("num_traces", Whole, "Undecided traces at once; no limit."),
    Key::new(
        "decision_cache",
        CACHE,
        "Late spans follow the decision anyway, except under compat: strict.",
    ),
    Key::new(
        "block_on_overflow",
        Flag,
        "At num_traces, wait instead of deciding the oldest.",
    ),
    Key::new(
        "sample_on_first_match",
        Flag,
        "The first policy that samples ends the evaluation.",
    ),
    Key::new(
        "drop_pending_traces_on_shutdown",
        Flag,
        "Pending traces are dropped at shutdown.",
    ),
    Key::new(
        "maximum_trace_size_bytes",
        Whole,
        "A larger trace is decided at once; off.",
    ),
    Key::new(
        "maximum_trace_spans",
        Whole,
        "A trace with more spans is decided at once; off.",
    ),
    Key::new(
        "late_window",
        Duration,
        "How long late spans follow the decision; 10m.",
    ),
    Key::new(
        "llm_metrics",
        LLM_METRICS,
        "Count and measure the model calls of all traces; off.",
    ),
    Key::new(
        "late_evidence",
        Block(&[Key::new(
            "policies",
            Many(&Text),
            "Names of policies that test spans.",
        )]),
        "Late spans that match one of these policies bring their dropped trace back; off.",
    ),
    Key::new(
        "untraced_logs",
        Words(&["pass", "drop"]),
        "What becomes of log records without a trace id; pass.",
    ),
    Key::new("policies", Many(&POLICY), "The rules."),
    Key::new(
        "thinning",
        Many(&THINNING),
        "Which spans of kept traces do not leave; none.",
    ),
    Key::new(
        "buffer",
        BUFFER,
        "Where accepted spans lie; one for all instances.",
    ),
    Key::new("memory", MEMORY, "Caps in bytes; one for all instances."),
    Key::new(
        "services",
        Named(&SERVICE),
        "What holds for one service, by its name; one for all instances.",
    ),
    Key::new(
        "compat",
        Words(&["lossless", "strict"]),
        "strict: as the Collector where it loses data.",
    ),
    Key::new(
        "compat_version",
        Text,
        "Whose decisions where releases of the Collector differ; 0.165.",
    ),
    Key::new(
        "sampling_strategy",
        Words(&["trace-complete", "span-ingest"]),
        "When policies are asked: at the end of the wait, or for each piece as it arrives; trace-complete.",
    ),
    Key::new(
        "num_shards",
        Whole,
        "Limits are divided by it, and traces among as many; 1.",
    ),
    Key::ignored("expected_new_traces_per_sec"),
]);

const THINNING: Shape = Block(&[
    Key::new(
        "spans",
        Text,
        "name =~ \"regular expression\", name == \"name\", or a name in which * is any text.",
    ),
    Key::new(
        "keep_percentage",
        Shape::Number,
        "So many percent of these spans leave.",
    ),
    Key::new(
        "fold_repeated",
        Whole,
        "Siblings of one name leave as one span when there are at least so many.",
    ),
    Key::new(
        "unless_kept_by",
        Many(&Text),
        "Policies whose traces leave whole, as far as this rule goes.",
    ),
]);

const BATCH: Shape = Block(&[
    Key::new(
        "timeout",
        Duration,
        "A batch leaves at the latest after this time; 200ms.",
    ),
    Key::new(
        "send_batch_size",
        Whole,
        "A batch leaves when it has so many spans; 8192.",
    ),
    Key::new(
        "send_batch_max_size",
        Whole,
        "No batch has more; 0 is no limit.",
    ),
    Key::ignored("metadata_cardinality_limit"),
]);

const LIMITER: Shape = Block(&[
    Key::new(
        "limit_mib",
        Whole,
        "Sets tail_sampling.memory.total in MiB.",
    ),
    Key::new(
        "limit_percentage",
        Whole,
        "Sets tail_sampling.memory.total in percent.",
    ),
    Key::ignored("check_interval"),
    Key::ignored("spike_limit_mib"),
    Key::ignored("spike_limit_percentage"),
    Key::ignored("min_gc_interval_when_soft_limited"),
    Key::ignored("min_gc_interval_when_hard_limited"),
]);

pub(crate) const PROCESSORS: Shape = Shape::Components(&[
    Key::new(
        "tail_sampling",
        TAIL_SAMPLING,
        "Decides which traces are kept.",
    ),
    Key::new("batch", BATCH, "How large the exporters' batches are."),
    Key::new("memory_limiter", LIMITER, "How much memory is used."),
    Key::new("filter", FILTER, "Leaves spans and events out."),
    Key::new("attributes", ATTRIBUTES, "Changes attributes of spans."),
    Key::new("resource", RESOURCE, "Changes attributes of resources."),
    Key::new(
        "probabilistic_sampler",
        SAMPLER,
        "Keeps a share of the traces, span by span.",
    ),
]);
