//! `export_to` and `evaluate_percentage` of a policy: which exporters its traces go to.

use std::collections::BTreeSet;

use super::component::ComponentId;
use super::fields::Fields;
use super::thinning::percentage;
use crate::exporters::Route;

/// Decodes the keys of one policy; `None` where it names no exporter.
pub(crate) fn decode(fields: &mut Fields<'_>, policy: &str) -> Option<Route> {
    let exporters = fields.get("export_to");
    let share = fields.get("evaluate_percentage");
    let percentage = share.as_ref().and_then(percentage);
    let Some(exporters) = exporters else {
        if let Some(share) = share {
            share.error_help(
                "a share of what goes nowhere",
                "name the exporters with `export_to`",
            );
        }
        return None;
    };
    let mut ids = BTreeSet::new();
    for item in exporters.list() {
        match item.string().map(|text| ComponentId::parse(&text)) {
            Some(Ok(id)) => _ = ids.insert(id.text),
            Some(Err(_)) => item.error("expected the id of an exporter"),
            None => {}
        }
    }
    if exporters.list_is_empty() {
        exporters.error("no exporter: expected at least one");
    }
    Some(Route {
        policy: policy.to_owned(),
        exporters: ids.into_iter().collect(),
        percentage,
    })
}
