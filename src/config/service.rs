//! The root of the config: sections, `service`, and what holds between components.

use std::collections::BTreeSet;

use super::batch;
use super::catalogue::Section;
use super::component::{ComponentId, Declared, find, section};
use super::decoder::Decoder;
use super::expand::Env;
use super::extensions::{self, Extension};
use super::item::Item;
use super::kafka_exporter;
use super::kafka_receiver;
use super::local_exporter;
use super::memory;
use super::node::Place;
use super::otlp_exporter;
use super::otlp_receiver;
use super::pipelines::{self, Declarations, Processor, Used, Wired};
use super::processors;
use super::settings::{Config, PipelineSettings, ReceiverSettings};
use super::shared;
use super::tail_sampling;
use super::telemetry;
use crate::exporters::{ExporterKind, ExporterSettings};

/// Decodes the whole; `None` when something essential is missing (an error says what).
pub(crate) fn decode(root: &Item<'_>, env: Env<'_>) -> Option<Config> {
    let mut fields = root.fields()?;
    let receivers = fields.get("receivers");
    let processors = fields.get("processors");
    let exporters = fields.get("exporters");
    let known = Declarations {
        receivers: section(receivers.as_ref(), Section::Receivers, receiver),
        processors: section(processors.as_ref(), Section::Processors, processor),
        exporters: section(exporters.as_ref(), Section::Exporters, exporter),
    };
    let extensions = section(
        fields.get("extensions").as_ref(),
        Section::Extensions,
        extensions::decode,
    );
    fields.not_yet("connectors", "use several pipelines on one receiver");
    let service = fields.require("service", "the pipelines to run");
    let mut service = service?.fields()?;
    let telemetry = telemetry::decode(service.get("telemetry").as_ref());
    let health = service
        .get("extensions")
        .and_then(|item| health(&item, &extensions));
    let in_service: BTreeSet<String> = service
        .get("extensions")
        .map(|item| quiet_ids(&item))
        .unwrap_or_default();
    let mut used = Used::default();
    let pipelines = service.require("pipelines", "the pipelines to run")?;
    let (wired, relays) = pipelines::decode(&pipelines, &known, &mut used);
    let decoder = root.decoder;
    warn_unused(decoder, &known.receivers, &used.receivers);
    warn_unused(decoder, &known.processors, &used.processors);
    warn_unused(decoder, &known.exporters, &used.exporters);
    warn_unused(decoder, &extensions, &in_service);
    check_clashes(decoder, &known, &used);
    let shared = shared::settle(decoder, &wired, env);
    check_one_sampler_each(decoder, &wired);
    Some(Config {
        receivers: taken(known.receivers, &used.receivers),
        instances: wired
            .into_iter()
            .filter_map(|wired| instance(wired, &shared))
            .collect(),
        relays,
        exporters: taken(known.exporters, &used.exporters),
        telemetry,
        health,
        gates: decoder.gates,
    })
}

fn processor(id: &ComponentId, item: &Item<'_>) -> Option<Processor> {
    match id.kind.as_str() {
        "tail_sampling" => {
            tail_sampling::decode(id, item).map(|instance| Processor::Sampler(Box::new(instance)))
        }
        "batch" => batch::decode(id, item).map(Processor::Batch),
        "memory_limiter" => memory::decode_limiter(id, item).map(Processor::Limiter),
        _ => processors::decode(id, item).map(|step| Processor::Step(Box::new(step))),
    }
}

fn receiver(id: &ComponentId, item: &Item<'_>) -> Option<ReceiverSettings> {
    match id.kind.as_str() {
        "kafka" => kafka_receiver::decode(id, item),
        _ => otlp_receiver::decode(id, item),
    }
}

fn exporter(id: &ComponentId, item: &Item<'_>) -> Option<ExporterSettings> {
    match id.kind.as_str() {
        "otlp" | "otlp_grpc" => otlp_exporter::decode_grpc(id, item),
        "otlphttp" | "otlp_http" => otlp_exporter::decode_http(id, item),
        "kafka" => kafka_exporter::decode(id, item),
        "file" => local_exporter::decode_file(id, item),
        _ => local_exporter::decode_debug(id, item),
    }
}

/// Ids of a list, without findings.
fn quiet_ids(item: &Item<'_>) -> BTreeSet<String> {
    let text = |item: &Item<'_>| match &item.node.value {
        super::node::Value::Str(text) => ComponentId::parse(text).ok().map(|id| id.text),
        _ => None,
    };
    let super::node::Value::Seq(_) = item.node.value else {
        return text(item).into_iter().collect();
    };
    item.list().iter().filter_map(text).collect()
}

/// `service.extensions`: reports undeclared ones and those without effect; gives the health address.
fn health(item: &Item<'_>, declared: &[Declared<Extension>]) -> Option<String> {
    let mut address = None;
    for item in item.list() {
        let Some(id) = item
            .string()
            .and_then(|text| ComponentId::parse(&text).ok())
        else {
            continue;
        };
        match find(declared, &id.text) {
            None => item.error(format!(
                "no extension `{}` is declared under `extensions`",
                id.text
            )),
            Some(Declared {
                settings: Some(Extension::NoEffect(why)),
                ..
            }) => {
                item.warning(format!("has no effect: {why}"));
            }
            Some(Declared {
                settings: Some(Extension::Health(endpoint)),
                ..
            }) => address = Some(endpoint.clone()),
            Some(Declared { settings: None, .. }) => {}
        }
    }
    address
}

fn warn_unused<T>(decoder: &Decoder<'_>, declared: &[Declared<T>], used: &BTreeSet<String>) {
    for component in declared
        .iter()
        .filter(|component| !used.contains(&component.id))
    {
        // One with errors is reported already.
        if component.settings.is_some() {
            decoder.warning(
                component.place,
                &component.path,
                "not used by the service: it is not started",
            );
        }
    }
}

fn taken<T>(declared: Vec<Declared<T>>, used: &BTreeSet<String>) -> Vec<T> {
    declared
        .into_iter()
        .filter(|component| used.contains(&component.id))
        .filter_map(|c| c.settings)
        .collect()
}

/// One address for two listeners, or one file for two exporters.
fn check_clashes(decoder: &Decoder<'_>, known: &Declarations, used: &Used) {
    let mut taken: Vec<(String, Place)> = Vec::new();
    let mut claim = |what: &str, resource: String, path: &str, place: Place| match taken
        .iter()
        .find(|(known, _)| *known == resource)
    {
        Some((_, earlier)) => {
            let at = decoder.sources.describe(*earlier, place);
            decoder.error(
                place,
                path,
                format!("{what} is taken already by the component on {at}"),
            );
        }
        None => taken.push((resource, place)),
    };
    for component in known
        .receivers
        .iter()
        .filter(|component| used.receivers.contains(&component.id))
    {
        let Some(settings) = &component.settings else {
            continue;
        };
        let grpc = settings.grpc.as_ref().map(|grpc| &grpc.endpoint);
        let http = settings.http.as_ref().map(|http| &http.endpoint);
        for endpoint in grpc
            .into_iter()
            .chain(http)
            .filter(|endpoint| !endpoint.ends_with(":0"))
        {
            claim(
                "an endpoint of this receiver",
                endpoint.clone(),
                &component.path,
                component.place,
            );
        }
    }
    for component in known
        .exporters
        .iter()
        .filter(|component| used.exporters.contains(&component.id))
    {
        if let Some(ExporterSettings {
            kind: ExporterKind::File(file),
            ..
        }) = &component.settings
        {
            let resource = file.path.display().to_string();
            claim(
                "the file of this exporter",
                resource,
                &component.path,
                component.place,
            );
        }
    }
}

/// An instance has its own decision log: two pipelines cannot share one.
fn check_one_sampler_each(decoder: &Decoder<'_>, wired: &[Wired]) {
    let mut seen: Vec<(&str, Place)> = Vec::new();
    for pipeline in wired {
        let Some(sampler) = &pipeline.sampler else {
            continue;
        };
        match seen.iter().find(|(id, _)| *id == sampler.id) {
            Some((id, earlier)) => {
                let at = decoder.sources.describe(*earlier, pipeline.place);
                let path = format!("service.pipelines.{}.processors", pipeline.name);
                let message = format!("`{id}` is used by the pipeline on {at} already");
                decoder.error_help(
                    pipeline.place,
                    &path,
                    message,
                    format!("declare a second one, `{id}/name`"),
                );
            }
            None => seen.push((&sampler.id, pipeline.place)),
        }
    }
}

fn instance(wired: Wired, shared: &shared::Shared) -> Option<PipelineSettings> {
    let Wired {
        name,
        receivers,
        logs,
        front,
        sampler,
        back,
        batch,
        exporters,
        ..
    } = wired;
    Some(PipelineSettings {
        name,
        receivers,
        logs,
        front,
        sampler: shared::finish(sampler?, shared),
        back,
        exporters,
        batch,
    })
}
