//! `dashboards/panels.yaml` as it is written.

use serde::Deserialize;
use std::path::PathBuf;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) dashboards: Vec<Dashboard>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dashboard {
    pub(crate) file: String,
    pub(crate) uid: String,
    pub(crate) title: String,
    pub(crate) tags: Vec<String>,
    pub(crate) description: String,
    pub(crate) variables: Vec<Variable>,
    pub(crate) rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) label: String,
    pub(crate) query: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) title: String,
    pub(crate) panels: Vec<Panel>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Panel {
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) help: String,
    #[serde(default)]
    pub(crate) kind: Kind,
    pub(crate) unit: String,
    #[serde(default)]
    pub(crate) stack: bool,
    /// Points of the lines that lead to a trace.
    #[serde(default)]
    pub(crate) exemplars: bool,
    #[serde(default = "third")]
    pub(crate) width: u32,
    pub(crate) queries: Vec<Query>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    #[default]
    TimeSeries,
    Stat,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Query {
    pub(crate) expr: String,
    #[serde(default)]
    pub(crate) legend: String,
}

fn third() -> u32 {
    8
}

/// The directory with the table, the dashboards and the alerts.
pub(crate) fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("dashboards")
}

pub(crate) fn table() -> Table {
    let text = std::fs::read_to_string(directory().join("panels.yaml")).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

impl Query {
    /// As Grafana asks with every variable at "All" and the shortest rate interval that makes sense for scrapes of a second.
    pub(crate) fn asked(&self) -> String {
        asked(&self.expr)
    }
}

pub(crate) fn asked(expr: &str) -> String {
    let variables = regex::Regex::new(r"\$[a-z_]+").unwrap();
    let expr = expr
        .replace("$__rate_interval", "10s")
        .replace("$__range", "1m");
    variables.replace_all(&expr, ".*").into_owned()
}

impl Dashboard {
    pub(crate) fn panels(&self) -> impl Iterator<Item = &Panel> {
        self.rows.iter().flat_map(|row| &row.panels)
    }
}
