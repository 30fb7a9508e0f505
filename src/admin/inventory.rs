//! The table of all metrics. Families are filled by its constants, the reference in `docs/` is printed from it, and a
//! test compares it with a scrape: what is not here cannot be on the page.
//!
//! Names are exactly as here: the Prometheus client adds no suffix. `otelcol_*` are the Collector's own, with its labels
//! and its spelling (no `_total`), where the meaning is the same; `gen_ai_*` are those of OpenTelemetry's conventions; ours are `tailwater_*`, counters end in `_total`.
//! A name that has been released is not changed.

/// How a number moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only up, from 0 at the start of the process.
    Counter,
    /// Up and down.
    Gauge,
    /// Counts by upper bound, with the number and the sum of all.
    Histogram,
}

/// When a metric is on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appears {
    /// Always.
    Always,
    /// With its first event; each label set for itself.
    FirstEvent,
    /// With its first event, and only where the config asks for it: `compat: strict`, a feature gate, a Kafka receiver or log,
    /// `llm_metrics`.
    WhenAsked,
}

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// As in the scrape.
    pub name: &'static str,
    /// Counter or gauge.
    pub kind: Kind,
    /// As OpenTelemetry writes units: `By`, `s`, `{spans}`.
    pub unit: &'static str,
    /// Label names, in order.
    pub labels: &'static [&'static str],
    /// From the start, or later.
    pub appears: Appears,
    /// One line.
    pub help: &'static str,
}

macro_rules! inventory {
    (
        $($constant:ident: $kind:ident $name:literal in $unit:literal by [$($label:literal),*] $appears:ident, $help:literal;)*
        => written elsewhere:
        $($other:ident $other_name:literal in $other_unit:literal by [$($other_label:literal),*] $other_appears:ident, $other_help:literal;)*
    ) => {
        $(pub(super) const $constant: Metric = inventory!(@row $kind $name $unit [$($label),*] $appears $help);)*
        /// Every metric, in the order of the reference.
        pub const INVENTORY: &[Metric] = &[
            $($constant,)*
            $(inventory!(@row $other $other_name $other_unit [$($other_label),*] $other_appears $other_help),)*
        ];
    };
    (@row $kind:ident $name:literal $unit:literal [$($label:literal),*] $appears:ident $help:literal) => {
        Metric {
            name: $name,
            kind: Kind::$kind,
            unit: $unit,
            labels: &[$($label),*],
            appears: Appears::$appears,
            help: $help,
        }
    };
}

inventory! {
    // Receivers.
    ACCEPTED_SPANS: Counter "otelcol_receiver_accepted_spans" in "{spans}" by ["receiver", "transport"] Always,
        "Spans acknowledged: they are in the log.";
    REFUSED_SPANS: Counter "otelcol_receiver_refused_spans" in "{spans}" by ["receiver", "transport"] Always,
        "Spans refused, where they could be counted.";
    ACCEPTED_RECORDS: Counter "otelcol_receiver_accepted_log_records" in "{records}" by ["receiver", "transport"] Always,
        "Log records acknowledged: they are in the log, or the backends have them where a pipeline passes them on.";
    ACCEPTED_POINTS: Counter "otelcol_receiver_accepted_metric_points" in "{datapoints}" by ["receiver", "transport"] Always,
        "Data points acknowledged: the backends have them.";
    REFUSED_POINTS: Counter "otelcol_receiver_refused_metric_points" in "{datapoints}" by ["receiver", "transport"] Always,
        "Data points refused, where they could be counted.";
    REFUSED_RECORDS: Counter "otelcol_receiver_refused_log_records" in "{records}" by ["receiver", "transport"] Always,
        "Log records refused, where they could be counted.";
    REQUESTS: Counter "tailwater_receiver_requests_total" in "{requests}" by ["receiver", "transport"] Always,
        "Requests answered, refused ones included.";
    RECEIVED_BYTES: Counter "tailwater_receiver_bytes_total" in "By" by ["receiver", "transport"] Always,
        "Protobuf bytes of acknowledged requests, inflated and transcoded.";
    REFUSED_REQUESTS: Counter "tailwater_receiver_refused_requests_total" in "{requests}" by ["receiver", "transport", "reason"] Always,
        "Requests refused by receivers, by reason.";
    SHARED_PARTITIONS: Gauge "tailwater_kafka_partitions" in "{partitions}" by [] WhenAsked,
        "Partitions of the log that this process owns. Only with buffer.kafka.";
    SHARED_REBALANCES: Counter "tailwater_kafka_rebalances_total" in "{rebalances}" by [] WhenAsked,
        "How often partitions of the log came or went. Only with buffer.kafka.";
    SHARED_LOST: Counter "tailwater_kafka_lost_records_total" in "{records}" by [] WhenAsked,
        "Offsets that the topic no longer had when they were to be decided: its retention is too short. Only with buffer.kafka.";
    SHARED_POISON: Counter "tailwater_kafka_poison_records_total" in "{records}" by [] WhenAsked,
        "Records of the log that nobody can read: passed over, told. Only with buffer.kafka.";
    SHARED_DEAD_LETTERS: Counter "tailwater_kafka_dead_letters_total" in "{records}" by [] WhenAsked,
        "Those of them that the dead letters' topic has. Only with buffer.kafka.";
    SHARED_SHORTENED: Counter "tailwater_kafka_shortened_spans_total" in "{spans}" by [] WhenAsked,
        "Spans that no record of the topic holds: their longest values were cut. Only with buffer.kafka.";
    SHARED_TRANSACTIONS: Counter "tailwater_kafka_transactions_total" in "{transactions}" by ["outcome"] WhenAsked,
        "Transactions of decisions: committed, or aborted and tried again. Only with buffer.kafka.";
    SHARED_PAUSED: Gauge "tailwater_kafka_paused" in "{partitions}" by [] WhenAsked,
        "1 while reading stands still because too much is read and not folded. Only with buffer.kafka.";
    SHARED_NEEDED: Gauge "tailwater_kafka_needed_age_seconds" in "s" by [] WhenAsked,
        "Age of the oldest record of owned partitions that is not decided, or decided to be kept and not delivered. Only with buffer.kafka.";
    SHARED_HEADROOM: Gauge "tailwater_kafka_headroom_seconds" in "s" by [] WhenAsked,
        "How long until retention takes a record that is still needed; absent where the topic keeps records for ever. Only with buffer.kafka.";
    KAFKA_LAG: Gauge "tailwater_kafka_receiver_lag_records" in "{records}" by ["receiver"] WhenAsked,
        "Records of this member's partitions that are not committed, as of the last ten seconds. Only with a kafka receiver.";
    KAFKA_PARTITIONS: Gauge "tailwater_kafka_receiver_partitions" in "{partitions}" by ["receiver"] WhenAsked,
        "Partitions that this member of the group reads. Only with a kafka receiver.";
    KAFKA_REBALANCES: Counter "tailwater_kafka_receiver_rebalances_total" in "{rebalances}" by ["receiver"] WhenAsked,
        "How often partitions came or went. Only with a kafka receiver.";
    KAFKA_LOST: Counter "tailwater_kafka_receiver_lost_records_total" in "{records}" by ["receiver"] WhenAsked,
        "Offsets that the topic no longer had when they were to be read: its retention is too short. Only with a kafka receiver.";
    KAFKA_DEAD_LETTERS: Counter "tailwater_kafka_receiver_dead_letters_total" in "{records}" by ["receiver"] WhenAsked,
        "Records that are no OTLP, in the dead-letter topic; without one only refused requests count them. Only with a kafka receiver.";
    SERVICE_REFUSED: Counter "tailwater_service_refused_requests_total" in "{requests}" by ["service"] Always,
        "Requests refused because of this service: its memory cap, or its share of a log that is nearly full.";
    HEAD_LOSERS: Counter "tailwater_head_dropped_spans_total" in "{spans}" by ["service"] Always,
        "Spans that the coin of a `head` service has left out before the log: acknowledged, and no part of the ledger.";

    // Log.
    LOG_REFUSED: Counter "tailwater_log_refused_requests_total" in "{requests}" by ["reason"] Always,
        "Requests that the log refused, by reason.";
    LOG_BYTES: Gauge "tailwater_log_bytes" in "By" by [] Always,
        "Segment files of the span log.";
    LOG_MAX_BYTES: Gauge "tailwater_log_max_bytes" in "By" by [] Always,
        "What the segment files of the span log may take.";
    LOG_HELD_BYTES: Gauge "tailwater_log_held_bytes" in "By" by [] Always,
        "Log from the oldest position on that a sampler or an exporter still needs.";
    LOG_HEADROOM_BYTES: Gauge "tailwater_log_headroom_bytes" in "By" by [] Always,
        "What can still be appended before intake is refused: the maximum less what is held.";
    LOG_SEGMENTS: Gauge "tailwater_log_segments" in "{segments}" by [] Always,
        "Segments of the span log.";
    LOG_OLDEST: Gauge "tailwater_log_oldest_seconds" in "s" by [] Always,
        "Age of the oldest record, in log time: how far back late spans and replays can read.";
    LOG_FRAMES: Counter "tailwater_log_frames_total" in "{frames}" by [] Always,
        "Requests appended.";
    LOG_SPANS: Counter "tailwater_log_spans_total" in "{spans}" by [] Always,
        "Spans appended.";
    LOG_APPENDED: Counter "tailwater_log_appended_bytes_total" in "By" by [] Always,
        "Bytes appended, headers included.";
    LOG_WRITES: Counter "tailwater_log_writes_total" in "{writes}" by [] Always,
        "Writes; each holds one or more requests.";
    LOG_SYNCS: Counter "tailwater_log_syncs_total" in "{syncs}" by [] Always,
        "Syncs that appends waited for.";

    // Memory.
    MEMORY_BYTES: Gauge "tailwater_memory_bytes" in "By" by ["part"] Always,
        "Memory that the caps govern, by part.";
    MEMORY_CAP: Gauge "tailwater_memory_cap_bytes" in "By" by ["part"] Always,
        "Most bytes of each part; total is memory.total.";
    BUFFER_BYTES: Gauge "tailwater_buffer_bytes" in "By" by ["service", "kind"] Always,
        "Memory that a service holds: requests on their way, cached payload, skeletons, decided traces (after a restart those from before are with other).";
    BUFFER_UNDECIDED: Gauge "tailwater_buffer_undecided_bytes" in "By" by ["service"] Always,
        "Cached payload of undecided traces: the part of the cache that counts against the service's cap.";
    BUFFER_HELD: Gauge "tailwater_buffer_held_bytes" in "By" by ["service"] Always,
        "Requests on their way, undecided payload in memory and skeletons: at the service's cap `on_full` is due for them.";
    BUFFER_CAP: Gauge "tailwater_buffer_cap_bytes" in "By" by ["service"] Always,
        "The service's cap. What it holds beyond it is lent by others.";
    SPILLED: Counter "tailwater_buffer_spilled_bytes_total" in "By" by ["service"] Always,
        "Payload of undecided traces that left the cache; the log has it.";

    // Sampler.
    TRACES: Counter "tailwater_traces_total" in "{traces}" by ["pipeline"] Always,
        "Traces that began.";
    UNDECIDED_TRACES: Gauge "tailwater_undecided_traces" in "{traces}" by ["pipeline"] Always,
        "Traces that are not decided.";
    UNDECIDED_SPANS: Gauge "tailwater_undecided_spans" in "{spans}" by ["pipeline"] Always,
        "Spans of traces that are not decided, or whose decision is not written yet.";
    DECISIONS: Counter "tailwater_decisions_total" in "{traces}" by ["pipeline", "policy", "outcome", "evidence"] FirstEvent,
        "Traces decided, by the policy that decided (empty: none wanted it), keep or drop, and why then.";
    LATE_SPANS: Counter "tailwater_late_spans_total" in "{spans}" by ["pipeline", "outcome"] Always,
        "Spans that came after their trace's decision and followed it, as long as it was remembered.";
    RESTORED_SPANS: Counter "tailwater_restored_spans_total" in "{spans}" by ["pipeline"] Always,
        "Dropped spans of traces that late evidence has brought back: they are no longer counted as dropped.";
    NOT_RESTORED: Counter "tailwater_not_restored_spans_total" in "{spans}" by ["pipeline"] Always,
        "Dropped spans of such traces that were no longer in the log, or too far apart in it: they stay dropped.";
    PASSED_SPANS: Counter "tailwater_passed_spans_total" in "{spans}" by ["pipeline", "mode"] Always,
        "Spans of services that are not sampled at the tail, which left without waiting for their trace.";
    SKELETON_BYTES: Gauge "tailwater_skeleton_bytes" in "By" by ["pipeline"] Always,
        "Summaries of undecided traces.";
    DECISION_IDS: Gauge "tailwater_decision_memory_traces" in "{traces}" by ["pipeline"] Always,
        "Decided traces that late spans can still follow.";
    DECISION_BYTES: Gauge "tailwater_decision_memory_bytes" in "By" by ["pipeline"] Always,
        "Memory of decided traces.";
    FORGOTTEN: Counter "tailwater_decisions_forgotten_total" in "{traces}" by ["pipeline"] Always,
        "Decided traces forgotten before their late window was over, for want of memory; their ids are new again.";
    TEXTS_CUT: Counter "tailwater_prompt_scan_truncated_total" in "{spans}" by ["pipeline"] Always,
        "Spans with more than 8 MiB of prompts and answers: keywords and expressions are not looked for beyond.";
    DAMAGED: Counter "tailwater_damaged_total" in "{records}" by ["pipeline"] Always,
        "Frames and pieces that could not be read from the log.";
    ENTRY_ERRORS: Counter "tailwater_decision_write_errors_total" in "{writes}" by ["pipeline"] Always,
        "Failed writes to the decision log; the decisions wait and take no effect.";
    DECISION_LOG_BYTES: Gauge "tailwater_decision_log_bytes" in "By" by ["pipeline"] Always,
        "Files of the decision log.";
    DECISION_LOG_MAX: Gauge "tailwater_decision_log_max_bytes" in "By" by ["pipeline"] Always,
        "What the files of the decision log may take.";
    WORKER_LAG: Gauge "tailwater_worker_lag_seconds" in "s" by ["pipeline"] Always,
        "How far the worker's log time is behind that of the log.";
    WORKER_UNREAD: Gauge "tailwater_worker_unread_bytes" in "By" by ["pipeline"] Always,
        "Log that the worker has not read: acknowledged, and not in the ledger yet.";
    DECIDE_LAG: Gauge "tailwater_decide_lag_bytes" in "By" by ["pipeline"] Always,
        "Log from the oldest undecided piece on, but for pieces of traces that an entry has: what a restart reads again.";

    // Exporters.
    SENT_SPANS: Counter "otelcol_exporter_sent_spans" in "{spans}" by ["exporter"] Always,
        "Spans that the backend took.";
    FAILED_SPANS: Counter "otelcol_exporter_send_failed_spans" in "{spans}" by ["exporter"] Always,
        "Spans given up: a permanent error, or the end of retries.";
    REJECTED_SPANS: Counter "tailwater_exporter_rejected_spans_total" in "{spans}" by ["exporter"] Always,
        "Spans that a partial success named as not taken.";
    SENT_POINTS: Counter "otelcol_exporter_sent_metric_points" in "{datapoints}" by ["exporter"] Always,
        "Data points that were passed on and taken by the backend.";
    FAILED_POINTS: Counter "otelcol_exporter_send_failed_metric_points" in "{datapoints}" by ["exporter"] Always,
        "Data points that the backend refused for good.";
    REJECTED_POINTS: Counter "tailwater_exporter_rejected_metric_points_total" in "{datapoints}" by ["exporter"] Always,
        "Data points that a partial success named as not taken.";
    SENT_RECORDS: Counter "otelcol_exporter_sent_log_records" in "{records}" by ["exporter"] Always,
        "Log records that the backend took.";
    FAILED_RECORDS: Counter "otelcol_exporter_send_failed_log_records" in "{records}" by ["exporter"] Always,
        "Log records given up: a permanent error, or the end of retries.";
    REJECTED_RECORDS: Counter "tailwater_exporter_rejected_log_records_total" in "{records}" by ["exporter"] Always,
        "Log records that a partial success named as not taken.";
    RETRIES: Counter "tailwater_exporter_retries_total" in "{requests}" by ["exporter"] Always,
        "Tries beyond the first.";
    FAILURES: Gauge "tailwater_exporter_consecutive_failures" in "{requests}" by ["exporter"] Always,
        "Failed tries since the last success.";
    LAST_ERROR: Gauge "tailwater_exporter_last_error" in "1" by ["exporter", "kind"] Always,
        "1 for the kind of the last failure since the last success (none: there is none), 0 for the others.";
    IN_FLIGHT: Gauge "tailwater_exporter_in_flight_bytes" in "By" by ["exporter"] Always,
        "Requests sent and not answered.";
    AWAITING: Gauge "tailwater_exporter_awaiting_spans" in "{spans}" by ["pipeline", "exporter"] Always,
        "Kept spans that wait for this exporter.";
    LAG_SECONDS: Gauge "tailwater_exporter_lag_seconds" in "s" by ["pipeline", "exporter"] Always,
        "How long the oldest kept span has been waiting, in log time.";
    LAG_BYTES: Gauge "tailwater_exporter_lag_bytes" in "By" by ["pipeline", "exporter"] Always,
        "Decision log behind the exporter's position.";

    // Ledger.
    LEDGER_SPANS: Gauge "tailwater_ledger_spans" in "{spans}" by ["pipeline", "exporter", "state"] Always,
        "What became of every span read from the log, since the directory was new (filtered: by processors beside tail_sampling; thinned: left out of kept traces; not_routed: in traces that go to other exporters; erased: by tailwater erase); the other states add up to accepted.";
    LEDGER_DIFFERENCE: Gauge "tailwater_ledger_difference" in "{spans}" by ["pipeline", "exporter"] Always,
        "Accepted less all other states: 0 at rest, more for a moment while spans move, never for long.";

    LEDGER_RECORDS: Gauge "tailwater_ledger_log_records" in "{records}" by ["pipeline", "exporter", "state"] Always,
        "What became of every log record read from the log, since the directory was new; the other states add up to accepted.";
    LEDGER_RECORDS_DIFFERENCE: Gauge "tailwater_ledger_log_difference" in "{records}" by ["pipeline", "exporter"] Always,
        "Accepted log records less all other states: 0 at rest, more for a moment while they move, never for long.";

    // The Collector's own for tail_sampling.
    POLICY_TRACES: Counter "otelcol_processor_tail_sampling_count_traces_sampled" in "{traces}" by ["policy", "sampled", "decision"] FirstEvent,
        "Traces by what each policy said.";
    GLOBAL_TRACES: Counter "otelcol_processor_tail_sampling_global_count_traces_sampled" in "{traces}" by ["sampled", "decision"] FirstEvent,
        "Traces decided; not those over the size limits.";
    POLICY_EXECUTIONS: Counter "otelcol_processor_tail_sampling_sampling_policy_execution_count" in "{executions}" by ["policy"] Always,
        "How often each policy was asked.";
    POLICY_ERRORS: Counter "otelcol_processor_tail_sampling_sampling_policy_evaluation_error" in "{errors}" by [] Always,
        "Policies that could not be evaluated: a condition failed, and its `error_mode` is `propagate`.";
    NEW_TRACES: Counter "otelcol_processor_tail_sampling_new_trace_id_received" in "{traces}" by [] FirstEvent,
        "Traces that began.";
    EARLY_RELEASES: Counter "otelcol_processor_tail_sampling_early_releases_from_cache_decision" in "{spans}" by ["sampled"] FirstEvent,
        "Spans that came after their trace's decision and followed it, as long as it was remembered.";
    TRACES_ON_MEMORY: Gauge "otelcol_processor_tail_sampling_sampling_traces_on_memory" in "{traces}" by [] Always,
        "Traces that are not decided; under compat: strict all that the table holds, decided ones included. As of a tick.";
    DROPPED_TOO_EARLY: Counter "otelcol_processor_tail_sampling_sampling_trace_dropped_too_early" in "{traces}" by [] Always,
        "Ids that were due and of which nothing was left. Only under compat: strict: else no trace goes without a decision.";
    TOO_LARGE: Counter "otelcol_processor_tail_sampling_traces_dropped_too_large" in "{traces}" by [] WhenAsked,
        "Traces over maximum_trace_size_bytes, dropped without asking a policy. Only under compat: strict.";
    MALFORMED_STATES: Counter "otelcol_processor_tail_sampling_count_spans_with_unparseable_tracestate" in "{spans}" by [] WhenAsked,
        "Kept spans whose tracestate could not be parsed when a threshold was to be written.";
    SPANS_SAMPLED: Counter "otelcol_processor_tail_sampling_count_spans_sampled" in "{spans}" by ["policy", "sampled", "decision"] WhenAsked,
        "Spans of the traces that each policy voted on. With the gate metricstatcountspanssampled.";
    BYTES_SAMPLED: Counter "otelcol_processor_tail_sampling_count_bytes_sampled" in "By" by ["policy", "sampled", "decision"] WhenAsked,
        "Bytes of these traces, as the Collector would encode them. With the gate metricstatcountbytessampled.";
    TICK_TIME: Histogram "otelcol_processor_tail_sampling_sampling_decision_timer_latency" in "ms" by [] FirstEvent,
        "How long ticks took.";
    LATE_AGE: Histogram "otelcol_processor_tail_sampling_sampling_late_span_age" in "s" by [] WhenAsked,
        "From a decision to a piece that came after it and found its trace in the table. Only under compat: strict.";
    REMOVAL_AGE: Histogram "otelcol_processor_tail_sampling_sampling_trace_removal_age" in "s" by [] WhenAsked,
        "From a trace's first piece to when the table forgot it. Only under compat: strict.";

    // Process.
    UPTIME: Counter "otelcol_process_uptime" in "s" by [] Always,
        "Whole seconds since the start.";
    CPU_SECONDS: Gauge "otelcol_process_cpu_seconds" in "s" by [] Always,
        "CPU time of the process, user and system. Only goes up; a gauge because it has fractions.";
    RSS: Gauge "otelcol_process_memory_rss" in "By" by [] Always,
        "Resident memory of the process.";
    BUILD_INFO: Gauge "tailwater_build_info" in "1" by ["version"] Always,
        "1; the version is in the label.";

    // Model calls, by `genai::Meter`.
    => written elsewhere:
    Counter "tailwater_llm_traces_total" in "{traces}" by ["provider", "model", "family", "version", "environment", "service", "outcome"] WhenAsked,
        "Decided traces that called a model, by what became of them.";
    Counter "tailwater_llm_calls_total" in "{calls}" by ["provider", "model", "family", "version", "environment", "service"] WhenAsked,
        "Calls of models.";
    Counter "tailwater_llm_failed_calls_total" in "{calls}" by ["provider", "model", "family", "version", "environment", "service", "error_type"] WhenAsked,
        "Calls of models that failed, by what failed first in their trace.";
    Counter "tailwater_llm_tool_calls_total" in "{calls}" by ["provider", "model", "family", "version", "environment", "service", "outcome"] WhenAsked,
        "Tools that ran, by ok or failed.";
    Histogram "gen_ai_client_token_usage" in "{tokens}" by ["provider", "model", "family", "version", "environment", "service", "token_type"] WhenAsked,
        "Tokens of a trace's calls.";
    Histogram "gen_ai_client_operation_duration_seconds" in "s" by ["provider", "model", "family", "version", "environment", "service"] WhenAsked,
        "The longest call of a trace.";
    Histogram "gen_ai_server_time_to_first_token_seconds" in "s" by ["provider", "model", "family", "version", "environment", "service"] WhenAsked,
        "The longest time to a first token of a trace's calls.";
    Histogram "gen_ai_server_time_per_output_token_seconds" in "s" by ["provider", "model", "family", "version", "environment", "service"] WhenAsked,
        "The longest time for each token behind the first of a trace's calls.";
    Histogram "tailwater_llm_queue_seconds" in "s" by ["provider", "model", "family", "version", "environment", "service"] WhenAsked,
        "The longest time in an engine's queue.";
    Histogram "tailwater_llm_prefill_seconds" in "s" by ["provider", "model", "family", "version", "environment", "service"] WhenAsked,
        "The longest prefill.";
    Histogram "tailwater_llm_decode_seconds" in "s" by ["provider", "model", "family", "version", "environment", "service"] WhenAsked,
        "The longest decode.";
    Counter "tailwater_llm_finish_reasons_total" in "{traces}" by ["provider", "model", "family", "version", "environment", "service", "reason"] WhenAsked,
        "Traces in which a call ended for this reason.";
    Counter "tailwater_llm_cache_total" in "{traces}" by ["provider", "model", "family", "version", "environment", "service", "result"] WhenAsked,
        "Traces that tell whether a cache had a part of a prompt, by hit or miss.";
    Histogram "tailwater_llm_evaluation_score" in "1" by ["evaluation", "environment", "service"] WhenAsked,
        "Evaluations, as they came.";
    Gauge "tailwater_llm_model_info" in "1" by ["provider", "model", "family", "version"] WhenAsked,
        "1 for each model of which a trace was decided within the last hour.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_valid_and_each_is_there_once() {
        let word = |text: &str| {
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        };
        let mut names = HashSet::new();
        for metric in INVENTORY {
            let name = metric.name;
            assert!(word(name) && names.insert(name), "{name}");
            assert!(
                metric
                    .labels
                    .iter()
                    .all(|label| word(label) && !label.starts_with("__")),
                "{name}"
            );
            let prefixes = ["tailwater_", "otelcol_", "gen_ai_"];
            assert!(
                prefixes.iter().any(|prefix| name.starts_with(prefix)),
                "{name}"
            );
            let total = metric.kind == Kind::Counter && name.starts_with("tailwater_");
            assert_eq!(name.ends_with("_total"), total, "{name}");
            assert!(
                metric.help.ends_with('.') && !metric.help.contains('\n'),
                "{name}"
            );
        }
    }
}
