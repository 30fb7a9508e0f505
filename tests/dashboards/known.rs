//! Every query of panels, variables and alerts is PromQL, and names metrics that a daemon has, with labels that they have.

use super::panels::{asked, directory, table};
use promql_parser::label::Matchers;
use promql_parser::parser::{self, Expr, VectorSelector};
use promql_parser::util::{ExprVisitor, walk_expr};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use tailwater::admin::{INVENTORY, Kind};

/// Labels that Prometheus adds.
const SCRAPED: [&str; 3] = ["instance", "job", "le"];
const SUFFIXES: [&str; 3] = ["_bucket", "_sum", "_count"];

/// Metrics by name, with their labels.
struct Known(BTreeMap<String, BTreeSet<&'static str>>);

impl Known {
    fn new() -> Self {
        let rows = INVENTORY.iter().flat_map(|metric| {
            let labels: BTreeSet<_> = metric.labels.iter().copied().chain(SCRAPED).collect();
            let suffixes = if metric.kind == Kind::Histogram {
                &SUFFIXES[..]
            } else {
                &[""]
            };
            let names = suffixes
                .iter()
                .map(|suffix| format!("{}{suffix}", metric.name));
            names.map(move |name| (name, labels.clone()))
        });
        Self(rows.collect())
    }

    fn check(&self, place: &str, text: &str, faults: &mut Vec<String>) {
        match parser::parse(text) {
            Err(error) => faults.push(format!("{place}: {error}: {text}")),
            Ok(expr) => {
                let mut selectors = Selectors::default();
                walk_expr(&mut selectors, &expr).unwrap();
                assert!(!selectors.0.is_empty(), "{place} asks for no metric");
                for (name, labels) in selectors.0 {
                    self.check_selector(place, &name, &labels, faults);
                }
            }
        }
    }

    fn check_selector(&self, place: &str, name: &str, labels: &[String], faults: &mut Vec<String>) {
        let Some(known) = self.0.get(name) else {
            return faults.push(format!("{place}: no metric {name}"));
        };
        for label in labels {
            if !known.contains(label.as_str()) {
                faults.push(format!("{place}: {name} has no label {label}"));
            }
        }
    }
}

/// What a query selects: names and the labels that it matches.
#[derive(Default)]
struct Selectors(Vec<(String, Vec<String>)>);

impl Selectors {
    fn add(&mut self, selector: &VectorSelector) {
        let Matchers { matchers, .. } = &selector.matchers;
        let labels = matchers
            .iter()
            .map(|matcher| matcher.name.clone())
            .collect();
        self.0
            .push((selector.name.clone().unwrap_or_default(), labels));
    }
}

impl ExprVisitor for Selectors {
    type Error = std::convert::Infallible;

    fn pre_visit(&mut self, expr: &Expr) -> Result<bool, Self::Error> {
        match expr {
            Expr::VectorSelector(selector) => self.add(selector),
            Expr::MatrixSelector(matrix) => self.add(&matrix.vs),
            _ => {}
        }
        Ok(true)
    }
}

/// Metrics that a query asks for.
pub(crate) fn metrics_of(query: &str) -> Vec<String> {
    let mut selectors = Selectors::default();
    walk_expr(&mut selectors, &parser::parse(query).unwrap()).unwrap();
    selectors.0.into_iter().map(|(name, _)| name).collect()
}

#[derive(Deserialize)]
struct Alerts {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    alert: String,
    expr: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

fn alerts() -> Vec<Rule> {
    let text = fs::read_to_string(directory().join("alerts.yaml")).unwrap();
    let alerts: Alerts = serde_saphyr::from_str(&text).unwrap();
    alerts
        .groups
        .into_iter()
        .flat_map(|group| group.rules)
        .collect()
}

#[test]
fn every_query_asks_for_what_there_is() {
    let (known, mut faults) = (Known::new(), Vec::new());
    for dashboard in table().dashboards {
        for panel in dashboard.panels() {
            for query in &panel.queries {
                known.check(&panel.title, &query.asked(), &mut faults);
            }
        }
        for variable in &dashboard.variables {
            let (metric, label) = values_of(&variable.query);
            known.check_selector(&variable.name, metric, &[label.to_owned()], &mut faults);
        }
    }
    for rule in alerts() {
        known.check(&rule.alert, &asked(&rule.expr), &mut faults);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Metric and label of `label_values(METRIC, LABEL)`.
fn values_of(query: &str) -> (&str, &str) {
    let inner = query
        .strip_prefix("label_values(")
        .and_then(|rest| rest.strip_suffix(')'));
    inner.and_then(|inner| inner.split_once(", ")).unwrap()
}

#[test]
fn every_alert_says_how_bad_it_is_and_is_played() {
    let played = fs::read_to_string(directory().join("alerts.test.yaml")).unwrap();
    for rule in alerts() {
        let severity = rule.labels.get("severity").map(String::as_str);
        assert!(
            matches!(severity, Some("page" | "ticket")),
            "{}",
            rule.alert
        );
        assert!(rule.annotations.contains_key("summary"), "{}", rule.alert);
        let name = format!("alertname: {}", rule.alert);
        assert!(
            played.matches(&name).count() >= 1,
            "{} has no test",
            rule.alert
        );
    }
}
