//! Pipelines of logs: each names the `tail_sampling` of a traces pipeline, and its log records are kept with their traces.
//!
//! There is one decision and one position for each exporter, so both pipelines have the same exporters; and the logs come
//! through receivers that the traces come through.

use super::component::{Declared, find};
use super::decoder::{Decoder, join as path_of};
use super::item::Item;
use super::node::Place;
use super::pipeline_lists::Lists;
use super::pipelines::{Declarations, Processor, Wired, is_sampler};
use super::settings::{Compat, SamplingStrategy};
use crate::exporters::{ExporterKind, ExporterSettings, HttpTarget};

/// A pipeline of logs, not joined yet.
pub(crate) struct LogsPipeline {
    place: Place,
    path: String,
    receivers: Vec<String>,
    sampler: String,
    exporters: Vec<String>,
}

/// Decodes one; `None` when it does not name just one sampler.
pub(crate) fn decode(item: &Item<'_>, lists: Lists, known: &Declarations) -> Option<LogsPipeline> {
    let Lists {
        receivers,
        processors,
        exporters,
        ..
    } = lists;
    let path = path_of(&item.path, "processors");
    let error = |message: &str, help: &str| {
        item.decoder
            .error_help(item.node.place, &path, message, help);
    };
    let mut samplers = processors.iter().filter(|id| is_sampler(id));
    let (Some(sampler), None) = (samplers.next(), samplers.next()) else {
        error(
            "expected one `tail_sampling`, found several",
            "use one pipeline for each",
        );
        return None;
    };
    for id in processors.iter().filter(|id| !is_sampler(id)) {
        let declared = find(&known.processors, id).and_then(|found| found.settings.as_ref());
        if let Some(Processor::Step(_)) = declared {
            error(
                &format!("the processor `{id}` is not applied to logs yet"),
                "leave it out",
            );
        }
    }
    Some(LogsPipeline {
        place: item.node.place,
        path: item.path.clone(),
        receivers,
        sampler: sampler.clone(),
        exporters,
    })
}

/// Joins it to the traces pipeline with its sampler.
pub(crate) fn join(
    decoder: &Decoder<'_>,
    logs: &LogsPipeline,
    known: &Declarations,
    traces: &mut [Wired],
) {
    let error = |key: &str, message: String, help: &str| {
        let path = path_of(&logs.path, key);
        decoder.error_help(logs.place, &path, message, help);
    };
    let same = |wired: &&mut Wired| {
        let sampler = wired.sampler.as_ref();
        sampler.is_some_and(|sampler| sampler.id == logs.sampler)
    };
    let Some(wired) = traces.iter_mut().find(same) else {
        return error(
            "processors",
            format!("no traces pipeline uses `{}`", logs.sampler),
            "log records are kept with their traces: add a traces pipeline with the same `tail_sampling`",
        );
    };
    let sorted = |ids: &[String]| {
        let mut ids = ids.to_vec();
        ids.sort();
        ids
    };
    if sorted(&logs.exporters) != sorted(&wired.exporters) {
        error(
            "exporters",
            format!("expected the exporters of the pipeline `{}`", wired.name),
            "a trace leaves with its log records",
        );
    }
    if let Some(other) = logs
        .receivers
        .iter()
        .find(|id| !wired.receivers.contains(id))
    {
        error(
            "receivers",
            format!("the pipeline `{}` does not use `{other}`", wired.name),
            "logs come through receivers that the traces come through",
        );
    }
    if let Some(sampler) = &wired.sampler
        && (sampler.compat == Some(Compat::Strict)
            || sampler.sampling_strategy == SamplingStrategy::SpanIngest)
    {
        error(
            "processors",
            "the Collector's `tail_sampling` takes no logs: not with `compat: strict` or `span-ingest`".to_owned(),
            "use another `tail_sampling`",
        );
    }
    for id in &logs.exporters {
        if find(&known.exporters, id).is_some_and(sends_traces_only) {
            error(
                "exporters",
                format!("`{id}` has only a `traces_endpoint`"),
                "set `logs_endpoint`, or `endpoint` for both",
            );
        }
    }
    for receiver in &logs.receivers {
        if !wired.logs.contains(receiver) {
            wired.logs.push(receiver.clone());
        }
    }
}

fn sends_traces_only(exporter: &Declared<ExporterSettings>) -> bool {
    match exporter.settings.as_ref().map(|settings| &settings.kind) {
        Some(ExporterKind::OtlpHttp(http)) => {
            matches!(http.target, HttpTarget::Traces(_)) && http.logs_endpoint.is_none()
        }
        _ => false,
    }
}
