//! What follows from all that a span says together, once it is read: contradictions are left out, what can be derived is.

use super::anomaly::Anomaly;
use super::draft::Draft;
use super::model_name::ModelName;
use super::words::{Finish, Kind, Layer};
use crate::otlp::STATUS_ERROR;

/// `Status.code` OK.
const STATUS_OK: u32 = 1;

/// Brings a draft to its end.
pub(super) fn settle(draft: &mut Draft<'_, '_>) {
    error(draft);
    usage(draft);
    times(draft);
    let record = &mut draft.record;
    // A call that failed has no answer: what some libraries give for the model that answered is the one asked for.
    if record.error
        && record.output_tokens.is_none()
        && record.finish.is_empty()
        && record.response_id.is_none()
    {
        record.request_model = record.request_model.or(record.response_model);
        record.response_model = None;
    }
    if record.kind != Kind::Tool {
        record.tool = None;
    }
    if record.cache_hit.is_none() {
        record.cache_hit = record.cached_tokens.map(|cached| cached > 0);
    }
    if let Some(model) = record.model() {
        let name = ModelName::of(model);
        record.family = Some(name.family);
        record.version = Some(name.version).filter(|version| !version.is_empty());
    }
    record.scores.settle();
}

/// A span that says OK had its exceptions dealt with.
fn error(draft: &mut Draft<'_, '_>) {
    let finish = draft.record.finish;
    let marks = draft.exception
        || draft.record.error_type.is_some()
        || finish.has(Finish::Error)
        || finish.has(Finish::Abort);
    draft.record.error |= draft.status == STATUS_ERROR || (marks && draft.status != STATUS_OK);
    if !draft.record.error {
        draft.record.error_type = None;
    }
}

fn usage(draft: &mut Draft<'_, '_>) {
    let record = &mut draft.record;
    // LiteLLM writes 0 for calls that failed: there was no usage.
    if record.error && record.input_tokens == Some(0) && record.output_tokens.unwrap_or(0) == 0 {
        record.input_tokens = None;
        record.output_tokens = None;
    }
    // The conventions count cached tokens among those that went in; who took Anthropic's own numbers over does not.
    if let (Some(input), Some(cached)) = (record.input_tokens, record.cached_tokens)
        && cached > input
    {
        let written = record.cache_write_tokens.unwrap_or(0);
        record.input_tokens = Some(input.saturating_add(cached).saturating_add(written));
    }
}

fn times(draft: &mut Draft<'_, '_>) {
    if let (None, Some(start), Some(end)) = (draft.record.queue, draft.queue_start, draft.queue_end)
    {
        match end.checked_sub(start) {
            Some(queue) => draft.record.queue = Some(queue),
            None => draft.count(Anomaly::Negative),
        }
    }
    if draft.record.stream.is_none() {
        draft.record.stream = draft.kind_streams;
    }
    let engine = draft.record.layer() == Layer::Engine;
    if draft.record.stream == Some(false) && !engine && draft.record.ttft.take().is_some() {
        draft.record.time_per_output_token = None;
        draft.count(Anomaly::NotStreamed);
    }
    if draft
        .record
        .ttft
        .is_some_and(|ttft| ttft > draft.record.duration)
    {
        draft.record.ttft = None;
        draft.count(Anomaly::LongerThanSpan);
    }
    if draft.record.stream.is_none() && draft.record.ttft.is_some() && !engine {
        draft.record.stream = Some(true);
    }
    if draft.record.time_per_output_token.is_none() && draft.record.kind == Kind::Inference {
        draft.record.time_per_output_token = derived(draft);
    }
}

/// Of the conventions: (duration - time to first token) / (tokens out - 1); where the decode is told, of the decode.
fn derived(draft: &Draft<'_, '_>) -> Option<u64> {
    let record = &draft.record;
    let behind = u64::from(record.output_tokens?).checked_sub(1)?;
    let decode = record
        .decode
        .or_else(|| record.duration.checked_sub(record.ttft?))?;
    decode.checked_div(behind)
}
