//! The `batch` processor: mapped to the exporters' batching.

use std::time::Duration;

use super::component::ComponentId;
use super::item::Item;
use super::settings::BatchSettings;

/// The Collector's defaults.
const TIMEOUT: Duration = Duration::from_millis(200);
const SIZE: u64 = 8192;

/// Decodes the block.
pub(crate) fn decode(_: &ComponentId, item: &Item<'_>) -> Option<BatchSettings> {
    let mut fields = item.fields()?;
    let timeout = fields.duration("timeout").unwrap_or(TIMEOUT);
    let send_batch_size = fields
        .get("send_batch_size")
        .map_or(Some(SIZE), |item| item.u64_in(0, u32::MAX.into()));
    let max = fields.get("send_batch_max_size");
    let send_batch_max_size = max
        .as_ref()
        .map_or(Some(0), |item| item.u64_in(0, u32::MAX.into()));
    fields.not_yet(
        "metadata_keys",
        "leave it out: batches hold the spans of all senders",
    );
    fields.no_effect(
        "metadata_cardinality_limit",
        "batches hold the spans of all senders",
    );
    let batch = BatchSettings {
        timeout,
        send_batch_size: send_batch_size?,
        send_batch_max_size: send_batch_max_size?,
    };
    if batch.send_batch_max_size > 0 && batch.send_batch_max_size < batch.send_batch_size {
        max.as_ref()
            .unwrap_or(item)
            .error("`send_batch_max_size` is below `send_batch_size`");
    }
    Some(batch)
}
