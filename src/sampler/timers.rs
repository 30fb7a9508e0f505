//! When traces are due: one list for each tick (a whole second of log time), in order of arrival.

use super::links::{Links, List};
use super::pages::NONE;
use std::collections::VecDeque;

/// The lists of due traces. `links` closures reach the slab that holds the neighbours.
#[derive(Debug)]
pub(crate) struct Timers {
    /// The next tick to fire: that of `lists[0]`.
    next: u64,
    lists: VecDeque<List>,
}

impl Timers {
    /// `next` is the first tick that will fire.
    pub(crate) fn new(next: u64) -> Self {
        Self {
            next,
            lists: VecDeque::new(),
        }
    }

    /// Puts `slot` into the list of `tick`, or of the next one when that has passed; the tick that it is in.
    pub(crate) fn insert(
        &mut self,
        slot: u32,
        tick: u64,
        links: impl FnMut(u32, &mut dyn FnMut(&mut Links)),
    ) -> u64 {
        let tick = tick.max(self.next);
        let at = usize::try_from(tick - self.next).unwrap_or_default();
        if self.lists.len() <= at {
            self.lists.resize(at + 1, List::default());
        }
        if let Some(list) = self.lists.get_mut(at) {
            list.push(slot, links);
        }
        tick
    }

    /// Takes `slot` out of the list of `tick`, which `insert` had said.
    pub(crate) fn remove(
        &mut self,
        slot: u32,
        tick: u64,
        links: impl FnMut(u32, &mut dyn FnMut(&mut Links)),
    ) {
        let at = tick
            .checked_sub(self.next)
            .and_then(|at| usize::try_from(at).ok());
        if let Some(list) = at.and_then(|at| self.lists.get_mut(at)) {
            list.remove(slot, links);
        }
    }

    /// The first slot that is due at `tick`; it stays until it is removed.
    pub(crate) fn due(&self, tick: u64) -> Option<u32> {
        let list = self.lists.front().filter(|_| self.next <= tick)?;
        (list.first != NONE).then_some(list.first)
    }

    /// The lists up to and including `tick` are empty: it has fired.
    pub(crate) fn fired(&mut self, tick: u64) {
        while self.next <= tick {
            if self.lists.pop_front().is_none() {
                self.next = tick + 1;
                return;
            }
            self.next += 1;
        }
    }
}
