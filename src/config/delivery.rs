//! What all exporters have: `retry_on_failure`, `sending_queue`, `timeout` (the Collector's `exporterhelper`).

use std::time::Duration;

use super::fields::Fields;
use super::item::Item;
use crate::exporters::{QueueSettings, RetrySettings};

/// `retry_on_failure`; without an end unless the file sets one.
pub(crate) fn retry(fields: &mut Fields<'_>) -> RetrySettings {
    let defaults = RetrySettings::collector();
    let Some(mut fields) = fields.fields("retry_on_failure") else {
        return defaults;
    };
    let time = |found: Option<Duration>, default| found.unwrap_or(default);
    let retry = RetrySettings {
        enabled: fields.boolean("enabled").unwrap_or(defaults.enabled),
        initial_interval: time(
            fields.duration("initial_interval"),
            defaults.initial_interval,
        ),
        randomization_factor: factor(&mut fields, "randomization_factor", 0.0, 1.0)
            .unwrap_or(defaults.randomization_factor),
        multiplier: factor(&mut fields, "multiplier", 1.0, 1e6).unwrap_or(defaults.multiplier),
        max_interval: time(fields.duration("max_interval"), defaults.max_interval),
        // 0 is no end, in the Collector too.
        max_elapsed_time: fields
            .duration("max_elapsed_time")
            .filter(|time| !time.is_zero()),
    };
    if retry.enabled && retry.initial_interval > retry.max_interval {
        fields
            .item()
            .warning("`initial_interval` is above `max_interval`, which wins");
    }
    retry
}

fn factor(fields: &mut Fields<'_>, key: &'static str, min: f64, max: f64) -> Option<f64> {
    let item = fields.get(key)?;
    let value = item.f64()?;
    if (min..=max).contains(&value) {
        return Some(value);
    }
    item.error(format!(
        "out of range: expected a number from {min} to {max}"
    ));
    None
}

/// `sending_queue`. The decision log is the queue: what bounds or stores the Collector's has no counterpart.
pub(crate) fn queue(fields: &mut Fields<'_>) -> QueueSettings {
    let mut queue = QueueSettings::new();
    let Some(mut fields) = fields.fields("sending_queue") else {
        return queue;
    };
    if fields.boolean("enabled") == Some(false) {
        // Without a queue the Collector sends each trace as it comes.
        queue.flush_interval = Duration::ZERO;
    }
    if let Some(item) = fields.get("num_consumers")
        && let Some(n) = item.u64_in(1, 10_000)
    {
        queue.num_consumers = usize::try_from(n).unwrap_or(queue.num_consumers);
    }
    fields.no_effect(
        "queue_size",
        "what waits for a backend waits in the log, bounded by `buffer.disk.max_size`",
    );
    fields.no_effect("storage", "what waits for a backend is in the log already");
    fields.no_effect(
        "wait_for_result",
        "senders are answered when the log has their spans",
    );
    fields.no_effect("block_on_overflow", "the log is the queue");
    fields.accept(&["sizer"]);
    if let Some(item) = fields.get("batch") {
        batch(&item, &mut queue);
    }
    queue
}

/// `sending_queue.batch`: sizes in bytes are taken, others cannot be.
fn batch(item: &Item<'_>, queue: &mut QueueSettings) {
    let Some(mut fields) = item.fields() else {
        return;
    };
    if let Some(time) = fields.duration("flush_timeout") {
        queue.flush_interval = time;
    }
    let sizer = fields.one_of(
        "sizer",
        &[("bytes", true), ("items", false), ("requests", false)],
    );
    let sizes = (fields.u64("min_size"), fields.u64("max_size"));
    fields.not_yet("partition", "batches hold whole traces of all senders");
    if sizer != Some(true) {
        if sizes != (None, None) {
            item.warning("`min_size` and `max_size` have no effect: batches are measured in bytes (`sizer: bytes`)");
        }
        return;
    }
    let (min, max) = sizes;
    queue.batch_max_bytes = max.filter(|n| *n > 0).unwrap_or(queue.batch_max_bytes);
    queue.batch_min_bytes = min
        .unwrap_or(queue.batch_min_bytes)
        .min(queue.batch_max_bytes);
    if let (Some(min), Some(max)) = (min, max)
        && max > 0
        && max < min
    {
        item.error("`max_size` is below `min_size`");
    }
}

/// `timeout`; 0 is no limit.
pub(crate) fn timeout(fields: &mut Fields<'_>, default: Duration) -> Duration {
    fields.duration("timeout").unwrap_or(default)
}
