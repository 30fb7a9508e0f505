//! Several files, `--set`, the environment: what wins, and where errors say they are.

use std::time::Duration;

use tailwater::config::settings::{Compat, MemoryTotal};
use tailwater::config::{Config, Source, load};
use tailwater::log::StoreKind;
use tailwater::rules::PolicyKind;

use super::{env, no_env};

const BASE: &str = "receivers: {otlp: {protocols: {grpc: }}}
processors: {tail_sampling: {decision_wait: 10s, policies: [{name: all, type: always_sample}]}}
exporters: {otlp: {endpoint: 'a:1'}}
service: {pipelines: {traces: {receivers: [otlp], processors: [tail_sampling], exporters: [otlp]}}}
";

fn sources(texts: &[&str]) -> Vec<Source> {
    texts
        .iter()
        .enumerate()
        .map(|(i, text)| Source::text(format!("{}.yaml", i + 1), *text))
        .collect()
}

fn overrides(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn good(texts: &[&str], set: &[&str]) -> Config {
    load(&sources(texts), &overrides(set), &env)
        .unwrap_or_else(|found| panic!("{found:#?}"))
        .config
}

fn bad(texts: &[&str], set: &[&str]) -> Vec<String> {
    let found = load(&sources(texts), &overrides(set), &no_env)
        .err()
        .unwrap_or_default();
    found
        .iter()
        .map(|found| {
            found
                .to_string()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}

fn wait(config: &Config) -> u64 {
    config.instances[0].sampler.decision_wait.as_secs()
}

#[test]
fn later_files_and_overrides_win() {
    let second = "processors: {tail_sampling: {decision_wait: 20s}}";
    assert_eq!(wait(&good(&[BASE], &[])), 10);
    assert_eq!(wait(&good(&[BASE, second], &[])), 20);
    assert_eq!(wait(&good(&[second, BASE], &[])), 10);
    assert_eq!(
        wait(&good(
            &[BASE, second],
            &["processors.tail_sampling.decision_wait=5s"]
        )),
        5
    );
    assert_eq!(
        wait(&good(
            &[BASE],
            &["processors::tail_sampling::decision_wait=7s"]
        )),
        7
    );
    let twice = [
        "processors.tail_sampling.decision_wait=5s",
        "processors.tail_sampling.decision_wait=6s",
    ];
    assert_eq!(wait(&good(&[BASE], &twice)), 6);
    assert_eq!(
        wait(&good(
            &[BASE],
            &["processors.tail_sampling.decision_wait=${env:NONE:-9s}"]
        )),
        9
    );
}

#[test]
fn an_override_may_be_a_list_and_may_need_its_type() {
    let policies = "processors.tail_sampling.policies=[{name: none, type: drop}]";
    assert_eq!(
        good(&[BASE], &[policies]).instances[0].sampler.policies[0].name,
        "none"
    );
    let number = "processors.tail_sampling.num_traces=100_000";
    assert_eq!(
        good(&[BASE], &[number]).instances[0].sampler.num_traces,
        Some(100_000)
    );
}

#[test]
fn errors_name_their_own_source() {
    let check =
        |texts: &[&str], set: &[&str], expected: &str| assert_eq!(bad(texts, set), [expected]);
    check(
        &[BASE, "\nprocessors: {tail_sampling: {decision_wait: soon}}"],
        &[],
        "2.yaml:2:45: error: processors.tail_sampling.decision_wait: expected a duration such as `30s`, `300ms` or \
         `1h30m`, found `soon`",
    );
    check(
        &[BASE],
        &["processors.tail_sampling.num_traces=many"],
        "--set processors.tail_sampling.num_traces:1:1: error: processors.tail_sampling.num_traces: expected an \
         integer, found the string `many`",
    );
    check(
        &[BASE],
        &["nonsense"],
        "--set: error: expected `key.path=value` or `key::path=value`",
    );
    check(
        &[BASE],
        &["a..b=1"],
        "--set: error: expected `key.path=value` or `key::path=value`",
    );
    check(
        &[BASE],
        &["bogus=1"],
        "--set bogus:1:1: error: bogus: unknown key",
    );
    check(
        &["a: [", BASE],
        &[],
        "1.yaml:1:4: error: not valid YAML: unclosed bracket '['",
    );
    check(&[], &[], "config:1:1: error: the config is empty");
}

#[test]
fn the_environment_sets_what_the_file_does_not() {
    let with = |buffer: &'static str, compat: &'static str| {
        move |name: &str| match name {
            "TAILWATER_BUFFER" => Some(buffer.to_owned()),
            "TAILWATER_COMPAT" => Some(compat.to_owned()),
            _ => None,
        }
    };
    let load_with =
        |text: &str, buffer, compat| load(&sources(&[text]), &[], &with(buffer, compat));
    let sampler = |text: &str, buffer, compat| {
        let loaded = load_with(text, buffer, compat).unwrap_or_else(|found| panic!("{found:#?}"));
        loaded.config.instances[0].sampler.clone()
    };
    assert_eq!(sampler(BASE, "memory", "").log.store, StoreKind::Memory);
    assert_eq!(
        sampler(BASE, "disk:/x", "").log.store,
        StoreKind::Disk("/x".into())
    );
    assert_eq!(
        sampler(BASE, "", "").log.store,
        StoreKind::Disk("/var/lib/tailwater".into())
    );
    let strict = sampler(BASE, "", "strict");
    assert_eq!(
        (strict.compat, strict.num_traces, strict.log.partitions),
        (Compat::Strict, Some(50_000), 1)
    );
    let lossless = sampler(BASE, "", "");
    assert_eq!(
        (
            lossless.compat,
            lossless.num_traces,
            lossless.log.partitions
        ),
        (Compat::Lossless, None, 16)
    );
    let own = BASE.replace(
        "decision_wait: 10s",
        "buffer: {disk: {directory: /own}}, compat: lossless",
    );
    let own = sampler(&own, "memory", "strict");
    assert_eq!(
        (own.log.store, own.compat),
        (StoreKind::Disk("/own".into()), Compat::Lossless)
    );
    for (buffer, compat) in [("tape", ""), ("disk:", ""), ("", "loose")] {
        let found = load_with(BASE, buffer, compat).unwrap_err();
        assert!(
            found[0]
                .to_string()
                .starts_with("environment variable TAILWATER_"),
            "{found:?}"
        );
    }
}

#[test]
fn memory_limiter_sets_the_total_unless_the_sampler_does() {
    let limiter = "processors: {memory_limiter: {check_interval: 1s, limit_mib: 512}}
service: {pipelines: {traces: {processors: [memory_limiter, tail_sampling]}}}";
    let total = |texts: &[&str], set: &[&str]| good(texts, set).instances[0].sampler.memory.total;
    assert_eq!(total(&[BASE], &[]), MemoryTotal::Percent(60.0));
    assert_eq!(total(&[BASE, limiter], &[]), MemoryTotal::Bytes(512 << 20));
    assert_eq!(
        total(
            &[BASE, limiter],
            &["processors.tail_sampling.memory.total=1GiB"]
        ),
        MemoryTotal::Bytes(1 << 30)
    );
}

#[test]
fn instances_share_what_one_of_them_sets() {
    let two = "processors: {tail_sampling/two: {buffer: {memory: {}}, decision_wait: 3s}}
service: {pipelines: {traces/two: {receivers: [otlp], processors: [tail_sampling/two], exporters: [otlp]}}}";
    let config = good(&[BASE, two], &[]);
    assert_eq!(config.instances.len(), 2);
    assert!(
        config
            .instances
            .iter()
            .all(|instance| instance.sampler.log.store == StoreKind::Memory)
    );
    assert_eq!(
        config.instances[1].sampler.decision_wait,
        Duration::from_secs(3)
    );
    assert_eq!(config.receivers.len(), 1);
}

#[test]
fn files_that_cannot_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let check = |name: &str, expected: &str| {
        let found = Source::read(name).unwrap_err().to_string();
        assert!(
            found.starts_with(&format!("{name}: error: {expected}")),
            "{found}"
        );
    };
    check("/no/such/file.yaml", "cannot be read: ");
    check(directory.path().to_str().unwrap(), "cannot be read: ");
    check(&file("latin1.yaml", b"a: \xe4"), "is not UTF-8");
    let large = Source::read(&file("large.yaml", &vec![b' '; (4 << 20) + 1])).unwrap();
    let found = load(&[large], &[], &no_env).unwrap_err();
    assert!(
        found[0]
            .to_string()
            .ends_with("large.yaml: error: the file is larger than 4 MiB"),
        "{}",
        found[0]
    );
    let good = Source::read(&format!(
        "file:{}",
        file("good.yaml", format!("\u{feff}{BASE}").as_bytes())
    ))
    .unwrap();
    assert!(load(&[good], &[], &no_env).is_ok());
}

#[test]
fn keyword_files() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("words"),
        "\u{feff}canary-one\r\n\n  \ncanary two \n",
    )
    .unwrap();
    std::fs::write(directory.path().join("empty"), "\n\n").unwrap();
    std::fs::write(directory.path().join("latin1"), b"\xe4").unwrap();
    std::fs::write(directory.path().join("large"), vec![b'x'; (16 << 20) + 1]).unwrap();
    let load_with = |file: &str| {
        let policy =
            format!("{{name: w, type: prompt_keyword, prompt_keyword: {{files: ['{file}']}}}}");
        let text = BASE.replace("{name: all, type: always_sample}", &policy);
        let source = Source {
            name: "c.yaml".into(),
            directory: directory.path().to_owned(),
            text,
        };
        load(&[source], &[], &no_env)
    };
    let config = load_with("words").unwrap().config;
    let PolicyKind::PromptKeyword { keywords, .. } = &config.instances[0].sampler.policies[0].kind
    else {
        panic!()
    };
    assert_eq!(keywords, &["canary two ", "canary-one"]);
    let check = |file: &str, expected: &str| {
        let found = load_with(file).unwrap_err()[0].to_string();
        assert!(
            found.contains(expected) && !found.contains("canary"),
            "{file}: {found}"
        );
    };
    check(
        "missing",
        "the keyword file cannot be opened: entity not found",
    );
    check(".", "the keyword file is not a regular file");
    check("/dev/zero", "the keyword file is not a regular file");
    check("empty", "the keyword file has no keyword");
    check("latin1", "the keyword file cannot be read: invalid data");
    check("large", "the keyword file is larger than 16 MiB");
}

#[test]
fn deep_and_wide_texts_are_refused_in_time() {
    for piece in [
        "[", "{a: ", "- ", "? ", "a:\n ", "&a [*a, ", "!x ", "| ", "'", "${A:-",
    ] {
        let text = piece.repeat(20_000);
        assert!(load(&sources(&[&text]), &[], &no_env).is_err(), "{piece}");
    }
}
