//! Records that nobody can read: how they are told, and what a dead-letter topic gets beside their bytes.
//!
//! No log line holds a byte of a record.

use crate::clock::{Nanos, SECOND, SharedClock};
use parking_lot::Mutex;

/// Between two lines: a topic of another format would fill the disk with them.
const QUIET: Nanos = SECOND;

/// A record that cannot be taken, where it stands, and why.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Poison<'a> {
    /// Topic, partition, offset.
    pub(crate) place: (&'a str, i32, i64),
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: &'a [u8],
    /// A fixed phrase.
    pub(crate) reason: &'a str,
}

impl Poison<'_> {
    /// Where it was and why it is here, for whoever looks at it.
    pub(crate) fn headers(&self) -> [(&'static str, String); 4] {
        let (topic, partition, offset) = self.place;
        [
            ("tailwater.reason", self.reason.to_owned()),
            ("tailwater.topic", topic.to_owned()),
            ("tailwater.partition", partition.to_string()),
            ("tailwater.offset", offset.to_string()),
        ]
    }
}

/// Tells of them, at most once a second.
#[derive(Debug)]
pub(crate) struct PoisonLog {
    /// The component, for log lines.
    id: String,
    clock: SharedClock,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    at: Option<Nanos>,
    since: u64,
}

impl PoisonLog {
    pub(crate) fn new(id: &str, clock: SharedClock) -> Self {
        Self {
            id: id.to_owned(),
            clock,
            told: Mutex::default(),
        }
    }

    pub(crate) fn tell(&self, poison: &Poison<'_>) {
        let now = self.clock.monotonic();
        let before = {
            let mut told = self.told.lock();
            if told.at.is_some_and(|at| now.saturating_sub(at) < QUIET) {
                told.since += 1;
                return;
            }
            told.at = Some(now);
            std::mem::take(&mut told.since)
        };
        let (topic, partition, offset) = poison.place;
        let (component, reason, bytes) = (&self.id, poison.reason, poison.value.len());
        tracing::error!(
            component,
            topic,
            partition,
            offset,
            bytes,
            reason,
            others_before = before,
            "Kafka: a record cannot be taken and is passed over"
        );
    }

    /// The dead-letter topic will never have this one.
    pub(crate) fn tell_untaken(&self, poison: &Poison<'_>, reason: &str) {
        let (topic, partition, offset) = poison.place;
        tracing::error!(
            component = self.id,
            topic,
            partition,
            offset,
            reason,
            "Kafka: the dead-letter topic does not take a record; it is passed over"
        );
    }
}
