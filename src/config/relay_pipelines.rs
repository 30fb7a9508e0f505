//! Pipelines that pass requests on and hold nothing: of metrics, and of logs without `tail_sampling`.
//!
//! What such a pipeline cannot do is refused here: processors, ways in that acknowledge before a backend has answered, and
//! exporters that would let out what they redact elsewhere.

use super::component::find;
use super::decoder::join as path_of;
use super::item::Item;
use super::node::Place;
use super::pipeline_lists::Lists;
use super::pipelines::{Declarations, Processor, Wired, is_sampler};
use super::settings::{ReceiverSettings, RelaySettings};
use crate::exporters::{
    ExporterKind, ExporterSettings, HttpEncoding, HttpTarget, OtlpHttpSettings,
};
use crate::otlp::Telemetry;

/// Decodes one.
pub(crate) fn decode(
    item: &Item<'_>,
    (name, telemetry): (String, Telemetry),
    lists: Lists,
    known: &Declarations,
) -> (Place, RelaySettings) {
    let check = Check {
        item,
        telemetry,
        word: telemetry.word(),
    };
    check.present(&lists);
    for id in &lists.processors {
        let declared = find(&known.processors, id);
        check.processor(id, declared.and_then(|found| found.settings.as_ref()));
    }
    for id in &lists.receivers {
        let declared = find(&known.receivers, id);
        if let Some(settings) = declared.and_then(|found| found.settings.as_ref()) {
            check.receiver(settings);
        }
    }
    for id in &lists.exporters {
        let declared = find(&known.exporters, id);
        if let Some(settings) = declared.and_then(|found| found.settings.as_ref()) {
            check.exporter(settings);
        }
    }
    let settings = RelaySettings {
        name,
        telemetry,
        receivers: lists.receivers,
        exporters: lists.exporters,
    };
    (item.node.place, settings)
}

/// A receiver's logs join their traces, or pass; and there is something to join.
pub(crate) fn check_beside(item: &Item<'_>, relays: &[(Place, RelaySettings)], traces: &[Wired]) {
    for (place, relay) in relays {
        let mut joined = traces.iter().flat_map(|wired| &wired.logs);
        let both = joined.find(|id| relay.receivers.contains(id));
        if let Some(both) = both.filter(|_| relay.telemetry == Telemetry::Logs) {
            let path = path_of(&path_of(&item.path, &relay.name), "receivers");
            let message = format!("the logs of `{both}` are kept with traces in another pipeline");
            let help = "name the same `tail_sampling` here, or use another receiver";
            item.decoder.error_help(*place, &path, &message, help);
        }
    }
    if traces.is_empty() && !relays.is_empty() {
        item.error_help(
            "no pipeline of traces",
            "this is for sampling traces: for what is only passed on a Collector is enough",
        );
    }
}

/// What is wrong is said of the pipeline in hand.
struct Check<'a> {
    item: &'a Item<'a>,
    telemetry: Telemetry,
    word: &'static str,
}

impl Check<'_> {
    fn error(&self, key: &str, message: &str, help: &str) {
        let path = path_of(&self.item.path, key);
        let place = self.item.node.place;
        self.item.decoder.error_help(place, &path, message, help);
    }

    fn present(&self, lists: &Lists) {
        for what in &lists.missing {
            let message = format!("missing: expected at least one of the {what}");
            let help = "a pipeline leads from a receiver to an exporter";
            self.error(what, &message, help);
        }
    }

    fn processor(&self, id: &str, settings: Option<&Processor>) {
        let word = self.word;
        if is_sampler(id) {
            let message = format!("`{id}` samples traces, and keeps logs with them; not {word}");
            return self.error("processors", &message, "leave it out");
        }
        match settings {
            Some(Processor::Step(_)) => {
                let message = format!("the processor `{id}` is not applied to {word} yet");
                self.error("processors", &message, "leave it out");
            }
            Some(Processor::Batch(_) | Processor::Limiter(_)) => {
                let path = path_of(&self.item.path, "processors");
                let message = format!(
                    "`{id}` has no effect: each request is passed on as it came, within a bounded memory"
                );
                let place = self.item.node.place;
                self.item.decoder.warning(place, &path, &message);
            }
            Some(Processor::Sampler(_)) | None => {}
        }
    }

    fn receiver(&self, settings: &ReceiverSettings) {
        let (id, word) = (&settings.id, self.word);
        if settings.kafka.is_some() {
            let message = format!("`{id}`: {word} of Kafka cannot be passed on yet");
            self.error("receivers", &message, "use an `otlp` receiver");
        }
        if !settings.redact.is_empty() {
            let message = format!("`{id}` redacts, but not what is passed on");
            self.error("receivers", &message, "use another receiver");
        }
    }

    fn exporter(&self, settings: &ExporterSettings) {
        let (id, word) = (&settings.id, self.word);
        let error = |message: String, help: &str| self.error("exporters", &message, help);
        if let ExporterKind::OtlpHttp(http) = &settings.kind
            && self.has_no_endpoint(http)
        {
            let help = format!("set `{word}_endpoint`, or `endpoint` for all");
            error(format!("`{id}` has only a `traces_endpoint`"), &help);
        }
        if self.telemetry != Telemetry::Metrics {
            return;
        }
        match &settings.kind {
            ExporterKind::OtlpGrpc(_) => {}
            ExporterKind::OtlpHttp(http) if http.encoding == HttpEncoding::Proto => {}
            ExporterKind::OtlpHttp(_) => error(
                format!("`{id}` writes JSON, and metrics are passed on in protobuf"),
                "use another exporter, with `encoding: proto`",
            ),
            _ => error(
                format!("`{id}` cannot take metrics yet"),
                "use `otlp` or `otlphttp`",
            ),
        }
        if !settings.redact.is_empty() {
            error(
                format!("`{id}` redacts, but not metrics"),
                "use another exporter",
            );
        }
    }

    fn has_no_endpoint(&self, http: &OtlpHttpSettings) -> bool {
        let own = match self.telemetry {
            Telemetry::Metrics => &http.metrics_endpoint,
            _ => &http.logs_endpoint,
        };
        matches!(http.target, HttpTarget::Traces(_)) && own.is_none()
    }
}
