//! The root, `extensions` and `service`.

use super::Key;
use super::Shape::{self, Block, Flag, Ignored, Many, Named, Text, Whole, Words};
use super::exporters::EXPORTERS;
use super::receivers::RECEIVERS;
use super::sampler::PROCESSORS;

const HEALTH: Shape = Block(&[
    Key::new("endpoint", Text, "host:port; localhost:13133."),
    Key::ignored("path"),
    Key::ignored("check_collector_pipeline"),
    Key::ignored("transport"),
    Key::ignored("include_metadata"),
    Key::ignored("max_request_body_size"),
    Key::ignored("compression_algorithms"),
    Key::ignored("read_timeout"),
    Key::ignored("read_header_timeout"),
    Key::ignored("write_timeout"),
    Key::ignored("idle_timeout"),
    Key::ignored("keep_alives_enabled"),
    Key::ignored("use_v2"),
    Key::ignored("http"),
    Key::ignored("grpc"),
    Key::ignored("component_health"),
]);

const EXTENSIONS: Shape = Shape::Components(&[
    Key::new(
        "health_check",
        HEALTH,
        "An address that says whether the process is well.",
    ),
    Key::ignored("pprof"),
    Key::ignored("zpages"),
    Key::ignored("file_storage"),
]);

const LOGS: Shape = Block(&[
    Key::new(
        "level",
        Words(&[
            "debug", "info", "warn", "error", "DEBUG", "INFO", "WARN", "ERROR",
        ]),
        "info.",
    ),
    Key::new("encoding", Words(&["console", "json"]), "console."),
    Key::new("output_paths", Many(&Words(&["stderr"])), "stderr."),
    Key::new("error_output_paths", Many(&Words(&["stderr"])), "stderr."),
    Key::ignored("development"),
    Key::ignored("disable_caller"),
    Key::ignored("disable_stacktrace"),
    Key::ignored("disable_zap_resource"),
    Key::ignored("sampling"),
    Key::ignored("initial_fields"),
]);

const PROMETHEUS: Shape = Block(&[
    Key::new("host", Text, "localhost."),
    Key::new("port", Whole, "8888."),
    Key::new("without_scope_info", Flag, "false: labels name the scope."),
    Key::new(
        "without_type_suffix",
        Flag,
        "false: counters end in _total.",
    ),
    Key::new("without_units", Flag, "false: units stand in the names."),
    Key::ignored("with_resource_constant_labels"),
    Key::ignored("translation_strategy"),
    Key::ignored("scope_info_enabled"),
    Key::ignored("target_info_enabled"),
    Key::ignored("resource_constant_labels"),
]);

const PULL_EXPORTER: Shape = Block(&[
    Key::new("prometheus", PROMETHEUS, "Where metrics are scraped."),
    Key::new(
        "prometheus/development",
        PROMETHEUS,
        "Where metrics are scraped.",
    ),
]);

const PULL: Shape = Block(&[
    Key::new("exporter", PULL_EXPORTER, "prometheus."),
    Key::ignored("producers"),
    Key::ignored("cardinality_limits"),
]);

const READER: Shape = Block(&[Key::new("pull", PULL, "A reader that is scraped.")]);

const LEVELS: &[&str] = &["none", "basic", "normal", "detailed"];

const METRICS: Shape = Block(&[
    Key::new("level", Words(LEVELS), "none: no metrics."),
    Key::new("address", Text, "host:port of /metrics; localhost:8888."),
    Key::new("readers", Many(&READER), "One Prometheus reader."),
    Key::ignored("views"),
]);

const TRACES: Shape = Block(&[
    Key::new("level", Words(LEVELS), "Taken."),
    Key::ignored("propagators"),
]);

const TELEMETRY: Shape = Block(&[
    Key::new("logs", LOGS, "The log on standard error."),
    Key::new("metrics", METRICS, "/metrics."),
    Key::new("traces", TRACES, "Taken, without effect."),
    Key::new("resource", Ignored, "Taken, without effect."),
]);

const PIPELINE: Shape = Block(&[
    Key::new("receivers", Many(&Text), "Ids of receivers."),
    Key::new(
        "processors",
        Many(&Text),
        "Ids of processors, one of them a tail_sampling where traces are.",
    ),
    Key::new("exporters", Many(&Text), "Ids of exporters."),
]);

const SERVICE: Shape = Block(&[
    Key::new("telemetry", TELEMETRY, "Our own log and metrics."),
    Key::new("extensions", Many(&Text), "Ids of extensions."),
    Key::new(
        "pipelines",
        Named(&PIPELINE),
        "`traces`, `logs` or `metrics`, alone or with a `/name`. Logs without the tail_sampling of a traces pipeline, and metrics, are passed on as they come.",
    ),
]);

pub(crate) const ROOT: Shape = Block(&[
    Key::new("receivers", RECEIVERS, "Where spans come from."),
    Key::new("processors", PROCESSORS, "What is done with them."),
    Key::new("exporters", EXPORTERS, "Where kept traces go."),
    Key::new("extensions", EXTENSIONS, "Beside the pipelines."),
    Key::new("service", SERVICE, "What of all this runs."),
]);
