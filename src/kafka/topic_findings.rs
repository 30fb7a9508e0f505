//! What is wrong with topics, each with the command that puts it right. Pure: what brokers say in, findings out.

use super::topic_plan::TopicPlan;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A topic as brokers describe it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Described {
    pub(crate) partitions: usize,
    /// Of its first partition.
    pub(crate) replicas: usize,
    pub(crate) settings: BTreeMap<String, String>,
}

impl Described {
    fn setting(&self, key: &str) -> Option<&str> {
        self.settings.get(key).map(String::as_str)
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.setting(key)?.parse().ok()
    }

    /// `None`: for ever (-1), or a broker that does not say.
    pub(crate) fn retention(&self) -> Option<Duration> {
        self.number("retention.ms").map(Duration::from_millis)
    }

    pub(crate) fn max_message_bytes(&self) -> Option<u64> {
        self.number("max.message.bytes")
    }
}

/// What brokers say of the topics; a missing one is `None`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cluster {
    pub(crate) spans: Option<Described>,
    pub(crate) decisions: Option<Described>,
    /// Whether the dead letters' topic is there; also when none is set.
    pub(crate) dead_letters: bool,
}

/// Something that is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicFinding {
    /// Which topic, which setting, and why it must be another.
    pub what: String,
    /// A command, or what to write into the config.
    pub cure: String,
}

impl fmt::Display for TopicFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.cure)
    }
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Topics that are not there.
    pub(crate) missing: Vec<TopicFinding>,
    /// The log cannot work with these.
    pub(crate) wrong: Vec<TopicFinding>,
    /// It can, and something may be lost when brokers are.
    pub(crate) risky: Vec<TopicFinding>,
}

/// Compares what there is with what there must be.
pub(crate) fn compare(plan: &TopicPlan, cluster: &Cluster) -> Findings {
    let mut findings = Findings::default();
    let mut missing = Vec::new();
    let topics = [
        (&plan.spans, &cluster.spans),
        (&plan.decisions, &cluster.decisions),
    ];
    for (name, topic) in topics {
        match topic {
            Some(topic) => one(plan, name, topic, &mut findings),
            None => missing.push(name),
        }
    }
    if !cluster.dead_letters {
        missing.extend(&plan.dead_letters);
    }
    let missing = missing.into_iter().map(|name| TopicFinding {
        what: format!("topic {name} does not exist"),
        cure: plan.creating(name),
    });
    findings.missing.extend(missing);
    if let (Some(spans), Some(decisions)) = (&cluster.spans, &cluster.decisions) {
        pair(plan, spans, decisions, &mut findings.wrong);
    }
    findings
}

/// What each of the two must be.
fn one(plan: &TopicPlan, name: &str, topic: &Described, findings: &mut Findings) {
    let mut check = |holds: bool, key: &str, why: &str, value: &str| {
        if !holds {
            let found = topic.setting(key).unwrap_or("nothing");
            findings.wrong.push(TopicFinding {
                what: format!("topic {name} has {key}={found}: {why}"),
                cure: plan.setting(name, key, value),
            });
        }
    };
    check(
        topic.setting("message.timestamp.type") == Some("LogAppendTime"),
        "message.timestamp.type",
        "time is that of the brokers, not of senders",
        "LogAppendTime",
    );
    let policy = topic.setting("cleanup.policy").unwrap_or_default();
    check(
        !policy.contains("compact"),
        "cleanup.policy",
        "compaction takes records of traces that are undecided",
        "delete",
    );
    let least = u64::from(plan.max_message_bytes);
    check(
        topic.max_message_bytes().is_none_or(|most| most >= least),
        "max.message.bytes",
        &format!("records are up to {least} bytes"),
        &plan.wanted(name, "max.message.bytes"),
    );
    let in_sync = topic.number("min.insync.replicas").unwrap_or(1);
    let replicas = topic.replicas as u64;
    check(
        in_sync <= replicas,
        "min.insync.replicas",
        &format!("the topic has {replicas} replicas, so that nothing can be written"),
        &replicas.saturating_sub(1).max(1).to_string(),
    );
    risks(plan, name, topic, &mut findings.risky);
}

/// What loses acknowledged spans when brokers die.
fn risks(plan: &TopicPlan, name: &str, topic: &Described, risky: &mut Vec<TopicFinding>) {
    let mut risk = |holds: bool, what: &str, key: &str, value: &str| {
        if holds {
            risky.push(TopicFinding {
                what: format!("topic {name} {what}"),
                cure: plan.setting(name, key, value),
            });
        }
    };
    risk(
        topic.replicas > 1 && topic.number("min.insync.replicas") == Some(1),
        "has min.insync.replicas=1: what one broker has alone is acknowledged, and lost with it",
        "min.insync.replicas",
        "2",
    );
    risk(
        topic.setting("unclean.leader.election.enable") == Some("true"),
        "takes leaders that lack acknowledged records",
        "unclean.leader.election.enable",
        "false",
    );
    risk(
        topic.number("retention.bytes").is_some(),
        "is cut by size (retention.bytes): a burst shortens the time that spans are kept",
        "retention.bytes",
        "-1",
    );
    if topic.replicas < usize::from(plan.replicas) {
        risky.push(TopicFinding {
            what: format!(
                "topic {name} has {} replicas, `replication_factor` is {}",
                topic.replicas, plan.replicas
            ),
            cure: format!(
                "kafka-reassign-partitions.sh --bootstrap-server {} --execute --reassignment-json-file FILE",
                plan.brokers
            ),
        });
    }
}

/// What holds between the two: partitions and retention.
fn pair(plan: &TopicPlan, spans: &Described, decisions: &Described, wrong: &mut Vec<TopicFinding>) {
    partitions(plan, spans.partitions, decisions.partitions, wrong);
    let mut retention =
        |name: &str, kept: Option<Duration>, needed: Option<Duration>, why: &str| {
            let short = match (kept, needed) {
                (Some(kept), Some(needed)) => kept < needed,
                (Some(_), None) => true,
                (None, _) => false,
            };
            if short {
                let kept = kept.unwrap_or_default().as_secs();
                let needed = needed.map_or("-1".to_owned(), |time| time.as_millis().to_string());
                wrong.push(TopicFinding {
                    what: format!("topic {name} keeps records for {kept} s: {why}"),
                    cure: plan.setting(name, "retention.ms", &needed),
                });
            }
        };
    let needed = plan.spans_needed();
    let why = format!(
        "a trace waits for up to {} s, its late spans for {} s",
        plan.longest_wait.as_secs(),
        plan.late_window.as_secs()
    );
    retention(&plan.spans, spans.retention(), Some(needed), &why);
    // Of spans as they will be when their own retention is put right.
    let kept = spans.retention().map(|kept| kept.max(needed));
    retention(
        &plan.decisions,
        decisions.retention(),
        plan.decisions_needed(kept),
        "decisions must outlive the spans that they name and the late window",
    );
}

fn partitions(plan: &TopicPlan, spans: usize, decisions: usize, wrong: &mut Vec<TopicFinding>) {
    let wanted = usize::from(plan.partitions);
    if spans != wanted {
        wrong.push(TopicFinding {
            what: format!(
                "topic {} has {spans} partitions, `partitions` is {wanted}: traces lie elsewhere",
                plan.spans
            ),
            cure: format!("set `buffer.kafka.partitions: {spans}` in all daemons"),
        });
    }
    if decisions == spans {
        return;
    }
    let (name, more, first) = if decisions < spans {
        (&plan.decisions, spans, "")
    } else {
        let first = "stop the senders until no trace is undecided (keys move), then ";
        (&plan.spans, decisions, first)
    };
    wrong.push(TopicFinding {
        what: format!(
            "topic {} has {spans} partitions, {} has {decisions}: they must be as many",
            plan.spans, plan.decisions
        ),
        cure: format!(
            "{first}kafka-topics.sh --bootstrap-server {} --alter --topic {name} --partitions {more}",
            plan.brokers
        ),
    });
}

#[cfg(test)]
mod tests {
    use super::super::log_settings::KafkaLogSettings;
    use super::*;

    fn plan() -> TopicPlan {
        let (wait, late) = (Duration::from_secs(30), Duration::from_secs(600));
        TopicPlan::of(&KafkaLogSettings::new(), wait, late)
    }

    /// A topic as the plan makes it.
    fn made(plan: &TopicPlan, name: &str) -> Described {
        let settings = plan.settings(name).into_iter();
        Described {
            partitions: usize::from(plan.partitions),
            replicas: usize::from(plan.replicas),
            settings: settings
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        }
    }

    fn cluster(plan: &TopicPlan) -> Cluster {
        Cluster {
            spans: Some(made(plan, &plan.spans)),
            decisions: Some(made(plan, &plan.decisions)),
            dead_letters: true,
        }
    }

    #[test]
    fn what_is_made_is_as_it_must_be() {
        let check = |replicas, retention, max_message_bytes| {
            let plan = TopicPlan {
                replicas,
                retention: Duration::from_secs(retention),
                max_message_bytes,
                ..plan()
            };
            let found = compare(&plan, &cluster(&plan));
            assert_eq!(found, Findings::default(), "{plan:?}");
        };
        check(3, 7200, 1_000_000);
        check(1, 631, 1000);
        check(5, 86_400, 1_000_000_000);
    }

    /// Changes the settings of good topics, and expects what is said and the end of its cure.
    fn check(change: impl Fn(&mut Described, &mut Described), expected: &[(&str, &str)]) {
        let plan = plan();
        let mut cluster = cluster(&plan);
        let (spans, decisions) = (&mut cluster.spans, &mut cluster.decisions);
        change(spans.as_mut().unwrap(), decisions.as_mut().unwrap());
        let findings = compare(&plan, &cluster);
        let all = [findings.wrong, findings.risky].concat();
        assert_eq!(all.len(), expected.len(), "{all:#?}");
        for (found, (what, cure)) in all.iter().zip(expected) {
            assert!(found.what.contains(what), "{found:?}");
            assert!(found.cure.ends_with(cure), "{found:?}");
        }
    }

    fn set(topic: &mut Described, key: &str, value: &str) {
        topic.settings.insert(key.to_owned(), value.to_owned());
    }

    #[test]
    fn each_wrong_setting_has_its_command() {
        check(|_, _| {}, &[]);
        check(
            |spans, _| set(spans, "message.timestamp.type", "CreateTime"),
            &[(
                "CreateTime",
                "--entity-name tailwater.spans --add-config message.timestamp.type=LogAppendTime",
            )],
        );
        check(
            |_, decisions| set(decisions, "cleanup.policy", "compact,delete"),
            &[(
                "compaction",
                "--entity-name tailwater.decisions --add-config cleanup.policy=delete",
            )],
        );
        check(
            |spans, _| set(spans, "max.message.bytes", "999999"),
            &[(
                "max.message.bytes=999999",
                "--add-config max.message.bytes=1065536",
            )],
        );
        check(
            |spans, _| set(spans, "min.insync.replicas", "4"),
            &[("nothing can be written", "min.insync.replicas=2")],
        );
        check(
            |spans, _| set(spans, "min.insync.replicas", "1"),
            &[("lost with it", "min.insync.replicas=2")],
        );
        check(
            |spans, _| set(spans, "unclean.leader.election.enable", "true"),
            &[("lack acknowledged", "unclean.leader.election.enable=false")],
        );
        check(
            |spans, _| set(spans, "retention.bytes", "1000000"),
            &[("by size", "retention.bytes=-1")],
        );
        check(
            |spans, _| (spans.replicas, spans.partitions) = (2, 12),
            &[("has 2 replicas", "--reassignment-json-file FILE")],
        );
    }

    #[test]
    fn retention_covers_waits_and_decisions_cover_spans() {
        let hours = |hours: u64| (hours * 3_600_000).to_string();
        check(
            |spans, _| set(spans, "retention.ms", "629999"),
            &[("keeps records for 629 s", "retention.ms=630000")],
        );
        check(
            |_, decisions| set(decisions, "retention.ms", &hours(2)),
            &[("must outlive", "retention.ms=7800000")],
        );
        // Spans for ever: decisions for ever.
        check(
            |spans, _| set(spans, "retention.ms", "-1"),
            &[("must outlive", "retention.ms=-1")],
        );
        check(|_, decisions| set(decisions, "retention.ms", "-1"), &[]);
    }

    #[test]
    fn partitions_are_those_of_the_config_and_of_each_other() {
        check(
            |spans, decisions| (spans.partitions, decisions.partitions) = (6, 6),
            &[(
                "`partitions` is 12",
                "`buffer.kafka.partitions: 6` in all daemons",
            )],
        );
        check(
            |_, decisions| decisions.partitions = 6,
            &[("has 6", "--topic tailwater.decisions --partitions 12")],
        );
        check(
            |_, decisions| decisions.partitions = 24,
            &[("has 24", "--topic tailwater.spans --partitions 24")],
        );
    }

    #[test]
    fn what_is_missing_is_told_with_all_else() {
        let plan = TopicPlan {
            dead_letters: Some("dead".to_owned()),
            ..plan()
        };
        let mut spans = made(&plan, &plan.spans);
        set(&mut spans, "cleanup.policy", "compact");
        let cluster = Cluster {
            spans: Some(spans),
            ..Cluster::default()
        };
        let Findings { missing, wrong, .. } = compare(&plan, &cluster);
        assert!(wrong[0].what.contains("compact"), "{wrong:?}");
        let what: Vec<&str> = missing.iter().map(|one| &*one.what).collect();
        assert_eq!(
            what,
            [
                "topic tailwater.decisions does not exist",
                "topic dead does not exist"
            ]
        );
        assert!(missing[0].cure.contains("--create --topic tailwater.decisions --partitions 12 --replication-factor 3 --config cleanup.policy=delete --config message.timestamp.type=LogAppendTime --config retention.ms=9600000 --config min.insync.replicas=2"), "{}", missing[0].cure);
    }
}
