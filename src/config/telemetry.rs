//! `service.telemetry`: our own logs and metrics.

use super::endpoint;
use super::fields::Fields;
use super::item::Item;
use super::settings::{LogFormat, LogLevel, TelemetrySettings};
use crate::admin::Spelling;

/// The Collector's default.
const METRICS_ADDRESS: &str = "localhost:8888";

/// Decodes the block; defaults when there is none.
pub(crate) fn decode(item: Option<&Item<'_>>) -> TelemetrySettings {
    let mut settings = TelemetrySettings {
        log_level: LogLevel::Info,
        log_format: LogFormat::Console,
        metrics_address: Some(METRICS_ADDRESS.to_owned()),
        metrics_spelling: Spelling::default(),
    };
    let Some(mut fields) = item.and_then(Item::fields) else {
        return settings;
    };
    if let Some(logs) = fields.fields("logs") {
        decode_logs(logs, &mut settings);
    }
    if let Some(metrics) = fields.fields("metrics") {
        decode_metrics(metrics, &mut settings);
    }
    if let Some(mut traces) = fields.fields("traces") {
        let level = traces.one_of(
            "level",
            &[
                ("none", ()),
                ("basic", ()),
                ("normal", ()),
                ("detailed", ()),
            ],
        );
        traces.accept(&["propagators"]);
        if level.is_some() {
            traces.accept(&["level"]);
        }
        traces.not_yet(
            "processors",
            "leave it out: this process does not trace itself",
        );
    }
    if let Some(resource) = fields.get("resource") {
        resource.pairs();
    }
    settings
}

fn decode_logs(mut fields: Fields<'_>, settings: &mut TelemetrySettings) {
    settings.log_level = fields
        .get("level")
        .and_then(|item| level(&item))
        .unwrap_or(settings.log_level);
    let formats = [("console", LogFormat::Console), ("json", LogFormat::Json)];
    settings.log_format = fields
        .one_of("encoding", &formats)
        .unwrap_or(settings.log_format);
    fields.accept(&[
        "development",
        "disable_caller",
        "disable_stacktrace",
        "disable_zap_resource",
    ]);
    fields.no_effect("sampling", "repeated messages are counted, not sampled");
    fields.no_effect("initial_fields", "log lines carry no fixed fields");
    let stderr = "logs go to standard error; redirect it";
    for key in ["output_paths", "error_output_paths"] {
        if let Some(item) = fields.get(key)
            && item.strings() != ["stderr"]
        {
            item.error_help("not supported yet", stderr);
        }
    }
    fields.not_yet("processors", "leave it out: logs go to standard error");
}

/// Lower or upper case, as the Collector's logger reads it.
fn level(item: &Item<'_>) -> Option<LogLevel> {
    let levels = [
        ("debug", LogLevel::Debug),
        ("info", LogLevel::Info),
        ("warn", LogLevel::Warn),
        ("error", LogLevel::Error),
    ];
    if let super::node::Value::Str(text) = &item.node.value
        && let Some((_, level)) = levels
            .iter()
            .find(|(word, _)| word.to_ascii_uppercase() == *text)
    {
        return Some(*level);
    }
    item.one_of(&levels)
}

fn decode_metrics(mut fields: Fields<'_>, settings: &mut TelemetrySettings) {
    let levels = [
        ("none", false),
        ("basic", true),
        ("normal", true),
        ("detailed", true),
    ];
    let on = fields.one_of("level", &levels).unwrap_or(true);
    if let Some(item) = fields.get("address")
        && let Some(address) = endpoint::listen(&item)
    {
        settings.metrics_address = Some(address);
    }
    if let Some(readers) = fields.get("readers") {
        let found: Vec<_> = readers.list().iter().filter_map(reader).collect();
        if found.len() > 1 {
            readers.error("more than one Prometheus reader: expected one");
        }
        if let Some((address, spelling)) = found.into_iter().next() {
            settings.metrics_address = Some(address);
            settings.metrics_spelling = spelling;
        }
    }
    fields.no_effect("views", "all metrics are served as they are");
    if !on {
        settings.metrics_address = None;
    }
}

/// One reader: a Prometheus address, and how names are spelled there.
fn reader(item: &Item<'_>) -> Option<(String, Spelling)> {
    let mut fields = item.fields()?;
    fields.not_yet(
        "periodic",
        "scrape the Prometheus reader (`pull.exporter.prometheus`)",
    );
    let periodic = fields.get("periodic").is_some();
    let pull = if periodic {
        fields.get("pull")
    } else {
        fields.require("pull", "a reader that is scraped")
    };
    let mut pull = pull?.fields()?;
    pull.accept(&["producers", "cardinality_limits"]);
    let mut exporter = pull.require("exporter", "`prometheus`")?.fields()?;
    // Both spellings are in the declarative configuration of OpenTelemetry.
    let development = exporter.fields("prometheus/development");
    let prometheus = exporter.fields("prometheus").or(development)?;
    decode_prometheus(prometheus)
}

fn decode_prometheus(mut prometheus: Fields<'_>) -> Option<(String, Spelling)> {
    let host = prometheus
        .string("host")
        .unwrap_or_else(|| "localhost".to_owned());
    let port = prometheus
        .get("port")
        .map_or(Some(8888), |item| item.u64_in(0, 65535));
    prometheus.accept(&[
        "with_resource_constant_labels",
        "translation_strategy",
        "scope_info_enabled",
        "target_info_enabled",
        "resource_constant_labels",
    ]);
    let mut with = |key| prometheus.boolean(key) == Some(false);
    let spelling = Spelling {
        type_suffix: with("without_type_suffix"),
        units: with("without_units"),
        scope: with("without_scope_info"),
    };
    let port = port?;
    let address = if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    };
    if endpoint::host_port(&address).is_none() {
        prometheus
            .item()
            .error("`host` is not a host name or address");
        return None;
    }
    Some((address, spelling))
}
