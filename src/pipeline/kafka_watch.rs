//! Looks after the topics of the log in Kafka: the group is joined when they are as they must be, and `/readyz` tells
//! when the brokers do not answer, or what is wrong.
//!
//! A broker that cannot be reached at the start stops nothing: it comes back.

use super::health::Health;
use crate::kafka::{KafkaLogSettings, TopicError, TopicFacts, verify_topics};
use crate::log::{GroupStats, LogError};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

/// While something is wrong, and between two looks at a cluster that works.
const SOON: Duration = Duration::from_secs(1);
const LATER: Duration = Duration::from_secs(5);

/// What is verified.
#[derive(Debug, Clone)]
pub(super) struct Topics {
    pub(super) settings: KafkaLogSettings,
    pub(super) longest_wait: Duration,
    pub(super) late_window: Duration,
}

impl Topics {
    pub(super) fn verify(&self) -> Result<TopicFacts, TopicError> {
        verify_topics(&self.settings, self.longest_wait, self.late_window)
    }
}

/// The thread that looks.
#[derive(Debug)]
pub(super) struct Watch {
    stopped: Arc<(Mutex<bool>, Condvar)>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Watch {
    pub(super) fn start(
        topics: Topics,
        health: Health,
        group: Arc<GroupStats>,
        join: Box<dyn Fn() -> Result<(), LogError> + Send>,
    ) -> Result<Self, LogError> {
        health.trouble(Some("Kafka: not in the group yet".to_owned()));
        let stopped = Arc::new((Mutex::new(false), Condvar::new()));
        let look = Look {
            topics,
            health,
            group,
            join,
            stopped: stopped.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("kafka-watch".to_owned())
            .spawn(move || look.run())
            .map_err(LogError::io("starting the watch over topics"))?;
        Ok(Self {
            stopped,
            thread: Mutex::new(Some(thread)),
        })
    }

    pub(super) fn stop(&self) {
        *self.stopped.0.lock() = true;
        self.stopped.1.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            drop(thread.join());
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Look {
    topics: Topics,
    health: Health,
    group: Arc<GroupStats>,
    join: Box<dyn Fn() -> Result<(), LogError> + Send>,
    stopped: Arc<(Mutex<bool>, Condvar)>,
}

impl Look {
    fn run(self) {
        let (mut joined, mut told) = (false, String::new());
        loop {
            let trouble = self.look(&mut joined);
            if let Some(trouble) = trouble.as_ref().filter(|trouble| **trouble != told) {
                tracing::error!("not ready: {trouble}");
            }
            let wait = if trouble.is_some() { SOON } else { LATER };
            told = trouble.clone().unwrap_or_default();
            self.health.trouble(trouble);
            let mut stopped = self.stopped.0.lock();
            if !*stopped {
                self.stopped.1.wait_for(&mut stopped, wait);
            }
            if *stopped {
                return;
            }
        }
    }

    /// What is wrong.
    fn look(&self, joined: &mut bool) -> Option<String> {
        let seen = self.topics.verify();
        if let Ok(TopicFacts {
            max_message_bytes, ..
        })
        | Err(TopicError::Wrong {
            max_message_bytes, ..
        }) = &seen
        {
            let limit = max_message_bytes.unwrap_or_default();
            self.group.topic_limit.store(limit, Ordering::Relaxed);
        }
        match seen {
            Ok(facts) if !*joined => {
                let kept = facts.retention.map_or(0, |kept| kept.as_secs());
                self.group.retention.store(kept, Ordering::Relaxed);
                for risk in &facts.risky {
                    tracing::warn!("Kafka: {risk}");
                }
                if let Err(error) = (self.join)() {
                    return Some(error.to_string());
                }
                *joined = true;
            }
            Ok(_) => {}
            Err(error) => return Some(error.to_string()),
        }
        let joined = self.group.joined.load(Ordering::Acquire);
        if !joined {
            return Some("Kafka: not in the group yet".to_owned());
        }
        let blocked = self.group.blocked.lock().clone();
        blocked.map(|why| format!("Kafka: decisions cannot be written: {why}"))
    }
}
