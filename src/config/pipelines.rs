//! `service.pipelines`: which components are used and how they are wired.

use std::collections::BTreeSet;

use super::catalogue::Section;
use super::component::{ComponentId, Declared, find};
use super::decoder::join;
use super::diagnostic::Severity;
use super::item::Item;
use super::logs_pipelines;
use super::memory::Limit;
use super::nearest::nearest;
use super::node::{Entry, Place};
use super::pipeline_lists::lists;
use super::relay_pipelines;
use super::settings::{BatchSettings, ReceiverSettings, RelaySettings};
use super::tail_sampling::Instance;
use crate::exporters::ExporterSettings;
use crate::otlp::Telemetry;
use crate::processors::ProcessorSettings;
use crate::rules::PolicyKind;

/// A processor of a pipeline.
#[derive(Debug, Clone)]
pub(crate) enum Processor {
    Sampler(Box<Instance>),
    Batch(BatchSettings),
    Limiter(Limit),
    Step(Box<ProcessorSettings>),
}

/// Everything that pipelines may name.
pub(crate) struct Declarations {
    pub receivers: Vec<Declared<ReceiverSettings>>,
    pub processors: Vec<Declared<Processor>>,
    pub exporters: Vec<Declared<ExporterSettings>>,
}

/// A traces pipeline as it is wired. `sampler` is `None` when its block has errors.
pub(crate) struct Wired {
    pub name: String,
    pub place: Place,
    pub receivers: Vec<String>,
    /// Of these, those whose logs join.
    pub logs: Vec<String>,
    /// Processors before the sampler, in their order.
    pub front: Vec<ProcessorSettings>,
    pub sampler: Option<Instance>,
    /// Those behind it.
    pub back: Vec<ProcessorSettings>,
    pub batch: Option<BatchSettings>,
    pub limit: Option<Limit>,
    pub exporters: Vec<String>,
}

/// Ids that a pipeline names.
#[derive(Default)]
pub(crate) struct Used {
    pub receivers: BTreeSet<String>,
    pub processors: BTreeSet<String>,
    pub exporters: BTreeSet<String>,
}

/// Decodes all pipelines; those of logs are joined to the traces pipelines with the same sampler, or pass, as metrics do.
pub(crate) fn decode(
    item: &Item<'_>,
    known: &Declarations,
    used: &mut Used,
) -> (Vec<Wired>, Vec<RelaySettings>) {
    let pairs = item.pairs();
    if pairs.is_empty() && item.fields().is_some() {
        item.error_help(
            "no pipeline",
            "add `traces: {receivers: [...], processors: [tail_sampling], exporters: [...]}`",
        );
    }
    let mut out: Vec<Wired> = Vec::new();
    let (mut logs, mut relays) = (Vec::new(), Vec::new());
    for (entry, item) in pairs {
        let Some((name, telemetry)) = pipeline_id(entry, &item) else {
            // What it names is no typing error: do not call it unused.
            mention(&item, used);
            continue;
        };
        if telemetry == Telemetry::Traces {
            out.extend(pipeline(name, &item, known, used));
            continue;
        }
        let Some(lists) = lists(&item, known, used) else {
            continue;
        };
        if telemetry == Telemetry::Logs && lists.processors.iter().any(|id| is_sampler(id)) {
            logs.extend(logs_pipelines::decode(&item, lists, known));
        } else {
            let id = (name, telemetry);
            relays.push(relay_pipelines::decode(&item, id, lists, known));
        }
    }
    for pipeline in logs {
        logs_pipelines::join(item.decoder, &pipeline, known, &mut out);
    }
    relay_pipelines::check_beside(item, &relays, &out);
    (out, relays.into_iter().map(|(_, relay)| relay).collect())
}

fn pipeline_id(entry: &Entry, item: &Item<'_>) -> Option<(String, Telemetry)> {
    const LATER: &str = "keep this pipeline in a Collector beside this process; here traces, logs and metrics are taken";
    let error = |message: String| {
        item.decoder
            .at_key(Severity::Error, entry, &item.path, message, None)
    };
    let Ok(id) = ComponentId::parse(&entry.key) else {
        error("expected a pipeline id: `traces` or `traces/name`".to_owned());
        return None;
    };
    match id.kind.as_str() {
        "traces" => return Some((id.text, Telemetry::Traces)),
        "logs" => return Some((id.text, Telemetry::Logs)),
        "metrics" => return Some((id.text, Telemetry::Metrics)),
        "profiles" => {
            let message = format!("pipelines of {} are not supported yet", id.kind);
            item.decoder.at_key(
                Severity::Error,
                entry,
                &item.path,
                message,
                Some(LATER.to_owned()),
            );
        }
        _ => match nearest(&id.kind, ["traces", "metrics", "logs", "profiles"]) {
            Some(close) => error(format!("unknown signal; did you mean `{close}`?")),
            None => error("unknown signal: expected `traces` or `traces/name`".to_owned()),
        },
    }
    None
}

/// Marks what a pipeline names as used, whatever it is.
fn mention(item: &Item<'_>, used: &mut Used) {
    let super::node::Value::Map(entries) = &item.node.value else {
        return;
    };
    for entry in entries {
        let super::node::Value::Seq(items) = &entry.node.value else {
            continue;
        };
        let ids = items.iter().filter_map(|node| match &node.value {
            super::node::Value::Str(text) => ComponentId::parse(text).ok().map(|id| id.text),
            _ => None,
        });
        match entry.key.as_str() {
            "receivers" => used.receivers.extend(ids),
            "processors" => used.processors.extend(ids),
            "exporters" => used.exporters.extend(ids),
            _ => {}
        }
    }
}

fn pipeline(name: String, item: &Item<'_>, known: &Declarations, used: &mut Used) -> Option<Wired> {
    let mut fields = item.fields()?;
    let receivers = fields
        .get("receivers")
        .map(|item| item.list())
        .unwrap_or_default();
    let processors = fields
        .get("processors")
        .map(|item| item.list())
        .unwrap_or_default();
    let exporters = fields
        .get("exporters")
        .map(|item| item.list())
        .unwrap_or_default();
    for (items, what) in [(&receivers, "receivers"), (&exporters, "exporters")] {
        if items.is_empty() {
            let path = join(&item.path, what);
            item.decoder.error(
                item.node.place,
                &path,
                format!("missing: expected at least one of the {what}"),
            );
        }
    }
    let receivers = references(&receivers, &known.receivers, Section::Receivers);
    let processors = references(&processors, &known.processors, Section::Processors);
    let exporters = references(&exporters, &known.exporters, Section::Exporters);
    used.receivers.extend(receivers.iter().cloned());
    used.processors.extend(processors.iter().cloned());
    used.exporters.extend(exporters.iter().cloned());
    let mut wired = Wired {
        name,
        place: item.node.place,
        receivers,
        logs: Vec::new(),
        front: Vec::new(),
        sampler: None,
        back: Vec::new(),
        batch: None,
        limit: None,
        exporters,
    };
    process(item, &processors, known, &mut wired);
    check_routes(item, &wired);
    check_redaction(item, &wired, &known.receivers);
    Some(wired)
}

/// Sorts the processors of a pipeline out; exactly one must be a sampler.
fn process(item: &Item<'_>, ids: &[String], known: &Declarations, wired: &mut Wired) {
    let samplers = ids.iter().filter(|id| is_sampler(id)).count();
    let path = join(&item.path, "processors");
    let error = |message: &str, help: &str| {
        item.decoder
            .error_help(item.node.place, &path, message, help)
    };
    match samplers {
        1 => {}
        0 => error(
            "a traces pipeline without `tail_sampling` is not supported yet",
            "add a `tail_sampling` whose only policy is `{name: all, type: always_sample}` to keep every trace",
        ),
        _ => error(
            "expected one `tail_sampling`, found several",
            "use one pipeline for each",
        ),
    }
    let mut behind = false;
    for id in ids {
        behind |= is_sampler(id);
        match find(&known.processors, id).and_then(|declared| declared.settings.as_ref()) {
            Some(Processor::Sampler(instance)) => wired.sampler = Some((**instance).clone()),
            Some(Processor::Batch(batch)) => wired.batch = Some(*batch),
            Some(Processor::Limiter(limit)) => wired.limit = Some(limit.clone()),
            Some(Processor::Step(step)) if behind => wired.back.push((**step).clone()),
            Some(Processor::Step(step)) => wired.front.push((**step).clone()),
            None => {}
        }
    }
}

/// A policy that looks for words in text that no receiver leaves would never match.
fn check_redaction(item: &Item<'_>, wired: &Wired, receivers: &[Declared<ReceiverSettings>]) {
    let Some(sampler) = &wired.sampler else {
        return;
    };
    let path = join(&item.path, "receivers");
    let redacts = |id: &&String| {
        let settings = find(receivers, id).and_then(|receiver| receiver.settings.as_ref());
        settings.is_some_and(|settings| settings.redact.changes_calls())
    };
    for policy in sampler
        .policies
        .iter()
        .filter(|policy| reads_text(&policy.kind))
    {
        for id in wired.receivers.iter().filter(redacts) {
            let message = format!(
                "the policy `{}` looks at text that the receiver `{id}` redacts before anything is stored",
                policy.name
            );
            item.decoder.error_help(
                item.node.place,
                &path,
                message,
                "redact in the exporters, or leave the policy out",
            );
        }
    }
}

fn reads_text(kind: &PolicyKind) -> bool {
    match kind {
        PolicyKind::And(children) | PolicyKind::Drop(children) => {
            children.iter().any(|child| reads_text(&child.kind))
        }
        PolicyKind::Not(child) => reads_text(&child.kind),
        PolicyKind::Composite { children, .. } => {
            children.iter().any(|(child, _)| reads_text(&child.kind))
        }
        leaf => leaf.type_name().starts_with("prompt_"),
    }
}

/// What policies export to must be there, and every trace must leave by something.
fn check_routes(item: &Item<'_>, wired: &Wired) {
    let Some(sampler) = &wired.sampler else {
        return;
    };
    let path = join(&item.path, "exporters");
    let routed = |id: &String| {
        sampler
            .routes
            .iter()
            .any(|route| route.exporters.contains(id))
    };
    for route in &sampler.routes {
        for id in route
            .exporters
            .iter()
            .filter(|id| !wired.exporters.contains(id))
        {
            let message = format!(
                "the policy `{}` exports to `{id}`, which is not among the pipeline's exporters",
                route.policy
            );
            item.decoder.error(item.node.place, &path, message);
        }
    }
    if !wired.exporters.is_empty() && wired.exporters.iter().all(routed) {
        item.decoder.warning(
            item.node.place,
            &path,
            "each of them takes only what policies export to it: all other traces that are kept leave by none",
        );
    }
}

pub(super) fn is_sampler(id: &str) -> bool {
    id.split('/').next() == Some("tail_sampling")
}

/// Ids of a list that are declared; each once.
pub(super) fn references<T>(
    items: &[Item<'_>],
    declared: &[Declared<T>],
    section: Section,
) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for item in items {
        let Some(text) = item.string() else { continue };
        let id = match ComponentId::parse(&text) {
            Ok(id) => id.text,
            Err(message) => {
                item.error(message);
                continue;
            }
        };
        if find(declared, &id).is_none() {
            refuse_reference(item, &id, declared, section);
        } else if out.contains(&id) {
            item.error(format!("this {} stands in the list already", section.one()));
        } else {
            out.push(id);
        }
    }
    out
}

fn refuse_reference<T>(item: &Item<'_>, id: &str, declared: &[Declared<T>], section: Section) {
    let message = format!(
        "no {} `{id}` is declared under `{}`",
        section.one(),
        section.name()
    );
    let message = if item.node.secret {
        format!("not declared under `{}`", section.name())
    } else {
        message
    };
    match nearest(id, declared.iter().map(|component| component.id.as_str())) {
        Some(close) => item.error(format!("{message}; did you mean `{close}`?")),
        None => item.error(message),
    }
}
