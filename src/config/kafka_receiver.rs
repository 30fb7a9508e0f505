//! The `kafka` receiver.

use super::component::ComponentId;
use super::fields::Fields;
use super::item::Item;
use super::kafka_client::{self, milliseconds};
use super::redact;
use super::settings::ReceiverSettings;
use crate::receivers::{InitialOffset, KafkaReceiverSettings, Strategy, Topics};

const STRATEGIES: [(&str, Strategy); 3] = [
    ("cooperative-sticky", Strategy::CooperativeSticky),
    ("range", Strategy::Range),
    ("roundrobin", Strategy::RoundRobin),
];
const BEHIND_THE_LOG: &str = "an offset is committed when the log has the record, never before";
const NO_END: &str = "a record that the log has no room for is tried again without end";

/// Decodes `kafka`.
pub(crate) fn decode(id: &ComponentId, item: &Item<'_>) -> Option<ReceiverSettings> {
    let mut fields = item.fields()?;
    let mut kafka = KafkaReceiverSettings::new();
    let connection = kafka_client::connection(&mut fields);
    let traces = topics(&mut fields, "traces", &kafka.traces);
    let logs = topics(&mut fields, "logs", &kafka.logs);
    kafka_client::other_signals(&mut fields, "only traces and logs are taken");
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    kafka.group_id = filled(fields.string("group_id")).unwrap_or(kafka.group_id);
    kafka.group_instance_id = filled(fields.string("group_instance_id"));
    kafka.rack_id = filled(fields.string("rack_id"));
    let offsets = [
        ("latest", InitialOffset::Latest),
        ("earliest", InitialOffset::Earliest),
    ];
    kafka.initial_offset = fields
        .one_of("initial_offset", &offsets)
        .unwrap_or(kafka.initial_offset);
    group(&mut fields, &mut kafka);
    let sizes = fetch(&mut fields, &mut kafka);
    let dead_letters = fields
        .get("dead_letter_topic")
        .map(|item| kafka_client::topic(&item));
    let redact = redact::decode(&mut fields);
    rest(&mut fields, &mut kafka);
    kafka.connection = connection?;
    (kafka.traces, kafka.logs) = apart(&fields, traces?, logs?)?;
    sizes?;
    kafka.dead_letter_topic = dead_letters.map_or(Some(None), |topic| topic.map(Some))?;
    let settings = ReceiverSettings {
        id: id.text.clone(),
        grpc: None,
        http: None,
        redact,
        kafka: Some(kafka),
    };
    kafka_client::is_built(item).then_some(settings)
}

/// A record is of one signal, and its topic says of which.
fn apart(fields: &Fields<'_>, traces: Topics, logs: Topics) -> Option<(Topics, Topics)> {
    let shared = logs
        .topics
        .iter()
        .find(|topic| traces.topics.contains(topic));
    if shared.is_some() {
        fields
            .item()
            .error("`traces.topics` and `logs.topics` have a topic in common");
    }
    shared.is_none().then_some((traces, logs))
}

/// A signal's block; `None` when it has errors.
fn topics(fields: &mut Fields<'_>, signal: &'static str, defaults: &Topics) -> Option<Topics> {
    let mut settings = defaults.clone();
    let Some(mut fields) = fields.fields(signal) else {
        return Some(settings);
    };
    settings.encoding = kafka_client::encoding(&mut fields).unwrap_or(settings.encoding);
    fields.not_yet(
        "exclude_topics",
        "name the topics, or say it in the expression",
    );
    let Some(item) = fields.get("topics") else {
        return Some(settings);
    };
    let list = item.list();
    let one = |item: &Item<'_>| {
        let text = item.string()?;
        match text.starts_with('^') {
            true if signal == "logs" => {
                item.error("expected a topic's name: expressions are for traces only");
                None
            }
            true => super::leaves::compiles(item, &text).then_some(text),
            false => kafka_client::topic(item),
        }
    };
    settings.topics = list.iter().filter_map(one).collect();
    if item.list_is_empty() {
        item.error("expected at least one topic");
    }
    let read = settings.topics.len();
    (read > 0 && read == list.len()).then_some(settings)
}

fn group(fields: &mut Fields<'_>, kafka: &mut KafkaReceiverSettings) {
    if let Some(time) = milliseconds(fields, "session_timeout") {
        kafka.session_timeout = time;
    }
    if let Some(time) = milliseconds(fields, "heartbeat_interval") {
        kafka.heartbeat_interval = time;
    }
    if kafka.heartbeat_interval * 3 > kafka.session_timeout {
        let advice = "`heartbeat_interval` should be at most a third of `session_timeout`: one lost heartbeat would end the membership";
        fields.item().warning(advice);
    }
    let one = fields.get("group_rebalance_strategy");
    let many = fields.get("group_rebalance_strategies");
    if let (Some(one), Some(_)) = (&one, &many) {
        one.error("`group_rebalance_strategy` and `group_rebalance_strategies` exclude each other");
    }
    let items = one.or(many).map(|item| item.list()).unwrap_or_default();
    let wanted: Vec<Strategy> = items
        .iter()
        .filter_map(|item| item.one_of(&STRATEGIES))
        .collect();
    let cooperative = wanted.contains(&Strategy::CooperativeSticky);
    if cooperative && wanted.len() > 1 {
        fields
            .item()
            .error("`cooperative-sticky` cannot be offered beside other strategies");
    }
    if !wanted.is_empty() {
        kafka.strategies = wanted;
    }
}

/// `None` when one of the sizes is wrong.
fn fetch(fields: &mut Fields<'_>, kafka: &mut KafkaReceiverSettings) -> Option<()> {
    let mut good = true;
    let mut size = |key, (min, max), into: &mut u32| {
        let Some(item) = fields.get(key) else { return };
        match item.u64_in(min, max).and_then(|n| u32::try_from(n).ok()) {
            Some(n) => *into = n,
            None => good = false,
        }
    };
    // librdkafka's own bounds.
    size(
        "min_fetch_size",
        (1, 100_000_000),
        &mut kafka.min_fetch_size,
    );
    size(
        "max_fetch_size",
        (1000, 1_000_000_000),
        &mut kafka.max_fetch_size,
    );
    size(
        "max_partition_fetch_size",
        (1000, 1_000_000_000),
        &mut kafka.max_partition_fetch_size,
    );
    if let Some(time) = milliseconds(fields, "max_fetch_wait") {
        // librdkafka's longest.
        kafka.max_fetch_wait = time.min(std::time::Duration::from_secs(300));
    }
    if kafka.min_fetch_size > kafka.max_fetch_size {
        fields
            .item()
            .error("`min_fetch_size` is above `max_fetch_size`");
        good = false;
    }
    good.then_some(())
}

fn rest(fields: &mut Fields<'_>, kafka: &mut KafkaReceiverSettings) {
    if let Some(mut autocommit) = fields.fields("autocommit") {
        if autocommit.boolean("enable") == Some(false) {
            autocommit
                .item()
                .error("offsets are always committed; leave it out");
        }
        if let Some(time) = milliseconds(&mut autocommit, "interval") {
            kafka.commit_interval = time;
        }
    }
    if let Some(mut headers) = fields.fields("header_extraction") {
        headers.accept(&["headers"]);
        if headers.boolean("extract_headers") == Some(true) {
            headers
                .item()
                .error("headers of records cannot be made attributes; leave it out");
        }
    }
    fields.no_effect("message_marking", BEHIND_THE_LOG);
    fields.no_effect("error_backoff", NO_END);
    fields.no_effect("partition_processing", "no partition holds up another");
    fields.no_effect(
        "use_leader_epoch",
        "librdkafka uses it where brokers have it",
    );
    fields.no_effect("telemetry", "the metrics are at `/metrics`");
}
