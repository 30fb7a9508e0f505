//! `tail_sampling.memory` and the `memory_limiter` processor: caps in bytes.

use super::component::ComponentId;
use super::fields::Fields;
use super::item::Item;
use super::node::{Place, Value};
use super::services::ON_FULL;
use super::settings::{MemoryPlan, MemoryTotal};
use super::size;
use crate::log::OnFull;

/// design.md section 3.
const TOTAL_PERCENT: f64 = 60.0;
/// design.md section 3.
const PER_SERVICE: u64 = 64 << 20;

/// A `memory` block and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    pub place: Place,
    pub path: String,
    pub plan: MemoryPlan,
}

/// What holds without any block.
pub(crate) fn default_plan() -> MemoryPlan {
    MemoryPlan {
        total: MemoryTotal::Percent(TOTAL_PERCENT),
        total_is_set: false,
        per_service_default: PER_SERVICE,
        per_service: Vec::new(),
        on_full: OnFull::Spill,
        on_full_of: Vec::new(),
        skeleton_cap: None,
    }
}

/// Decodes the block.
pub(crate) fn decode(item: &Item<'_>) -> Option<Memory> {
    let mut fields = item.fields()?;
    let mut plan = default_plan();
    if let Some(item) = fields.get("total") {
        plan.total_is_set = true;
        plan.total = total(&item).unwrap_or(plan.total);
    }
    if let Some(services) = fields.get("per_service") {
        per_service(&services, &mut plan);
    }
    plan.on_full = fields.one_of("on_full", &ON_FULL).unwrap_or(plan.on_full);
    plan.skeleton_cap = fields.get("skeletons").and_then(|item| positive(&item));
    if let (MemoryTotal::Bytes(total), Some(cap)) = (plan.total, plan.skeleton_cap)
        && cap > total
    {
        fields.item().error("`skeletons` is larger than `total`");
    }
    Some(Memory {
        place: item.node.place,
        path: item.path.clone(),
        plan,
    })
}

fn total(item: &Item<'_>) -> Option<MemoryTotal> {
    if let Value::Str(text) = &item.node.value
        && text.contains('%')
    {
        let percent = size::percent(text);
        if percent.is_none() {
            item.error(format!(
                "expected a percentage above 0% and up to 100%{}",
                item.shown()
            ));
        }
        return percent.map(MemoryTotal::Percent);
    }
    positive(item).map(MemoryTotal::Bytes)
}

fn positive(item: &Item<'_>) -> Option<u64> {
    let bytes = item.bytes()?;
    if bytes == 0 {
        item.error("expected more than 0 bytes");
    }
    (bytes > 0).then_some(bytes)
}

fn per_service(item: &Item<'_>, plan: &mut MemoryPlan) {
    for (entry, item) in item.pairs() {
        let name = entry.key.as_str();
        match positive(&item) {
            Some(bytes) if name == "default" => plan.per_service_default = bytes,
            Some(bytes) => plan.per_service.push((name.to_owned(), bytes)),
            None => {}
        }
    }
}

/// A `memory_limiter` and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Limit {
    pub place: Place,
    pub path: String,
    pub total: MemoryTotal,
}

/// The `memory_limiter` processor: its limit becomes the total where `tail_sampling.memory.total` does not stand.
pub(crate) fn decode_limiter(_: &ComponentId, item: &Item<'_>) -> Option<Limit> {
    let mut fields = item.fields()?;
    fields.duration("check_interval");
    fields.duration("min_gc_interval_when_soft_limited");
    fields.duration("min_gc_interval_when_hard_limited");
    let mib = limit(&mut fields, "limit_mib", u64::MAX >> 20);
    let percent = limit(&mut fields, "limit_percentage", 100);
    limit(&mut fields, "spike_limit_mib", u64::MAX >> 20);
    limit(&mut fields, "spike_limit_percentage", 100);
    #[allow(clippy::cast_precision_loss, reason = "at most 100")]
    let total = match (mib, percent) {
        (Some(mib), _) => Some(MemoryTotal::Bytes(mib << 20)),
        (None, Some(percent)) => Some(MemoryTotal::Percent(percent as f64)),
        (None, None) => {
            item.error("expected `limit_mib` or `limit_percentage`, other than 0");
            None
        }
    };
    Some(Limit {
        place: item.node.place,
        path: item.path.clone(),
        total: total?,
    })
}

fn limit(fields: &mut Fields<'_>, key: &'static str, max: u64) -> Option<u64> {
    fields.get(key)?.u64_in(0, max).filter(|n| *n > 0)
}
