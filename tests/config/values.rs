//! What ends up in the settings.

use std::path::Path;
use std::time::Duration;

use tailwater::config::settings::{LogFormat, LogLevel, MemoryTotal};
use tailwater::config::{Config, Source, load};
use tailwater::exporters::{Compression, ExporterKind, HttpTarget};
use tailwater::kafka::{Acks, Codec, GroupProtocol, KafkaLogSettings};
use tailwater::log::{Durability, OnFull, StoreKind};
use tailwater::rules::{PercentileOf, PolicyKind, StatusCode};

use super::env;

fn sample(name: &str) -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/config/good")
        .join(name);
    let source = Source::read(path.to_str().unwrap()).unwrap();
    load(&[source], &[], &env)
        .unwrap_or_else(|found| panic!("{found:#?}"))
        .config
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn collector_user() {
    let config = sample("collector-user.yaml");
    let receiver = &config.receivers[0];
    let (grpc, http) = (
        receiver.grpc.as_ref().unwrap(),
        receiver.http.as_ref().unwrap(),
    );
    assert_eq!(
        (grpc.endpoint.as_str(), grpc.max_recv_msg_size),
        ("0.0.0.0:4317", 64 << 20)
    );
    assert_eq!(grpc.keepalive.max_connection_age, Some(300 * SECOND));
    let cors = http.cors.as_ref().unwrap();
    assert_eq!((cors.allowed_origins.len(), cors.max_age), (1, Some(7200)));
    let pipeline = &config.instances[0];
    let batch = pipeline.batch.unwrap();
    assert_eq!(
        (
            batch.send_batch_size,
            batch.send_batch_max_size,
            batch.timeout
        ),
        (1024, 2048, 5 * SECOND)
    );
    assert_eq!(pipeline.exporters, ["otlp", "debug"]);
    let sampler = &pipeline.sampler;
    assert_eq!(
        (sampler.decision_wait, sampler.num_traces),
        (10 * SECOND, Some(100_000))
    );
    assert_eq!(
        (sampler.sampled_cache_size, sampler.non_sampled_cache_size),
        (100_000, 100_000)
    );
    assert_eq!(sampler.memory.total, MemoryTotal::Percent(80.0));
    let otlp = &config.exporters[0];
    assert_eq!(
        (otlp.retry.initial_interval, otlp.retry.max_elapsed_time),
        (SECOND, None)
    );
    assert_eq!((otlp.queue.num_consumers, otlp.timeout), (4, 5 * SECOND));
    let ExporterKind::OtlpGrpc(grpc) = &otlp.kind else {
        panic!("{otlp:?}")
    };
    assert!(grpc.tls.insecure && grpc.tls.min_version.is_none());
    assert_eq!(config.health.as_deref(), Some("0.0.0.0:13133"));
    let telemetry = &config.telemetry;
    assert_eq!(
        (telemetry.log_level, telemetry.log_format),
        (LogLevel::Info, LogFormat::Json)
    );
    assert_eq!(telemetry.metrics_address.as_deref(), Some("0.0.0.0:8888"));
}

#[test]
fn llm_gateway() {
    let config = sample("llm-gateway.yaml");
    let sampler = &config.instances[0].sampler;
    assert_eq!(
        sampler.log.store,
        StoreKind::Disk("/var/lib/tailwater".into())
    );
    assert_eq!(
        (sampler.log.max_size, sampler.log.durability),
        (20 << 30, Durability::Os)
    );
    assert_eq!(sampler.log.retention, Some(7200 * SECOND));
    assert_eq!(
        (sampler.memory.per_service_default, sampler.memory.on_full),
        (64 << 20, OnFull::Spill)
    );
    assert_eq!(
        sampler.memory.per_service,
        [("embedding".to_owned(), 512 << 20)]
    );
    let by = vec!["service.name".to_owned(), "gen_ai.request.model".to_owned()];
    let (percentile, floor_ms, warmup_ms, min_count) = (99.0, 500, 5000, 1000);
    let of = PercentileOf::Trace;
    let expected = PolicyKind::LatencyPercentile {
        percentile,
        by,
        floor_ms,
        warmup_ms,
        min_count,
        of,
        by_tokens: None,
    };
    assert_eq!(sampler.policies[0].kind, expected);
    let PolicyKind::PromptKeyword { keywords, .. } = &sampler.policies[2].kind else {
        panic!()
    };
    let expected = [
        "canary from a file",
        "canary ignore previous instructions",
        "canary second",
        "canary 请解释",
    ];
    assert_eq!(keywords, &expected);
    let ExporterKind::OtlpHttp(http) = &config.exporters[0].kind else {
        panic!()
    };
    assert_eq!(
        http.target,
        HttpTarget::Base("https://backend.example".to_owned())
    );
    assert_eq!(http.compression, Compression::Zstd);
    assert_eq!(http.headers[0].1.reveal(), "Bearer canary-token");
    assert!(
        !format!("{config:?}").contains("canary"),
        "a secret shows in Debug"
    );
}

#[test]
fn variables() {
    let config = sample("env.yaml");
    assert_eq!(
        config.receivers[0].grpc.as_ref().unwrap().endpoint,
        "0.0.0.0:4317"
    );
    let sampler = &config.instances[0].sampler;
    assert_eq!(
        (sampler.num_traces, sampler.decision_wait),
        (Some(4317), 15 * SECOND)
    );
    assert_eq!(sampler.policies[0].kind, PolicyKind::AlwaysSample);
    let ExporterKind::OtlpGrpc(grpc) = &config.exporters[0].kind else {
        panic!()
    };
    assert_eq!(grpc.endpoint, "collector.example:4317");
    let headers: Vec<&str> = grpc
        .headers
        .iter()
        .map(|(_, value)| value.reveal())
        .collect();
    assert_eq!(
        headers,
        ["5$", "4317"],
        "a whole-value variable stays a text where one is wanted"
    );
    assert_eq!(config.telemetry.log_level, LogLevel::Warn);
}

#[test]
fn policies() {
    let config = sample("policies.yaml");
    let policies = &config.instances[0].sampler.policies;
    let kind = |name: &str| {
        policies
            .iter()
            .find(|policy| policy.name == name)
            .unwrap()
            .kind
            .clone()
    };
    let latency = |threshold_ms, upper_threshold_ms| PolicyKind::Latency {
        threshold_ms,
        upper_threshold_ms,
    };
    assert_eq!(kind("latency-default"), latency(0, 0));
    assert_eq!(kind("window"), latency(-10, 5));
    assert_eq!(kind("cut"), latency(0, 0));
    assert_eq!(
        kind("one-code"),
        PolicyKind::StatusCode {
            codes: vec![StatusCode::Error]
        }
    );
    assert_eq!(
        kind("codes"),
        PolicyKind::StatusCode {
            codes: vec![StatusCode::Unset, StatusCode::Ok]
        }
    );
    let string = |values: &[&str], regex, invert_match| PolicyKind::StringAttribute {
        key: "k".to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        enabled_regex_matching: regex,
        cache_max_size: 128,
        invert_match,
    };
    assert_eq!(kind("exact"), string(&["a", "("], false, false));
    assert_eq!(kind("regex"), string(&["^a+", ""], true, true));
    let range = |min_value, max_value, invert_match| PolicyKind::NumericAttribute {
        key: "k".to_owned(),
        min_value,
        max_value,
        invert_match,
    };
    assert_eq!(kind("range"), range(16, 100_000, false));
    assert_eq!(kind("at-most"), range(i64::MIN, 10, true));
    let coin = |sampling_percentage, salt: &str| PolicyKind::Probabilistic {
        sampling_percentage,
        hash_salt: salt.to_owned(),
    };
    assert_eq!(kind("coin"), coin(f64::INFINITY, "canary-salt"));
    assert_eq!(kind("no-coin"), coin(0.0, "default-hash-seed"));
    assert_eq!(
        kind("spans"),
        PolicyKind::SpanCount {
            min_spans: 2,
            max_spans: 10
        }
    );
    assert_eq!(kind("empty-and"), PolicyKind::And(Vec::new()));
    let PolicyKind::And(children) = kind("and") else {
        panic!()
    };
    assert_eq!((children.len(), children[0].name.as_str()), (2, ""));
    assert!(matches!(&children[1].kind, PolicyKind::Not(child) if child.kind == latency(5, 0)));
    assert!(matches!(kind("drop"), PolicyKind::Drop(children) if children.len() == 1));
}

#[test]
fn long_traces() {
    let config = sample("long-traces.yaml");
    let found = config.instances.iter().map(|pipeline| {
        let sampler = &pipeline.sampler;
        let seconds = |wait: Option<Duration>| wait.map(|wait| wait.as_secs());
        (
            seconds(sampler.idle_wait),
            seconds(sampler.decision_wait_after_root_received),
            seconds(sampler.max_age),
            sampler.early_keep,
        )
    });
    let expected = [
        (Some(60), Some(6), Some(600), true),
        (Some(90), None, Some(3600), false),
        (Some(60), Some(6), Some(600), false),
        (Some(1500), None, Some(1500), true),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn the_log_in_kafka() {
    let kafka = |name: &str| {
        let log = sample(name).instances[0].sampler.log.clone();
        let StoreKind::Kafka(kafka) = log.store else {
            panic!("{log:?}")
        };
        assert_eq!(log.partitions, kafka.partitions);
        *kafka
    };
    let defaults = KafkaLogSettings::new();
    assert_eq!(kafka("kafka-log-existing.yaml").topic, "tailwater.spans");
    assert_eq!(defaults.decisions_topic, "tailwater.decisions");
    assert_eq!((defaults.partitions, defaults.replication_factor), (12, 3));
    let set = kafka("kafka-log.yaml");
    assert_eq!(
        (
            &*set.topic,
            &*set.decisions_topic,
            set.dead_letter_topic.as_deref()
        ),
        ("tail.spans", "tail.verdicts", Some("tail.dead"))
    );
    assert_eq!((set.partitions, set.replication_factor), (24, 2));
    assert_eq!(
        (set.session_timeout, set.retention),
        (20 * SECOND, 3600 * SECOND)
    );
    assert_eq!(set.producer.compression, Codec::Zstd);
    assert_eq!(set.producer.required_acks, Acks::All);
    assert_eq!(set.transactional_id_on("host"), "tail-0");
    assert_eq!(set.group_protocol, GroupProtocol::Classic);
}
