//! The Collector config around a case's `tail_sampling` block. JSON is YAML, so that most of it stays JSON.

use super::case::Case;
use super::version::Version;
use serde_json::json;
use std::fmt::Write;
use tailwater::config::{Config, Layers, Severity, Source, load_layers};

/// Everything but the processors.
fn surroundings(case: &Case, sink: u16) -> String {
    json!({
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": "127.0.0.1:0"}}}},
        "exporters": {"otlp_http": {
            "endpoint": format!("http://127.0.0.1:{sink}"), "encoding": "json", "compression": "none",
            "sending_queue": {"enabled": false}, "retry_on_failure": {"enabled": false},
        }},
        "service": {
            "telemetry": {
                "logs": {"level": "warn"},
                "metrics": {"readers": [{"pull": {"exporter": {"prometheus": {"host": "127.0.0.1", "port": 0}}}}]},
            },
            "pipelines": {"traces": {
                "receivers": ["otlp"], "processors": [case.processor()], "exporters": ["otlp_http"],
            }},
        },
    })
    .to_string()
}

fn processors(case: &Case) -> String {
    let id = case.processor();
    let Some(yaml) = &case.tail_sampling_yaml else {
        return format!("processors:\n  {id}: {}\n", case.tail_sampling);
    };
    let mut text = format!("processors:\n  {id}:\n");
    for line in yaml.lines() {
        let _ = writeln!(text, "    {line}");
    }
    text
}

/// The case's config as `--config` twice, `--set` and `--feature-gates` would give it; the errors when it is refused.
pub(crate) fn load(case: &Case, version: Version, sink: u16) -> Result<Config, String> {
    let sources = [
        Source::text("surroundings.yaml", surroundings(case, sink)),
        Source::text("case.yaml", processors(case)),
    ];
    let overrides = version.overrides(case.processor());
    let layers = Layers {
        sources: &sources,
        overrides: &overrides,
        feature_gates: &case.gates,
    };
    match load_layers(layers, &environment) {
        Ok(loaded) => Ok(loaded.config),
        Err(found) => Err(found
            .iter()
            .filter(|found| found.severity == Severity::Error)
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")),
    }
}

/// What lets a Collector's file run as it is.
fn environment(name: &str) -> Option<String> {
    match name {
        "TAILWATER_COMPAT" => Some("strict".to_owned()),
        "TAILWATER_BUFFER" => Some("memory".to_owned()),
        _ => None,
    }
}
