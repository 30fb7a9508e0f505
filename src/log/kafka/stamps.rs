//! When records came, by position: how old the oldest one is that is still needed, without asking the brokers.
//!
//! One entry for each second in which records came. When there are too many, every other one goes: an age is then told as
//! greater than it is by some seconds, never as less.

use crate::clock::SECOND;
use parking_lot::Mutex;
use std::collections::VecDeque;

/// More than an hour, in 64 KiB.
const ENTRIES_MAX: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Stamps(Mutex<VecDeque<(u64, u64)>>);

impl Stamps {
    /// A record at `position` came with this stamp; positions rise.
    pub(super) fn add(&self, position: u64, stamp: u64) {
        let mut entries = self.0.lock();
        let same = entries
            .back()
            .is_some_and(|(_, last)| last / SECOND >= stamp / SECOND);
        if same {
            return;
        }
        if entries.len() >= ENTRIES_MAX {
            let mut odd = false;
            entries.retain(|_| {
                odd = !odd;
                odd
            });
        }
        entries.push_back((position, stamp));
    }

    /// About when the record at `position` came; those before it are needed no more.
    pub(super) fn since(&self, position: u64) -> Option<u64> {
        let mut entries = self.0.lock();
        let after = entries.partition_point(|(at, _)| *at <= position);
        entries.drain(..after.saturating_sub(1));
        entries.front().map(|(_, stamp)| *stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_when_a_record_came_or_earlier() {
        let stamps = Stamps::default();
        assert_eq!(stamps.since(5), None);
        for (position, second) in [(10, 1), (11, 1), (20, 2), (30, 5)] {
            stamps.add(position, second * SECOND);
        }
        assert_eq!(stamps.since(9), Some(SECOND));
        assert_eq!(stamps.since(19), Some(SECOND));
        assert_eq!(stamps.since(25), Some(2 * SECOND));
        assert_eq!(stamps.since(u64::MAX), Some(5 * SECOND));
    }

    #[test]
    fn a_long_backlog_is_told_more_coarsely() {
        let stamps = Stamps::default();
        let many = 3 * ENTRIES_MAX as u64;
        (0..many).for_each(|second| stamps.add(second, second * SECOND));
        assert!(stamps.0.lock().len() <= ENTRIES_MAX);
        let told = stamps.since(many / 2).unwrap() / SECOND;
        assert!(told <= many / 2 && told + 8 > many / 2, "{told}");
    }
}
