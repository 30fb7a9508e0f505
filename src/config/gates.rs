//! The Collector's feature gates: which there are, and what each does here.
//!
//! Stages are the Collector's: what is stable cannot be switched off, what is gone is refused. A gate that it knows and
//! that has no meaning here is taken with a warning, so that a command line can be moved over as it is.

use super::decoder::Decoder;
use super::diagnostic::{Diagnostic, Severity};
use super::nearest::nearest;
use super::settings::Gates;

/// How settled a gate is in the Collector (v0.161.0, v0.165.0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Off unless it is asked for.
    Alpha,
    /// On unless it is asked off.
    Beta,
    /// On.
    Stable,
}

enum Does {
    /// One of [`Gates`].
    Switches(fn(&mut Gates) -> &mut bool),
    /// Nothing here, and why.
    Nothing(&'static str),
    /// The Collector refuses it by now; so do we.
    Gone(&'static str),
}

struct Gate {
    id: &'static str,
    stage: Stage,
    does: Does,
}

const fn gate(id: &'static str, stage: Stage, does: Does) -> Gate {
    Gate { id, stage, does }
}

use Does::{Gone, Nothing, Switches};
use Stage::{Alpha, Beta, Stable};

const OTHER_TELEMETRY: &str = "this process measures itself in its own way";
const OTHER_PARTS: &str = "it is about a component that is not here";
const OTHER_INSIDE: &str = "it is about how the Collector works inside";

/// Those of `tail_sampling` first, with what they do here.
const GATES: &[Gate] = &[
    gate(
        "processor.tailsamplingprocessor.metricstatcountspanssampled",
        Alpha,
        Switches(|gates| &mut gates.count_spans_sampled),
    ),
    gate(
        "processor.tailsamplingprocessor.metricstatcountbytessampled",
        Alpha,
        Switches(|gates| &mut gates.count_bytes_sampled),
    ),
    gate(
        "processor.tailsamplingprocessor.recordpolicy",
        Alpha,
        Switches(|gates| &mut gates.record_policy),
    ),
    gate(
        "processor.tailsamplingprocessor.tailstorageextension",
        Alpha,
        Switches(|gates| &mut gates.tail_storage),
    ),
    gate(
        "processor.tailsamplingprocessor.usetracestate",
        Alpha,
        Switches(|gates| &mut gates.use_trace_state),
    ),
    gate(
        "processor.tailsamplingprocessor.disableinvertdecisions",
        Stable,
        Gone("`invert_match` is a plain negation in every supported version; leave the gate out"),
    ),
    // The rest of what `otelcol featuregate` lists.
    gate(
        "confmap.enableMergeAppendOption",
        Alpha,
        Nothing("a list of a later file replaces the one before"),
    ),
    gate(
        "filter.filterlog.useOTTLBridge",
        Alpha,
        Nothing(OTHER_PARTS),
    ),
    gate(
        "filter.filtermetric.useOTTLBridge",
        Alpha,
        Nothing(OTHER_PARTS),
    ),
    gate(
        "filter.filterspan.useOTTLBridge",
        Alpha,
        Nothing(OTHER_INSIDE),
    ),
    gate("ottl.PanicDuplicateName", Stable, Nothing(OTHER_INSIDE)),
    gate(
        "ottl.contexts.enableOTelColContext",
        Stable,
        Nothing("conditions are about spans alone"),
    ),
    gate(
        "ottl.functions.enableLambda",
        Alpha,
        Nothing("functions take no lambda"),
    ),
    gate("ottl.set.allowNil", Beta, Nothing("conditions set nothing")),
    gate("pdata.useProtoPooling", Alpha, Nothing(OTHER_INSIDE)),
    gate(
        "pkg.confighttp.PrioritizeNewKeepalive",
        Stable,
        Nothing(OTHER_INSIDE),
    ),
    gate(
        "pkg.configmiddleware.CustomTCPRouting",
        Alpha,
        Nothing(OTHER_INSIDE),
    ),
    gate(
        "pkg.exporterhelper.queueBatchEnabled",
        Alpha,
        Nothing("exporters batch anyway"),
    ),
    gate(
        "processor.filter.defaultErrorModeIgnore",
        Stable,
        Nothing("it is so anyway"),
    ),
    gate(
        "receiverhelper.newReceiverMetrics",
        Alpha,
        Nothing(OTHER_TELEMETRY),
    ),
    gate(
        "service.AllowNoPipelines",
        Alpha,
        Nothing("without a pipeline there is nothing to do"),
    ),
    gate(
        "service.partialReload",
        Alpha,
        Nothing("a changed config needs a restart"),
    ),
    gate(
        "service.partialReloadReceivers",
        Beta,
        Nothing("a changed config needs a restart"),
    ),
    gate(
        "service.profilesSupport",
        Alpha,
        Nothing("there are no profiles here"),
    ),
    gate(
        "telemetry.newPipelineTelemetry",
        Alpha,
        Nothing(OTHER_TELEMETRY),
    ),
];

/// Reads the values of `--feature-gates`, each `+a,-b,c`; later ones win. What is wrong with them goes to `decoder`.
pub(crate) fn parse(decoder: &Decoder<'_>, flags: &[String]) -> Gates {
    let mut gates = Gates::default();
    for word in flags
        .iter()
        .flat_map(|flag| flag.split(','))
        .filter(|word| !word.is_empty())
    {
        let (id, on) = match word.strip_prefix('-') {
            Some(id) => (id, false),
            None => (word.strip_prefix('+').unwrap_or(word), true),
        };
        match GATES.iter().find(|gate| gate.id == id) {
            Some(gate) => switch(decoder, gate, on, &mut gates),
            None => unknown(decoder, id),
        }
    }
    gates
}

fn switch(decoder: &Decoder<'_>, gate: &Gate, on: bool, gates: &mut Gates) {
    let id = gate.id;
    match (&gate.does, gate.stage, on) {
        (Gone(why), ..) => report(
            decoder,
            Severity::Error,
            format!("the gate `{id}` is gone from the Collector"),
            Some((*why).to_owned()),
        ),
        (_, Stable, false) => report(
            decoder,
            Severity::Error,
            format!("the gate `{id}` is stable and cannot be switched off"),
            None,
        ),
        (Switches(which), ..) => *which(gates) = on,
        // What is as it would be anyway needs no word.
        (Nothing(_), Beta | Stable, true) | (Nothing(_), Alpha, false) => {}
        (Nothing(why), ..) => report(
            decoder,
            Severity::Warning,
            format!("the gate `{id}` has no effect: {why}"),
            None,
        ),
    }
}

fn unknown(decoder: &Decoder<'_>, id: &str) {
    let ids = GATES.iter().map(|gate| gate.id);
    // Without the long common beginning a slip stands out.
    let last = |id: &'static str| id.rsplit_once('.').map_or(id, |(_, last)| last);
    let typed = id.rsplit_once('.').map_or(id, |(_, last)| last);
    let likely = nearest(typed, ids.clone().map(last))
        .and_then(|name| ids.clone().find(|id| last(id) == name))
        .or_else(|| nearest(id, ids));
    report(
        decoder,
        Severity::Error,
        format!("unknown feature gate `{id}`"),
        likely.map(|id| format!("did you mean `{id}`?")),
    );
}

fn report(decoder: &Decoder<'_>, severity: Severity, message: String, help: Option<String>) {
    decoder.push(Diagnostic {
        severity,
        file: "--feature-gates".to_owned(),
        line: 0,
        column: 0,
        key: String::new(),
        message,
        help,
        source: None,
    });
}

#[cfg(test)]
mod tests {
    use super::super::sources::Sources;
    use super::*;

    const PREFIX: &str = "processor.tailsamplingprocessor.";

    fn read(flags: &[&str]) -> (Gates, Vec<String>) {
        let sources = Sources::default();
        let decoder = Decoder::new(&sources);
        let flags: Vec<String> = flags.iter().map(|flag| flag.replace('~', PREFIX)).collect();
        let gates = parse(&decoder, &flags);
        (
            gates,
            decoder.finish().iter().map(ToString::to_string).collect(),
        )
    }

    #[test]
    fn switches() {
        let check = |flags: &[&str], expected: Gates| {
            let (gates, found) = read(flags);
            assert_eq!((gates, found), (expected, Vec::new()), "{flags:?}");
        };
        let none = Gates::default();
        let record = Gates {
            record_policy: true,
            ..none
        };
        let both = Gates {
            use_trace_state: true,
            ..record
        };
        check(&[], none);
        check(&[""], none);
        check(&["~recordpolicy"], record);
        check(&["+~recordpolicy"], record);
        check(&["-~recordpolicy"], none);
        check(&["~recordpolicy,+~usetracestate"], both);
        check(&["~recordpolicy", "~usetracestate"], both);
        check(&["~recordpolicy,~usetracestate", "-~usetracestate"], record);
        check(&["ottl.set.allowNil,-pdata.useProtoPooling"], none);
        let counts = Gates {
            count_spans_sampled: true,
            count_bytes_sampled: true,
            tail_storage: true,
            ..none
        };
        check(
            &["~metricstatcountspanssampled,~metricstatcountbytessampled,~tailstorageextension"],
            counts,
        );
    }

    #[test]
    fn says_what_is_wrong() {
        let check = |flag: &str, parts: &[&str]| {
            let (_, found) = read(&[flag]);
            assert_eq!(found.len(), 1, "{flag}: {found:?}");
            for part in parts {
                assert!(found[0].contains(part), "{flag}: {found:?}");
            }
        };
        check(
            "~disableinvertdecisions",
            &["error", "gone", "leave the gate out"],
        );
        check("-~disableinvertdecisions", &["error", "gone"]);
        check(
            "~recordpolcy",
            &[
                "error",
                "unknown",
                "did you mean `processor.tailsamplingprocessor.recordpolicy`?",
            ],
        );
        check(
            "recordpolicy",
            &["did you mean `processor.tailsamplingprocessor.recordpolicy`?"],
        );
        check(
            "nothing.like.it",
            &["error", "unknown feature gate `nothing.like.it`"],
        );
        check("telemetry.newPipelineTelemetry", &["warning", "no effect"]);
        check("-ottl.set.allowNil", &["warning", "no effect"]);
        check(
            "-ottl.PanicDuplicateName",
            &["error", "cannot be switched off"],
        );
        check(" ~recordpolicy", &["unknown", "did you mean"]);
    }

    #[test]
    fn each_is_there_once() {
        let mut ids: Vec<&str> = GATES.iter().map(|gate| gate.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), GATES.len());
    }
}
