//! librdkafka's error codes as what to do about them.

use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};

/// Why a record did not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Over the limit of the producer or of the topic: another try ends the same way, a smaller record does not.
    TooLarge,
    /// The producer's queue has no room: wait for what is in it.
    Full,
    /// The broker refuses whatever comes: credentials, rights, a topic that is not there. The operator's to put right.
    Unusable(Code),
    /// The broker refuses this record for good.
    Permanent(Code),
    /// Worth another try.
    Retry(Code),
}

impl Failure {
    /// A value that cannot be encoded.
    pub(crate) const UNREADABLE: Self = Self::Permanent(Code::InvalidMessage);
    /// Nobody knows any longer whether the record has arrived.
    pub(crate) const GONE: Self = Self::Retry(Code::PurgeInflight);

    pub(crate) fn of(error: &KafkaError) -> Self {
        match error.rdkafka_error_code() {
            Some(code) => Self::from(code),
            // What never reached librdkafka: a name with a zero byte.
            None => Self::Permanent(Code::InvalidArgument),
        }
    }

    /// A code and librdkafka's fixed phrase for it.
    pub(crate) fn reason(self) -> String {
        match self {
            Self::TooLarge => format!("Kafka: {}", Code::MessageSizeTooLarge),
            Self::Full => format!("Kafka: {}", Code::QueueFull),
            Self::Unusable(code) | Self::Permanent(code) | Self::Retry(code) => {
                format!("Kafka: {code}")
            }
        }
    }
}

impl From<Code> for Failure {
    fn from(code: Code) -> Self {
        match code {
            Code::MessageSizeTooLarge | Code::MessageBatchTooLarge => Self::TooLarge,
            Code::QueueFull => Self::Full,
            Code::TopicAuthorizationFailed
            | Code::ClusterAuthorizationFailed
            | Code::TransactionalIdAuthorizationFailed
            | Code::SaslAuthenticationFailed
            | Code::Authentication
            | Code::UnsupportedSASLMechanism
            | Code::SSL
            | Code::UnknownTopic
            | Code::UnknownTopicOrPartition
            | Code::InvalidTopic
            | Code::InvalidRequiredAcks
            | Code::PolicyViolation
            | Code::UnsupportedCompressionType => Self::Unusable(code),
            Code::InvalidRecord | Code::InvalidMessageSize | Code::InvalidArgument => {
                Self::Permanent(code)
            }
            _ => Self::Retry(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_by_what_to_do() {
        let check = |code, expected| assert_eq!(Failure::from(code), expected);
        check(Code::MessageSizeTooLarge, Failure::TooLarge);
        check(Code::QueueFull, Failure::Full);
        let timeout = Code::MessageTimedOut;
        check(timeout, Failure::Retry(timeout));
        let replicas = Code::NotEnoughReplicas;
        check(replicas, Failure::Retry(replicas));
        let rights = Code::TopicAuthorizationFailed;
        check(rights, Failure::Unusable(rights));
        let refused = Code::InvalidRecord;
        check(refused, Failure::Permanent(refused));
        let sent = KafkaError::MessageProduction(Code::QueueFull);
        assert_eq!(Failure::of(&sent), Failure::Full);
        let reason = Failure::from(timeout).reason();
        assert!(reason.contains("timed out"), "{reason}");
    }
}
