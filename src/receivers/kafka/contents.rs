//! What the records of a topic are.

use super::settings::{KafkaReceiverSettings, Topics};
use crate::kafka::Encoding;
use crate::otlp::Signal;

/// Of each topic that is read.
#[derive(Debug)]
pub(super) struct Contents {
    traces: Topics,
    /// None: no pipeline takes logs of this receiver.
    logs: Option<Topics>,
}

impl Contents {
    pub(super) fn of(settings: &KafkaReceiverSettings, logs: bool) -> Self {
        Self {
            traces: settings.traces.clone(),
            logs: logs.then(|| settings.logs.clone()),
        }
    }

    /// All names and expressions.
    pub(super) fn topics(&self) -> Vec<&str> {
        let logs = self.logs.iter().flat_map(|logs| &logs.topics);
        let all = self.traces.topics.iter().chain(logs);
        all.map(String::as_str).collect()
    }

    /// Expressions are for traces only, so a name tells.
    pub(super) fn of_topic(&self, topic: &str) -> (Signal, Encoding) {
        match &self.logs {
            Some(logs) if logs.topics.iter().any(|name| name == topic) => {
                (Signal::Logs, logs.encoding)
            }
            _ => (Signal::Traces, self.traces.encoding),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells() {
        let mut settings = KafkaReceiverSettings::new();
        settings.traces.topics = vec!["spans".to_owned(), "^team".to_owned()];
        settings.logs.topics = vec!["team-logs".to_owned()];
        settings.logs.encoding = Encoding::OtlpJson;
        let traces = (Signal::Traces, Encoding::OtlpProto);
        let check = |logs, topic, expected| {
            assert_eq!(Contents::of(&settings, logs).of_topic(topic), expected);
        };
        check(true, "spans", traces);
        check(true, "team-spans", traces);
        check(true, "team-logs", (Signal::Logs, Encoding::OtlpJson));
        check(false, "team-logs", traces);
        let topics = |logs| Contents::of(&settings, logs).topics().len();
        assert_eq!((topics(false), topics(true)), (2, 3));
    }
}
