//! Policies that spend a budget: `rate_limiting`, `bytes_limiting`, and `composite` with its shares.

use super::fields::Fields;
use super::item::Item;
use crate::rules::{PolicyKind, PolicySpec};

/// Rate and burst of one bucket.
fn bucket(block: &Item<'_>, rate_key: &'static str) -> Option<(i64, i64)> {
    let mut fields = block.fields()?;
    let number = |fields: &mut Fields<'_>, key| fields.get(key).map_or(Some(0), |item| item.i64());
    let (rate, burst) = (
        number(&mut fields, rate_key),
        number(&mut fields, "burst_capacity"),
    );
    let (rate, burst) = (rate?, burst?);
    if rate <= 0 && burst <= 0 {
        block.warning(format!("matches nothing: `{rate_key}` is not above 0"));
    } else if rate <= 0 {
        block.warning(format!(
            "matches until the burst is spent, once: `{rate_key}` is not above 0"
        ));
    }
    Some((rate, burst))
}

pub(crate) fn rate(block: &Item<'_>) -> Option<PolicyKind> {
    let (spans_per_second, burst_capacity) = bucket(block, "spans_per_second")?;
    Some(PolicyKind::RateLimiting {
        spans_per_second,
        burst_capacity,
    })
}

pub(crate) fn bytes(block: &Item<'_>) -> Option<PolicyKind> {
    let (bytes_per_second, burst_capacity) = bucket(block, "bytes_per_second")?;
    Some(PolicyKind::BytesLimiting {
        bytes_per_second,
        burst_capacity,
    })
}

/// `composite`; `child` reads one sub-policy.
pub(crate) fn composite(
    block: &Item<'_>,
    child: impl Fn(&Item<'_>) -> Option<PolicySpec>,
) -> Option<PolicyKind> {
    let mut fields = block.fields()?;
    let most = fields
        .get("max_total_spans_per_second")
        .map_or(Some(0), |item| item.i64());
    if most.is_some_and(|most| most <= 0) {
        block.warning("matches nothing: `max_total_spans_per_second` is not above 0");
    }
    let items = fields
        .get("composite_sub_policy")
        .map(|item| item.list())
        .unwrap_or_default();
    let specs: Vec<PolicySpec> = items.iter().filter_map(child).collect();
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let shares = fields
        .get("rate_allocation")
        .map(|item| shares(&item, &names));
    if let Some(item) = fields.get("policy_order") {
        let order = item.strings();
        if order.iter().map(String::as_str).ne(names.iter().copied()) {
            item.warning(
                "has no effect, as in the Collector: the order of `composite_sub_policy` counts",
            );
        }
    }
    let shares = shares.unwrap_or_else(|| Some(Vec::new()))?;
    let complete = specs.len() == items.len();
    let children = specs.into_iter().map(|spec| {
        let share = shares.iter().rev().find(|(name, _)| *name == spec.name);
        let percent = share.map(|(_, percent)| *percent);
        (spec, percent)
    });
    let children: Vec<_> = children.collect();
    complete.then_some(PolicyKind::Composite {
        max_total_spans_per_second: most?,
        children,
    })
}

/// Percentages by name. What names no child is ignored, as in the Collector.
fn shares(item: &Item<'_>, names: &[&str]) -> Option<Vec<(String, i64)>> {
    let items = item.list();
    let mut out = Vec::new();
    for item in &items {
        let mut fields = item.fields()?;
        let name = fields
            .get("policy")
            .map_or(Some(String::new()), |item| item.string());
        let percent = fields.get("percent").map_or(Some(0), |item| item.i64());
        let (Some(name), Some(percent)) = (name, percent) else {
            continue;
        };
        if !names.contains(&name.as_str()) {
            item.warning("has no effect: `policy` is the name of no sub-policy");
        }
        out.push((name, percent));
    }
    (out.len() == items.len()).then_some(out)
}
