//! `thinning` of `tail_sampling`: which spans of kept traces do not leave.

use super::item::Item;
use crate::rules::PolicySpec;
use crate::thinning::{SpanPattern, Thin, ThinningRule};

/// Decodes the list; names in `unless_kept_by` are those of policies.
pub(crate) fn decode(item: &Item<'_>, policies: &[PolicySpec]) -> Vec<ThinningRule> {
    let rules = item.list();
    rules
        .iter()
        .filter_map(|item| rule(item, policies))
        .collect()
}

fn rule(item: &Item<'_>, policies: &[PolicySpec]) -> Option<ThinningRule> {
    let mut fields = item.fields()?;
    let spans = fields
        .require("spans", "which spans, such as `name =~ \"gpu.kernel.*\"`")
        .and_then(|item| pattern(&item));
    let keep = fields.get("keep_percentage");
    let fold = fields.get("fold_repeated");
    let excepted = fields.get("unless_kept_by");
    if let Some(excepted) = &excepted {
        check_names(excepted, policies);
    }
    let thin = match (&keep, &fold) {
        (Some(keep), None) => Thin::Keep(percentage(keep)?),
        // One span stands for as many as there are; a single one would only be renamed.
        (None, Some(fold)) => Thin::Fold(usize::try_from(fold.u64_in(2, 1 << 32)?).ok()?),
        _ => {
            item.error("expected one of `keep_percentage` and `fold_repeated`");
            return None;
        }
    };
    Some(ThinningRule {
        spans: spans?,
        thin,
        unless_kept_by: excepted.map(|item| item.strings()).unwrap_or_default(),
    })
}

fn pattern(item: &Item<'_>) -> Option<SpanPattern> {
    match SpanPattern::parse(&item.string()?) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            item.error(error.to_string());
            None
        }
    }
}

/// From 0 to 100.
pub(crate) fn percentage(item: &Item<'_>) -> Option<f64> {
    let percent = item.f64()?;
    if (0.0..=100.0).contains(&percent) {
        return Some(percent);
    }
    item.error("out of range: expected a number from 0 to 100");
    None
}

fn check_names(item: &Item<'_>, policies: &[PolicySpec]) {
    for item in item.list() {
        let Some(name) = item.string() else { continue };
        if !policies.iter().any(|policy| policy.name == name) {
            item.error(format!("there is no policy `{name}`"));
        }
    }
}
