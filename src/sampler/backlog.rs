//! Since when kept spans have been waiting: what "behind by so many seconds" is measured with.
//!
//! A queue of (second, spans), first in first out, as exporters finish. Bounded: when it is full, neighbours are put
//! together under the older one's second, so that a long backlog is told more coarsely, and never as shorter than it is.

use std::collections::VecDeque;

/// More than an hour at one entry a second, in 64 KiB.
const ENTRIES_MAX: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Backlog {
    waiting: VecDeque<(u32, u64)>,
}

impl Backlog {
    /// `spans` wait from `second` of log time on.
    pub(super) fn add(&mut self, second: u32, spans: u64) {
        if spans == 0 {
            return;
        }
        if let Some((_, more)) = self.waiting.back_mut().filter(|(last, _)| *last >= second) {
            *more += spans;
            return;
        }
        if self.waiting.len() >= ENTRIES_MAX {
            self.halve();
        }
        self.waiting.push_back((second, spans));
    }

    /// The `spans` that have waited longest wait no more.
    pub(super) fn remove(&mut self, mut spans: u64) {
        while let Some((_, first)) = self.waiting.front_mut() {
            if *first > spans {
                *first -= spans;
                return;
            }
            spans -= *first;
            self.waiting.pop_front();
        }
    }

    /// Since when the oldest waits.
    pub(super) fn since(&self) -> Option<u32> {
        self.waiting.front().map(|(second, _)| *second)
    }

    fn halve(&mut self) {
        let mut old = std::mem::take(&mut self.waiting).into_iter();
        while let Some((second, spans)) = old.next() {
            let next = old.next().map_or(0, |(_, spans)| spans);
            self.waiting.push_back((second, spans + next));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tells_the_oldest() {
        let mut backlog = Backlog::default();
        assert_eq!(backlog.since(), None);
        [(5, 2), (5, 1), (7, 4), (6, 1)]
            .into_iter()
            .for_each(|(second, spans)| backlog.add(second, spans));
        assert_eq!(backlog.since(), Some(5));
        backlog.remove(2);
        assert_eq!(backlog.since(), Some(5));
        backlog.remove(1);
        assert_eq!(backlog.since(), Some(7));
        backlog.remove(99);
        assert_eq!(backlog.since(), None);
    }

    proptest! {
        /// Against one entry a span: never younger than the truth, and bounded.
        #[test]
        fn is_never_too_young(steps in proptest::collection::vec((0..3_u32, 0..3_u64, 0..3_usize), 1..6000)) {
            let (mut backlog, mut model, mut now) = (Backlog::default(), VecDeque::new(), 0);
            for (later, more, fewer) in steps {
                now += later;
                if more > 0 {
                    backlog.add(now, more);
                    (0..more).for_each(|_| model.push_back(now));
                }
                let fewer = fewer.min(model.len());
                drop(model.drain(..fewer));
                backlog.remove(fewer as u64);
                prop_assert!(backlog.waiting.len() <= ENTRIES_MAX);
                prop_assert_eq!(backlog.since().is_some(), !model.is_empty());
                prop_assert!(backlog.since() <= model.front().copied());
            }
        }
    }
}
