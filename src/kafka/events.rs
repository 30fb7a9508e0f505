//! What librdkafka tells of itself, apart from records: its log, and that brokers cannot be reached.
//!
//! A dead cluster makes thousands of such events; one line a minute for each kind says as much.

use crate::clock::{Nanos, SECOND, SharedClock};
use parking_lot::Mutex;
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use std::collections::BTreeMap;

/// Between two lines of one kind.
const QUIET: Nanos = 60 * SECOND;

/// The events of one client.
#[derive(Debug)]
pub(crate) struct Events {
    /// The component, for log lines.
    id: String,
    clock: SharedClock,
    /// When each kind of error was last logged. As many as librdkafka has codes.
    told: Mutex<BTreeMap<i32, Nanos>>,
}

impl Events {
    pub(crate) fn new(id: &str, clock: SharedClock) -> Self {
        Self {
            id: id.to_owned(),
            clock,
            told: Mutex::default(),
        }
    }

    /// Something is wrong between us and the brokers; librdkafka tries again by itself.
    pub(crate) fn failed(&self, error: &KafkaError) {
        let code = error
            .rdkafka_error_code()
            .unwrap_or(RDKafkaErrorCode::Unknown);
        // The end of a partition is news, not an error.
        if code == RDKafkaErrorCode::PartitionEOF {
            return;
        }
        let now = self.clock.monotonic();
        let mut told = self.told.lock();
        let recent = told
            .get(&(code as i32))
            .is_some_and(|before| now.saturating_sub(*before) < QUIET);
        if recent {
            return;
        }
        told.insert(code as i32, now);
        drop(told);
        tracing::warn!(component = self.id, error = %code, "Kafka");
    }
}

impl ClientContext for Events {
    /// librdkafka's lines name brokers and topics, never a record; they are for whoever looks for a cause.
    fn log(&self, _: RDKafkaLogLevel, facility: &str, message: &str) {
        tracing::debug!(component = self.id, facility, message, "librdkafka");
    }

    fn error(&self, error: KafkaError, _: &str) {
        self.failed(&error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use std::sync::Arc;

    #[test]
    fn each_kind_is_told_once_a_minute() {
        let clock = Arc::new(ManualClock::at(0));
        let events = Events::new("kafka", clock.clone());
        let down = KafkaError::Global(RDKafkaErrorCode::AllBrokersDown);
        let told = || events.told.lock().clone();
        events.failed(&down);
        let first = told();
        clock.advance(QUIET - 1);
        events.failed(&down);
        assert_eq!(told(), first);
        events.failed(&KafkaError::Global(RDKafkaErrorCode::Authentication));
        assert_eq!(told().len(), 2);
        clock.advance(1);
        events.failed(&down);
        assert_ne!(told().values().min(), first.values().min());
    }
}
