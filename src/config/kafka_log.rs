//! `buffer.kafka`: the log in Kafka.

use std::time::Duration;

use super::fields::Fields;
use super::item::Item;
use super::kafka_client;
use super::kafka_producer;
use crate::kafka::{GroupProtocol, KafkaLogSettings};

/// As brokers take a session, with room for those that are set up for shorter ones (their own bounds are 6 s and 30 min).
const SESSION: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_mins(30);

/// Decodes the block. `needed` is how long a trace's spans must be there: its longest wait and the late window.
pub(crate) fn decode(item: &Item<'_>, needed: Duration) -> Option<KafkaLogSettings> {
    let mut fields = item.fields()?;
    let mut log = KafkaLogSettings::new();
    let connection = kafka_client::connection(&mut fields);
    let topics = topics(&mut fields, &log);
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    log.group_id = filled(fields.string("group_id")).unwrap_or(log.group_id);
    log.transactional_id = filled(fields.string("transactional_id"));
    group(&mut fields, &mut log);
    let counts = counts(&mut fields, &mut log);
    log.create = fields.boolean("create").unwrap_or(false);
    let retention = retention(&mut fields, log.retention, log.create, needed);
    let producer = fields.get("producer");
    let producer = producer.map_or(Some(log.producer.clone()), |item| {
        kafka_producer::decode_for_log(&item)
    });
    drop(fields);
    let built = kafka_client::is_built(item);
    (log.topic, log.decisions_topic, log.dead_letter_topic) = topics?;
    log.connection = connection?;
    log.producer = producer?;
    log.retention = retention?;
    counts?;
    built.then_some(log)
}

/// The three names.
fn topics(
    fields: &mut Fields<'_>,
    defaults: &KafkaLogSettings,
) -> Option<(String, String, Option<String>)> {
    let mut name = |key| {
        fields
            .get(key)
            .map(|item| (kafka_client::topic(&item), item))
    };
    let spans = name("topic");
    let decisions = name("decisions_topic");
    let dead_letters = name("dead_letter_topic");
    let topic = match &spans {
        Some((topic, _)) => topic.clone()?,
        None => defaults.topic.clone(),
    };
    let decisions_topic = match &decisions {
        Some((topic, _)) => topic.clone()?,
        None => KafkaLogSettings::decisions_of(&topic),
    };
    let dead_letter_topic = match &dead_letters {
        Some((topic, _)) => Some(topic.clone()?),
        None => None,
    };
    let mut taken = vec![&topic];
    for (named, given) in [
        (Some(&decisions_topic), &decisions),
        (dead_letter_topic.as_ref(), &dead_letters),
    ] {
        let Some(named) = named else { continue };
        if taken.contains(&named) {
            let item = given.as_ref().map_or(fields.item(), |(_, item)| item);
            item.error("spans, decisions and dead letters need a topic each");
            return None;
        }
        taken.push(named);
    }
    Some((topic, decisions_topic, dead_letter_topic))
}

fn group(fields: &mut Fields<'_>, log: &mut KafkaLogSettings) {
    let protocols = [
        ("classic", GroupProtocol::Classic),
        ("consumer", GroupProtocol::Consumer),
    ];
    let protocol = fields.one_of("group_protocol", &protocols);
    log.group_protocol = protocol.unwrap_or_default();
    let Some(item) = fields.get("session_timeout") else {
        return;
    };
    if log.group_protocol == GroupProtocol::Consumer {
        let help = "leave it out, and set `group.consumer.session.timeout.ms` in the brokers";
        item.error_help(
            "brokers have the session of `group_protocol: consumer`",
            help,
        );
    }
    match item.duration() {
        Some(time) if SESSION.contains(&time) => log.session_timeout = time,
        Some(_) => item.error("expected a duration from `1s` to `30m`"),
        None => {}
    }
}

/// `None` when one of them is wrong.
fn counts(fields: &mut Fields<'_>, log: &mut KafkaLogSettings) -> Option<()> {
    let mut good = true;
    let mut count = |key, most, into: &mut u16| {
        let Some(item) = fields.get(key) else { return };
        match item.u64_in(1, most).and_then(|n| u16::try_from(n).ok()) {
            Some(n) => *into = n,
            None => good = false,
        }
    };
    count("partitions", 1024, &mut log.partitions);
    // Kafka has it in 16 bits, with a sign.
    count("replication_factor", 32_767, &mut log.replication_factor);
    good.then_some(())
}

/// That of a topic that is made.
fn retention(
    fields: &mut Fields<'_>,
    default: Duration,
    create: bool,
    needed: Duration,
) -> Option<Duration> {
    let item = fields.get("retention");
    let retention = match &item {
        Some(item) => item.duration()?,
        None => default,
    };
    let at = item.as_ref().unwrap_or(fields.item());
    if let Some(item) = item.as_ref().filter(|_| !create) {
        item.warning(
            "has no effect without `create: true`: the topics have a retention of their own",
        );
    } else if retention <= needed && create {
        at.error_help(
            format!("`retention` ({} s) must be longer than a trace's longest wait and the late window together ({} s)",
                retention.as_secs(), needed.as_secs()),
            "spans must be there when their trace is decided, and for as long as late ones follow",
        );
        return None;
    }
    Some(retention)
}
