//! The topics of a log in Kafka: verified against a real broker, made right where it is asked for, and every wrong setting
//! told with a command that the broker takes.

use crate::broker::Broker;
use crate::support::ports;
use crate::support::wait::until_async;
use rdkafka::admin::{AdminOptions, AlterConfig, NewPartitions, ResourceSpecifier};
use std::collections::BTreeMap;
use std::time::Duration;
use tailwater::kafka::{KafkaLogSettings, TopicError, TopicFacts, TopicFinding, verify_topics};

const WAIT: Duration = Duration::from_secs(30);
const LATE: Duration = Duration::from_secs(600);

fn settings(broker: &Broker) -> KafkaLogSettings {
    let mut settings = KafkaLogSettings {
        partitions: 3,
        replication_factor: 1,
        dead_letter_topic: Some("tailwater.dead".to_owned()),
        ..KafkaLogSettings::new()
    };
    settings.connection.brokers = vec![broker.address()];
    settings
}

/// Until brokers agree: a broker takes a moment to know what the controller has taken.
async fn agreed(settings: &KafkaLogSettings) -> TopicFacts {
    let mut facts = None;
    until_async("the topics are as they must be", async || {
        facts = verify(settings).await.ok();
        facts.is_some()
    })
    .await;
    facts.unwrap()
}

async fn verify(settings: &KafkaLogSettings) -> Result<TopicFacts, TopicError> {
    let settings = settings.clone();
    let asked = tokio::task::spawn_blocking(move || verify_topics(&settings, WAIT, LATE));
    asked.await.unwrap()
}

fn wrong(answer: Result<TopicFacts, TopicError>) -> Vec<TopicFinding> {
    match answer {
        Err(TopicError::Wrong { findings, .. }) => findings,
        other => panic!("{other:?}"),
    }
}

/// What the commands of the findings do, as requests to the broker.
async fn cure(broker: &Broker, findings: &[TopicFinding]) {
    let (admin, options) = (broker.admin(), AdminOptions::new());
    let mut settings: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for finding in findings {
        let words: Vec<&str> = finding.cure.split(' ').collect();
        let after = |word: &str| {
            let at = words.iter().position(|other| *other == word)?;
            words.get(at + 1).copied()
        };
        if let Some(partitions) = after("--partitions") {
            let new = NewPartitions::new(after("--topic").unwrap(), partitions.parse().unwrap());
            let made = admin.create_partitions([&new], &options).await.unwrap();
            made[0].as_ref().unwrap();
        } else {
            let topic = settings.entry(after("--entity-name").unwrap());
            let setting = after("--add-config").unwrap();
            topic.or_default().extend(setting.split_once('='));
        }
    }
    // The request replaces all settings of a topic, where the script's changes one.
    for (topic, settings) in settings {
        let mut change = AlterConfig::new(ResourceSpecifier::Topic(topic));
        change.entries.extend(settings);
        let altered = admin.alter_configs([&change], &options).await.unwrap();
        altered[0].as_ref().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_are_made_as_they_must_be() {
    let broker = Broker::start().await;
    let mut settings = settings(&broker);
    let missing = match verify(&settings).await {
        Err(TopicError::Missing(missing)) => missing,
        other => panic!("{other:?}"),
    };
    let what: Vec<&str> = missing.iter().map(|finding| &*finding.what).collect();
    assert_eq!(
        what,
        ["tailwater.spans", "tailwater.decisions", "tailwater.dead"]
            .map(|name| format!("topic {name} does not exist"))
    );

    settings.replication_factor = 3;
    settings.create = true;
    let refused = wrong(verify(&settings).await);
    assert!(
        refused[0].cure.contains("replication_factor"),
        "{refused:?}"
    );

    settings.replication_factor = 1;
    // Daemons of one group start together.
    let (facts, other) = tokio::join!(agreed(&settings), agreed(&settings));
    assert_eq!(other, facts);
    assert_eq!(
        (facts.partitions, facts.retention, facts.risky),
        (3, Some(settings.retention), Vec::new())
    );
    assert!(facts.max_message_bytes >= Some(1_000_000));

    settings.create = false;
    agreed(&settings).await;
    settings.partitions = 4;
    let other = wrong(verify(&settings).await);
    assert!(other[0].cure.contains("partitions: 3"), "{other:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_wrong_setting_is_told_with_what_cures_it() {
    let broker = Broker::start().await;
    let set = [
        ("message.timestamp.type", "CreateTime"),
        ("cleanup.policy", "compact"),
        ("retention.ms", "60000"),
        ("max.message.bytes", "20000"),
        ("min.insync.replicas", "2"),
    ];
    broker.topic("tailwater.spans", 3, &set).await;
    broker.topic("tailwater.decisions", 2, &set).await;
    broker.topic("tailwater.dead", 1, &[]).await;
    let settings = settings(&broker);
    let findings = wrong(verify(&settings).await);
    // Five settings of each topic, and the partitions of the one beside the other's.
    assert_eq!(findings.len(), 11, "{findings:#?}");
    let told = TopicError::Wrong {
        findings: findings.clone(),
        max_message_bytes: None,
    }
    .to_string();
    assert_eq!(told.lines().count(), 12, "{told}");
    cure(&broker, &findings).await;
    assert_eq!(agreed(&settings).await.retention, Some(WAIT + LATE));
}

#[tokio::test(flavor = "multi_thread")]
async fn brokers_that_do_not_answer_are_no_wrong_topics() {
    let mut settings = KafkaLogSettings::new();
    settings.connection.brokers = vec![format!("127.0.0.1:{}", ports::free())];
    match verify(&settings).await {
        Err(TopicError::NotReady(reason)) => assert!(!reason.is_empty()),
        other => panic!("{other:?}"),
    }
}
