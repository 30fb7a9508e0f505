//! A dashboard as Grafana imports it.

use super::panels::{Dashboard, Kind, Panel, Query, Row, Variable};
use serde_json::{Value, json};

/// Grafana 11's; newer ones migrate it.
const SCHEMA: u32 = 39;
/// Of the grid.
const COLUMNS: u32 = 24;
const HEIGHT: u32 = 8;
const STAT_HEIGHT: u32 = 4;

/// The file's text.
pub(crate) fn text(dashboard: &Dashboard) -> String {
    serde_json::to_string_pretty(&json(dashboard)).unwrap() + "\n"
}

fn json(dashboard: &Dashboard) -> Value {
    let mut grid = Grid::default();
    let panels: Vec<Value> = dashboard
        .rows
        .iter()
        .flat_map(|row| grid.row(row))
        .collect();
    let variables = dashboard.variables.iter().map(variable);
    json!({
        "uid": dashboard.uid,
        "title": dashboard.title,
        "tags": dashboard.tags,
        "description": dashboard.description,
        "schemaVersion": SCHEMA,
        "editable": true,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": std::iter::once(datasource()).chain(variables).collect::<Vec<_>>()},
        "annotations": {"list": []},
        "panels": panels,
    })
}

fn datasource() -> Value {
    json!({"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "refresh": 1})
}

fn source() -> Value {
    json!({"type": "prometheus", "uid": "${datasource}"})
}

/// Refreshed with the time range, so that a value that is new or gone needs no edit.
fn variable(variable: &Variable) -> Value {
    json!({
        "name": variable.name,
        "label": variable.label,
        "type": "query",
        "datasource": source(),
        "query": {"query": variable.query, "refId": variable.name},
        "definition": variable.query,
        "refresh": 2,
        "sort": 1,
        "multi": true,
        "includeAll": true,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    })
}

/// Lays panels out from left to right.
#[derive(Default)]
struct Grid {
    id: u32,
    x: u32,
    y: u32,
    line: u32,
}

impl Grid {
    fn row(&mut self, row: &Row) -> Vec<Value> {
        self.break_line();
        let title = json!({
            "id": self.next_id(),
            "type": "row",
            "title": row.title,
            "collapsed": false,
            "gridPos": {"x": 0, "y": self.y, "w": COLUMNS, "h": 1},
            "panels": [],
        });
        self.y += 1;
        let panels = row.panels.iter().map(|one| self.panel(one));
        std::iter::once(title).chain(panels).collect()
    }

    fn panel(&mut self, panel: &Panel) -> Value {
        let height = match panel.kind {
            Kind::Stat => STAT_HEIGHT,
            Kind::TimeSeries => HEIGHT,
        };
        if self.x + panel.width > COLUMNS {
            self.break_line();
        }
        let place = json!({"x": self.x, "y": self.y, "w": panel.width, "h": height});
        self.x += panel.width;
        self.line = self.line.max(height);
        let targets = panel
            .queries
            .iter()
            .zip('A'..)
            .map(|(query, id)| target(panel, query, id));
        json!({
            "id": self.next_id(),
            "type": kind(panel.kind),
            "title": panel.title,
            "description": panel.help,
            "datasource": source(),
            "gridPos": place,
            "targets": targets.collect::<Vec<_>>(),
            "fieldConfig": {"defaults": defaults(panel), "overrides": []},
            "options": options(panel.kind),
        })
    }

    fn break_line(&mut self) {
        self.y += self.line;
        (self.x, self.line) = (0, 0);
    }

    fn next_id(&mut self) -> u32 {
        self.id += 1;
        self.id
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::TimeSeries => "timeseries",
        Kind::Stat => "stat",
    }
}

fn target(panel: &Panel, query: &Query, id: char) -> Value {
    json!({
        "refId": id.to_string(),
        "datasource": source(),
        "expr": query.expr,
        "legendFormat": query.legend,
        "exemplar": panel.exemplars,
        "instant": panel.kind == Kind::Stat,
        "range": panel.kind != Kind::Stat,
    })
}

fn defaults(panel: &Panel) -> Value {
    let stacking = if panel.stack { "normal" } else { "none" };
    json!({
        "unit": panel.unit,
        "min": 0,
        "custom": {"fillOpacity": if panel.stack { 30 } else { 5 }, "showPoints": "never", "stacking": {"mode": stacking}},
    })
}

fn options(kind: Kind) -> Value {
    match kind {
        Kind::TimeSeries => {
            json!({"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}})
        }
        Kind::Stat => json!({"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "none"}),
    }
}
