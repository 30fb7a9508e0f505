//! What a Collector's command line says beside files: configs as texts and variables, feature gates, metric spellings.

use tailwater::admin::Spelling;
use tailwater::config::settings::Gates;
use tailwater::config::{Config, Layers, Source, load_layers};

const BASE: &str = "receivers: {otlp: {protocols: {grpc: }}}
processors: {tail_sampling: {policies: [{name: all, type: always_sample}]}}
exporters: {otlp: {endpoint: 'a:1'}}
service: {pipelines: {traces: {receivers: [otlp], processors: [tail_sampling], exporters: [otlp]}}}
";

fn env(name: &str) -> Option<String> {
    (name == "WHOLE").then(|| BASE.to_owned())
}

fn load(places: &[&str], gates: &[&str]) -> Result<Config, String> {
    let sources: Vec<Source> = places
        .iter()
        .map(|place| Source::locate(place, &env))
        .collect::<Result<_, _>>()
        .map_err(|found| found.to_string())?;
    let gates: Vec<String> = gates.iter().map(|gate| (*gate).to_owned()).collect();
    let layers = Layers {
        sources: &sources,
        feature_gates: &gates,
        ..Layers::default()
    };
    match load_layers(layers, &env) {
        Ok(loaded) => Ok(loaded.config),
        Err(found) => Err(found.iter().map(ToString::to_string).collect()),
    }
}

#[test]
fn configs_stand_in_texts_and_variables() {
    let wait = |places: &[&str]| {
        let config = load(places, &[]).unwrap();
        config.instances[0].sampler.decision_wait.as_secs()
    };
    assert_eq!(wait(&["env:WHOLE"]), 30);
    let set = "yaml:processors::tail_sampling::decision_wait: 7s";
    assert_eq!(wait(&["env:WHOLE", set]), 7);
    assert_eq!(wait(&[&format!("yaml:{BASE}")]), 30);
    let check = |place: &str, expected: &str| {
        let found = load(&["env:WHOLE", place], &[]).unwrap_err();
        assert!(found.contains(expected), "{place}: {found}");
        assert!(!found.contains("canary"), "{found}");
    };
    check(
        "env:NOT_THERE",
        "env:NOT_THERE: error: the variable is not set",
    );
    check(
        "https://user:canary@host/c.yaml",
        "--config https: error: is not read from there",
    );
    check("yaml:procesors::x: 1", "did you mean `processors`?");
    check("nofile:there.yaml", "cannot be read");
}

#[test]
fn gates_are_checked_and_kept() {
    let gates = |flags: &[&str]| load(&["env:WHOLE"], flags).map(|config| config.gates);
    let record = "processor.tailsamplingprocessor.recordpolicy";
    assert_eq!(gates(&[]), Ok(Gates::default()));
    let on = Gates {
        record_policy: true,
        ..Gates::default()
    };
    assert_eq!(gates(&[record]), Ok(on));
    assert_eq!(
        gates(&[record, &format!("-{record}")]),
        Ok(Gates::default())
    );
    let found = gates(&["processor.tailsamplingprocessor.recordpolice"]).unwrap_err();
    assert!(
        found.contains(&format!("did you mean `{record}`?")),
        "{found}"
    );
}

#[test]
fn the_reader_says_how_metrics_are_spelled() {
    let check = |reader: &str, expected: Spelling| {
        let text = format!(
            "yaml:service::telemetry: {{metrics: {{readers: [{{pull: {{exporter: {{prometheus: {{{reader}}}}}}}}}]}}}}"
        );
        let telemetry = load(&["env:WHOLE", &text], &[]).unwrap().telemetry;
        assert_eq!(telemetry.metrics_spelling, expected, "{reader}");
        assert_eq!(
            telemetry.metrics_address.as_deref(),
            Some("h:1"),
            "{reader}"
        );
    };
    check("host: h, port: 1", Spelling::default());
    check("host: h, port: 1, without_units: true", Spelling::default());
    let units = Spelling {
        units: true,
        ..Spelling::default()
    };
    check("host: h, port: 1, without_units: false", units);
    let all = Spelling {
        type_suffix: true,
        scope: true,
        ..units
    };
    check(
        "host: h, port: 1, without_units: false, without_type_suffix: false, without_scope_info: false",
        all,
    );
}
