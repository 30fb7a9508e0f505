//! A tick whose traces are decided one after another in a set order: where budgets are spent, and with the Collector's
//! table.
//!
//! Order: first log time, then trace id, so that a replay grants what the first run granted; in the table, arrival.

use super::stats::add;
use super::worker::Worker;
use crate::rules::{Ask, State};

/// Owner and slot of a due trace.
type Due = (usize, u32);

impl Worker {
    pub(super) fn decide_in_order(&mut self, tick: u64) {
        let due = match self.parts.settings.strict {
            Some(_) => self.due_in_tables(tick),
            None => self.due_by_age(tick),
        };
        self.cut_budgets(&due);
        for (owner, slot) in due {
            self.decide(owner, slot, None);
        }
        self.limits.end_tick();
    }

    fn due_in_tables(&mut self, tick: u64) -> Vec<Due> {
        let mut due = Vec::new();
        for (owner, partition) in self.partitions.iter_mut().enumerate() {
            let Some(table) = &mut partition.table else {
                continue;
            };
            let (slots, gone) = table.take_due(tick);
            add(&self.parts.stats.dropped_too_early, gone);
            due.extend(slots.into_iter().map(|slot| (owner, slot)));
        }
        due
    }

    fn due_by_age(&self, tick: u64) -> Vec<Due> {
        let mut due = Vec::new();
        let mut slots = Vec::new();
        for (owner, partition) in self.partitions.iter().enumerate() {
            partition.skeletons.all_due(tick, &mut slots);
            for slot in slots.drain(..) {
                if let Some(skeleton) = partition.skeletons.get(slot) {
                    due.push((skeleton.first_second, skeleton.trace(), owner, slot));
                }
            }
        }
        due.sort_unstable();
        due.into_iter()
            .map(|(_, _, owner, slot)| (owner, slot))
            .collect()
    }

    /// With the gate `usetracestate` the traces of a tick share a budget by their randomness.
    fn cut_budgets(&mut self, due: &[Due]) {
        let program = &self.parts.program;
        for limiter in program.cuts() {
            let asks = due.iter().filter_map(|(owner, slot)| {
                let skeletons = &self.partitions.get(*owner)?.skeletons;
                let skeleton = skeletons.get(*slot)?;
                let features = skeletons.features(*slot);
                let state = State {
                    trace: skeleton.trace(),
                    fold: &skeleton.fold,
                    words: skeletons.words(*slot),
                    features: features.as_ref(),
                };
                program
                    .reaches(limiter, state, &[])
                    .then(|| program.ask_of(state))
            });
            let mut asks: Vec<Ask> = asks.collect();
            self.limits.cut(limiter, &mut asks, self.budget_time);
        }
    }
}
