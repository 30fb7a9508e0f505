//! The JSON files are what the table says. `UPDATE_DOCS=1 cargo test --test dashboards` writes them anew.

use super::grafana;
use super::panels::{directory, table};
use std::collections::HashSet;

#[test]
fn dashboards_are_printed_from_the_table() {
    for dashboard in table().dashboards {
        let path = directory().join(&dashboard.file);
        let expected = grafana::text(&dashboard);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &expected).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == expected,
            "{} is not what panels.yaml says",
            dashboard.file
        );
    }
}

#[test]
fn titles_tell_panels_apart_and_lines_have_names() {
    for dashboard in table().dashboards {
        let mut titles = HashSet::new();
        for panel in dashboard.panels() {
            assert!(
                titles.insert(panel.title.clone()),
                "{}: {} twice",
                dashboard.file,
                panel.title
            );
            let named = panel.queries.len() == 1
                || panel.queries.iter().all(|query| !query.legend.is_empty());
            assert!(named, "{}: lines without a name", panel.title);
        }
    }
}
