//! The last steps of a worker.

use super::evidence::Evidence;
use super::recovery::seconds;
use super::scanned::Scanned;
use super::worker::Worker;
use crate::log::{Fed, Feed};
use std::time::Duration;

impl Worker {
    /// The last steps: what is undecided stays in the log, or is decided where nothing may outlive the process.
    pub(super) fn finish(&mut self, feed: &mut dyn Feed<Scanned>) {
        self.read = feed.position();
        let evidence = match &self.parts.settings {
            settings if settings.drop_at_stop => Some(Evidence::Discarded),
            settings if settings.decide_at_stop => Some(Evidence::Shutdown),
            _ => None,
        };
        if evidence.is_some() {
            self.drain(feed);
            self.decide_all(evidence);
            while !self.blocked.is_empty() {
                self.take_blocked(seconds(self.now));
                self.decide_all(evidence);
            }
        }
        if self.flush() {
            self.save_snapshot();
        }
    }

    fn decide_all(&mut self, evidence: Option<Evidence>) {
        self.budget_time = self.budget_time.max(self.now);
        for owner in 0..self.partitions.len() {
            let any = |worker: &Self| worker.partitions.get(owner)?.skeletons.any();
            while let Some(slot) = any(self) {
                self.decide(owner, slot, evidence);
            }
        }
    }

    /// Folds what is in the log already: it was acknowledged and must be decided.
    fn drain(&mut self, feed: &mut dyn Feed<Scanned>) {
        loop {
            let fed = feed.next(Duration::ZERO);
            if matches!(fed, Fed::Idle { .. }) || !self.take(fed) {
                break;
            }
            self.read = feed.position();
        }
    }
}
