//! Looks after the topics of the log in Kafka: verifies them, and makes what is missing where it is asked to.
//!
//! Brokers that cannot be reached, or that do not let us look, are no wrong topics: [`TopicError::NotReady`], to be tried
//! again. All calls block, each for a limited time; they are for a thread of their own.

use super::connect::{client_config, misfit};
use super::log_settings::KafkaLogSettings;
use super::topic_findings::{Cluster, Described, Findings, TopicFinding, compare};
use super::topic_plan::TopicPlan;
use rdkafka::ClientConfig;
use rdkafka::admin::{
    AdminClient, AdminOptions, ConfigResource, NewTopic, OwnedResourceSpecifier, ResourceSpecifier,
    TopicReplication,
};
use rdkafka::client::DefaultClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::metadata::Metadata;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// For one question to the brokers.
const ASK: Duration = Duration::from_secs(10);
/// What was learned of topics that are as they must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicFacts {
    /// Of each of them.
    pub partitions: u16,
    /// Of both topics the smaller limit; none: brokers do not say.
    pub max_message_bytes: Option<u64>,
    /// How long spans are kept; none: for ever.
    pub retention: Option<Duration>,
    /// What would lose spans together with brokers: to be told.
    pub risky: Vec<TopicFinding>,
}

/// Why the log cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum TopicError {
    /// Worth another try: no broker answers, or it does not let us look. The reason holds no address and no secret.
    #[error("Kafka: {0}")]
    NotReady(String),
    /// Topics that are not there, and nothing else that is wrong: somebody may make them while we wait.
    #[error("topics are missing:\n{}", lines(.0))]
    Missing(Vec<TopicFinding>),
    /// The operator's to put right, all of it.
    #[error("the topics are not as they must be:\n{}", lines(.findings))]
    Wrong {
        /// All that is wrong.
        findings: Vec<TopicFinding>,
        /// What they take at once, where that is known: records may be cut to it until it is put right.
        max_message_bytes: Option<u64>,
    },
}

fn lines(findings: &[TopicFinding]) -> String {
    let lines: Vec<String> = findings.iter().map(|one| format!("  {one}")).collect();
    lines.join("\n")
}

/// Verifies both topics of a log, and makes them before, where its settings say so. The waits are the sampler's: how long a
/// trace may be undecided, and how long late spans follow its decision.
///
/// # Errors
/// Brokers that do not answer (worth another try), or topics that are not as they must be (the operator's).
pub fn verify_topics(
    log: &KafkaLogSettings,
    longest_wait: Duration,
    late_window: Duration,
) -> Result<TopicFacts, TopicError> {
    let config = client_config(&log.connection);
    let config = config.map_err(|misfit| TopicError::NotReady(misfit.text))?;
    verify(&config, &TopicPlan::of(log, longest_wait, late_window))
}

fn verify(config: &ClientConfig, plan: &TopicPlan) -> Result<TopicFacts, TopicError> {
    let admin = Admin::connect(config)?;
    let mut cluster = admin.describe(plan)?;
    if plan.create {
        let missing = missing(plan, &cluster);
        if !missing.is_empty() {
            admin.make(plan, &missing)?;
            cluster = admin.describe(plan)?;
            if !self::missing(plan, &cluster).is_empty() {
                let spreading = "the topics are made, and not known to all brokers yet";
                return Err(TopicError::NotReady(spreading.to_owned()));
            }
        }
    }
    let Findings {
        missing,
        wrong,
        risky,
    } = compare(plan, &cluster);
    if wrong.is_empty() && !missing.is_empty() {
        return Err(TopicError::Missing(missing));
    }
    let wrong = [wrong, missing].concat();
    let topics = [&cluster.spans, &cluster.decisions].into_iter().flatten();
    let max_message_bytes = topics.filter_map(Described::max_message_bytes).min();
    let Some(spans) = cluster.spans.as_ref().filter(|_| wrong.is_empty()) else {
        return Err(TopicError::Wrong {
            findings: wrong,
            max_message_bytes,
        });
    };
    Ok(TopicFacts {
        partitions: plan.partitions,
        max_message_bytes,
        retention: spans.retention(),
        risky,
    })
}

fn missing<'a>(plan: &'a TopicPlan, cluster: &Cluster) -> Vec<&'a str> {
    let dead_letters = plan.dead_letters.as_deref().unwrap_or_default();
    let topics = [
        (cluster.spans.is_some(), &*plan.spans),
        (cluster.decisions.is_some(), &*plan.decisions),
        (cluster.dead_letters, dead_letters),
    ];
    let missing = topics.iter().filter(|(there, _)| !there);
    missing.map(|(_, name)| *name).collect()
}

struct Admin {
    client: AdminClient<DefaultClientContext>,
    /// The wrapper's calls are futures; its own thread completes them.
    runtime: Runtime,
}

impl Admin {
    fn connect(config: &ClientConfig) -> Result<Self, TopicError> {
        let mut config = config.clone();
        // A question after a missing topic would make it, with the broker's defaults.
        config.set("allow.auto.create.topics", "false");
        let client = config.create().map_err(|error| not_ready(&error))?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| TopicError::NotReady(error.to_string()))?;
        Ok(Self { client, runtime })
    }

    fn describe(&self, plan: &TopicPlan) -> Result<Cluster, TopicError> {
        let dead_letters = match &plan.dead_letters {
            Some(name) => self.shape(name)?.is_some(),
            None => true,
        };
        Ok(Cluster {
            spans: self.topic(&plan.spans)?,
            decisions: self.topic(&plan.decisions)?,
            dead_letters,
        })
    }

    fn topic(&self, name: &str) -> Result<Option<Described>, TopicError> {
        let Some((partitions, replicas)) = self.shape(name)? else {
            return Ok(None);
        };
        Ok(Some(Described {
            partitions,
            replicas,
            settings: self.settings(name)?,
        }))
    }

    /// Partitions, and replicas of the first one; none: there is no such topic.
    fn shape(&self, name: &str) -> Result<Option<(usize, usize)>, TopicError> {
        let metadata = self.client.inner().fetch_metadata(Some(name), ASK);
        shape_in(name, &metadata.map_err(|error| not_ready(&error))?)
    }

    fn settings(&self, name: &str) -> Result<BTreeMap<String, String>, TopicError> {
        let (topic, options) = ([ResourceSpecifier::Topic(name)], options());
        let asked = self.client.describe_configs(&topic, &options);
        let answers = self.runtime.block_on(asked);
        let answers = answers.map_err(|error| not_ready(&error))?;
        let mut settings = BTreeMap::new();
        for answer in answers {
            let resource = answer.map_err(|code| refused(name, "DescribeConfigs", code))?;
            settings.extend(entries(name, resource));
        }
        Ok(settings)
    }

    /// Makes topics. What is wrong with that is told in the words of the one who has to put it right.
    fn make(&self, plan: &TopicPlan, names: &[&str]) -> Result<(), TopicError> {
        let settings: Vec<_> = names.iter().map(|name| plan.settings(name)).collect();
        let new = names.iter().zip(&settings).map(|(name, settings)| {
            let replicas = TopicReplication::Fixed(i32::from(plan.replicas));
            let topic = NewTopic::new(name, i32::from(plan.partitions), replicas);
            settings
                .iter()
                .fold(topic, |topic, (key, value)| topic.set(key, value))
        });
        let (new, options): (Vec<NewTopic<'_>>, _) = (new.collect(), options());
        let made = self
            .runtime
            .block_on(self.client.create_topics(&new, &options));
        let made = made.map_err(|error| not_ready(&error))?;
        let failed = made.into_iter().filter_map(Result::err);
        let mut wrong = Vec::new();
        for (name, code) in failed {
            match code {
                // Another daemon of the group was first.
                Code::TopicAlreadyExists => tracing::info!(topic = name, "Kafka: made by another"),
                code if is_passing(code) => return Err(not_ready_code(code)),
                code => wrong.push(unmade(plan, &name, code)),
            }
        }
        if wrong.is_empty() {
            tracing::info!(topics = ?names, "Kafka: made");
            return Ok(());
        }
        Err(TopicError::Wrong {
            findings: wrong,
            max_message_bytes: None,
        })
    }
}

fn unmade(plan: &TopicPlan, name: &str, code: Code) -> TopicFinding {
    TopicFinding {
        what: format!("topic {name} cannot be made ({code})"),
        cure: match code {
            Code::InvalidReplicationFactor => format!(
                "there are fewer than {} brokers: set `buffer.kafka.replication_factor`",
                plan.replicas
            ),
            _ => plan.creating(name),
        },
    }
}

fn options() -> AdminOptions {
    AdminOptions::new()
        .request_timeout(Some(ASK))
        .operation_timeout(Some(ASK))
}

fn shape_in(name: &str, metadata: &Metadata) -> Result<Option<(usize, usize)>, TopicError> {
    let Some(topic) = metadata.topics().iter().find(|topic| topic.name() == name) else {
        return Ok(None);
    };
    match topic.error().map(Code::from) {
        None => {}
        Some(Code::UnknownTopicOrPartition | Code::UnknownTopic) => return Ok(None),
        Some(code) => return Err(refused(name, "Describe", code)),
    }
    let replicas = topic.partitions().first();
    let replicas = replicas.map_or(0, |partition| partition.replicas().len());
    Ok(Some((topic.partitions().len(), replicas)))
}

/// A topic's settings; nothing that is secret is among them.
fn entries(name: &str, resource: ConfigResource) -> Vec<(String, String)> {
    if resource.specifier != OwnedResourceSpecifier::Topic(name.to_owned()) {
        return Vec::new();
    }
    let entries = resource.entries.into_iter();
    let set = entries.filter_map(|entry| Some((entry.name, entry.value?)));
    set.collect()
}

/// A broker does not answer for a topic: rights are put right while we wait.
fn refused(name: &str, operation: &str, code: Code) -> TopicError {
    let rights = [
        Code::TopicAuthorizationFailed,
        Code::ClusterAuthorizationFailed,
    ];
    if rights.contains(&code) {
        return TopicError::NotReady(format!(
            "topic {name}: {code}; this user needs {operation} (kafka-acls.sh --add --operation {operation} --topic {name})"
        ));
    }
    TopicError::NotReady(format!("topic {name}: {code}"))
}

fn is_passing(code: Code) -> bool {
    matches!(
        code,
        Code::RequestTimedOut
            | Code::OperationTimedOut
            | Code::NotController
            | Code::BrokerTransportFailure
            | Code::AllBrokersDown
            | Code::CoordinatorLoadInProgress
            | Code::ThrottlingQuotaExceeded
    )
}

fn not_ready(error: &KafkaError) -> TopicError {
    match (error, error.rdkafka_error_code()) {
        (KafkaError::AdminOp(code), _) => not_ready_code(*code),
        (_, Some(code)) => not_ready_code(code),
        _ => TopicError::NotReady(misfit(error).text),
    }
}

fn not_ready_code(code: Code) -> TopicError {
    TopicError::NotReady(code.to_string())
}
