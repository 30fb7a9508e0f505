//! When a trace is over: `decision_wait` and `decision_wait_after_root_received` as in the Collector, and ours for traces that
//! take long: `idle_wait`, `max_age`, `early_keep`, and `preset`, which sets them.

use super::fields::Fields;
use super::item::Item;
use super::own_keys::OwnKey;
use crate::rules::{PolicySpec, Release};
use std::time::Duration;

/// The Collector's default.
const DECISION_WAIT: Duration = Duration::from_secs(30);
/// Where `idle_wait` is set: an agent's run may take minutes (the reference on LLM traces has ten), and a trace that never
/// rests must be decided.
const MAX_AGE: Duration = Duration::from_mins(10);

/// `preset: llm`. A model call that streams for a minute exports nothing until it ends, so a trace is silent for that long.
const LLM_IDLE: Duration = Duration::from_mins(1);
/// The SDKs' batch processors export every 5 s: what belongs to a root that has ended has come a second later.
const LLM_AFTER_ROOT: Duration = Duration::from_secs(6);

/// When a trace is over, in whole seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waits {
    pub decision_wait: Duration,
    pub after_root: Option<Duration>,
    pub idle_wait: Option<Duration>,
    pub max_age: Option<Duration>,
    pub early_keep: bool,
}

impl Waits {
    /// From a trace's first span to its decision, at most.
    pub(crate) fn longest(&self) -> Duration {
        self.max_age.unwrap_or(self.decision_wait)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Preset {
    Llm,
}

/// Decodes them; the policies are the instance's.
pub(crate) fn decode(
    fields: &mut Fields<'_>,
    policies: &[PolicySpec],
    release: Release,
    own: &mut Vec<OwnKey>,
) -> Waits {
    let preset_item = fields.get("preset");
    let preset = preset_item
        .as_ref()
        .and_then(|item| item.one_of(&[("llm", Preset::Llm)]));
    let (wait, after_root) = (fields.get("decision_wait"), after_root(fields));
    let (idle, age, early) = (
        fields.get("idle_wait"),
        fields.get("max_age"),
        fields.get("early_keep"),
    );
    let items = [&preset_item, &idle, &age, &early];
    own.extend(items.into_iter().flatten().map(OwnKey::of));
    let llm = |value: Duration| preset.map(|Preset::Llm| value);
    let idle_wait = match &idle {
        Some(item) => whole_seconds(item, 1),
        None => llm(LLM_IDLE),
    };
    if let Some(item) = wait.as_ref().filter(|_| idle_wait.is_some()) {
        item.warning("has no effect: a trace is over when `idle_wait` is (`preset: llm` sets it)");
    }
    Waits {
        decision_wait: wait
            .and_then(|item| whole_seconds(&item, 1))
            .unwrap_or(DECISION_WAIT),
        after_root: after_root
            .as_ref()
            .map_or_else(|| llm(LLM_AFTER_ROOT), |item| shorter(item, idle_wait)),
        max_age: max_age(age.as_ref(), idle.is_some(), idle_wait),
        early_keep: early_keep(early.as_ref(), policies, release, preset.is_some()),
        idle_wait,
    }
}

/// Timers run in whole seconds of log time, as in the Collector.
fn whole_seconds(item: &Item<'_>, least: u64) -> Option<Duration> {
    let wanted = item.duration()?;
    let seconds = Duration::from_secs(wanted.as_secs().max(least));
    if seconds != wanted {
        item.warning(format!(
            "taken as {} s: whole seconds count, as in the Collector",
            seconds.as_secs()
        ));
    }
    Some(seconds)
}

fn after_root<'a>(fields: &mut Fields<'a>) -> Option<Item<'a>> {
    fields.get("decision_wait_after_root_received")
}

/// The wait after the root; a longer one than the idle wait would never be over first.
fn shorter(item: &Item<'_>, idle_wait: Option<Duration>) -> Option<Duration> {
    // 0 is off; less than a second is the next tick.
    let off = item.duration()?.is_zero();
    let wait = if off { None } else { whole_seconds(item, 0) };
    if idle_wait
        .zip(wait)
        .is_some_and(|(idle, after)| after >= idle)
    {
        item.error("must be shorter than `idle_wait`");
    }
    wait
}

fn max_age(
    item: Option<&Item<'_>>,
    idle_is_set: bool,
    idle_wait: Option<Duration>,
) -> Option<Duration> {
    let Some(item) = item else {
        // A long idle wait by itself is no mistake.
        return idle_wait.map(|idle| MAX_AGE.max(idle));
    };
    let age = whole_seconds(item, 1)?;
    match idle_wait {
        None if !idle_is_set => item.error_help(
            "needs `idle_wait`",
            "without it `decision_wait` is a trace's age at its decision",
        ),
        Some(idle) if age < idle => item.error("must not be shorter than `idle_wait`"),
        _ => {}
    }
    Some(age)
}

fn early_keep(
    item: Option<&Item<'_>>,
    policies: &[PolicySpec],
    release: Release,
    preset: bool,
) -> bool {
    let hinders = |policy: &&PolicySpec| policy.kind.hinders_early_keep(release);
    let hindrance = policies.iter().find(hinders);
    let Some(item) = item else {
        return preset && hindrance.is_none();
    };
    let wanted = item.boolean().unwrap_or(false);
    if let Some(policy) = hindrance.filter(|_| wanted) {
        item.error_help(
            format!(
                "the policy `{}` could still change the outcome: no trace can be kept early",
                policy.name
            ),
            "leave the key out, or do without policies that drop, spend a budget or veto",
        );
    }
    wanted
}
