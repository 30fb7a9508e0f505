//! Records of one partition between the group's reader and the partition's worker, and the partition's log time.
//!
//! Invariants: records come out in the order of their offsets; while the end of the partition has not been reached, time
//! moves with records alone; at the end it moves with the monotonic clock, a second behind the broker's.

use crate::clock::{Nanos, SECOND, SharedClock};
use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A record may come with a stamp as much older than the time at the broker: batches on their way.
const BEHIND: Nanos = SECOND;
/// Time does not jump further than this ahead of the monotonic clock: design.md section 2.
const JUMP: Nanos = 5 * SECOND;

/// A record that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) offset: i64,
    /// LogAppendTime, nanoseconds.
    pub(crate) stamp: u64,
    pub(crate) value: Bytes,
}

/// What a record costs beside its value.
const RECORD_OVERHEAD: u64 = size_of::<Record>() as u64;

impl Record {
    fn bytes(&self) -> u64 {
        self.value.len() as u64 + RECORD_OVERHEAD
    }
}

/// What the queue has for the worker.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Record(Record),
    /// Nothing came; it is so late in log time, as far as that is known.
    Idle(u64),
    Closed,
}

/// The queue of one partition.
#[derive(Debug)]
pub(crate) struct PartitionQueue {
    state: Mutex<State>,
    changed: Condvar,
    clock: SharedClock,
    /// Bytes in all queues of the process.
    held: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct State {
    records: VecDeque<Record>,
    /// Offset after the last record that came.
    end: i64,
    /// What lies below was read in a life before.
    floor: i64,
    /// Everything that the partition has is here, or was: nothing lies between the last record and now.
    caught_up: bool,
    /// It was so once: what has come since is no replay.
    live: bool,
    /// Of the last record that was taken: none with a lower stamp follows.
    taken: u64,
    /// The broker's time and the monotonic one at the same moment.
    clocks: Option<(u64, Nanos)>,
    /// A record has told the broker's time.
    told: bool,
    closed: bool,
}

impl PartitionQueue {
    pub(crate) fn new(end: i64, clock: SharedClock, held: Arc<AtomicU64>) -> Self {
        let state = State {
            end,
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            clock,
            held,
        }
    }

    pub(crate) fn push(&self, mut record: Record) {
        let mut state = self.state.lock();
        if state.closed || record.offset < state.end.max(state.floor) {
            return;
        }
        if state.live {
            record.stamp = self.live(&mut state, record.stamp);
        }
        state.caught_up = false;
        state.end = record.offset + 1;
        self.held.fetch_add(record.bytes(), Ordering::Relaxed);
        state.records.push_back(record);
        drop(state);
        self.changed.notify_one();
    }

    /// The stamp of a record that has just come, and what it says of the broker's clock.
    fn live(&self, state: &mut State, stamp: u64) -> u64 {
        let now = self.clock.monotonic();
        let Some((known, at)) = state.clocks.filter(|_| state.told) else {
            (state.clocks, state.told) = (Some((stamp, now)), true);
            return stamp;
        };
        let expected = known.saturating_add(now.saturating_sub(at));
        let stamp = stamp.min(expected.saturating_add(JUMP));
        // A record is never younger than the broker's clock: what is more than expected, the clock has gone on.
        if stamp > expected {
            state.clocks = Some((stamp, now));
        }
        stamp
    }

    /// The reader has reached the end of the partition, as it is at the moment.
    pub(crate) fn caught_up(&self) {
        let mut state = self.state.lock();
        state.caught_up = true;
        if !std::mem::replace(&mut state.live, true) {
            // Until a record tells the broker's time, ours must do.
            state.clocks = Some((self.clock.unix(), self.clock.monotonic()));
        }
        drop(state);
        self.changed.notify_one();
    }

    /// The next record; waits for up to `timeout`.
    pub(crate) fn next(&self, timeout: Duration) -> Next {
        let mut state = self.state.lock();
        if state.records.is_empty() && !state.closed && !timeout.is_zero() {
            self.changed.wait_for(&mut state, timeout);
        }
        if state.closed {
            return Next::Closed;
        }
        if let Some(record) = state.records.pop_front() {
            self.held.fetch_sub(record.bytes(), Ordering::Relaxed);
            state.taken = record.stamp;
            return Next::Record(record);
        }
        Next::Idle(self.now(&state))
    }

    fn now(&self, state: &State) -> u64 {
        let clocks = state.clocks.filter(|_| state.caught_up);
        clocks.map_or(state.taken, |(known, at)| {
            let since = self.clock.monotonic().saturating_sub(at);
            known.saturating_add(since).saturating_sub(BEHIND)
        })
    }

    /// Records below `floor` are not wanted.
    pub(crate) fn skip_below(&self, floor: i64) {
        let mut state = self.state.lock();
        state.floor = floor;
        while state
            .records
            .front()
            .is_some_and(|record| record.offset < floor)
            && let Some(record) = state.records.pop_front()
        {
            self.held.fetch_sub(record.bytes(), Ordering::Relaxed);
        }
    }

    /// The partition goes on at `offset`, which lies behind a gap, or before what was read: brokers have lost records.
    pub(crate) fn restart_at(&self, offset: i64) {
        let mut state = self.state.lock();
        (state.end, state.floor) = (offset, offset);
    }

    /// Offset after the last record that came.
    pub(crate) fn end(&self) -> i64 {
        self.state.lock().end
    }

    /// The partition is not ours any more: what is here will be read by the next owner.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let bytes: u64 = state.records.drain(..).map(|record| record.bytes()).sum();
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        drop(state);
        self.changed.notify_one();
    }
}

impl Drop for PartitionQueue {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    const START: u64 = 1_700_000_000 * SECOND;

    fn record(offset: i64, stamp: u64) -> Record {
        Record {
            offset,
            stamp,
            value: Bytes::from_static(b"value"),
        }
    }

    #[test]
    fn records_come_in_order_and_once() {
        let clock = Arc::new(ManualClock::at(START));
        let held = Arc::new(AtomicU64::new(0));
        let queue = PartitionQueue::new(7, clock, held.clone());
        for offset in [5, 7, 8, 8] {
            queue.push(record(offset, START));
        }
        assert_eq!(queue.end(), 9);
        assert_eq!(held.load(Ordering::Relaxed), 2 * record(0, 0).bytes());
        for offset in [7, 8] {
            assert_eq!(
                queue.next(Duration::ZERO),
                Next::Record(record(offset, START))
            );
        }
        assert_eq!(held.load(Ordering::Relaxed), 0);
        queue.push(record(9, START));
        queue.close();
        assert_eq!(queue.next(Duration::ZERO), Next::Closed);
        assert_eq!(held.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_is_not_wanted_is_left_out_and_a_shorter_partition_goes_on() {
        let clock = Arc::new(ManualClock::at(START));
        let held = Arc::new(AtomicU64::new(0));
        let queue = PartitionQueue::new(0, clock, held.clone());
        queue.push(record(1, START));
        queue.skip_below(3);
        for offset in [2, 3, 9] {
            queue.push(record(offset, START));
        }
        queue.restart_at(5);
        queue.push(record(5, START));
        for offset in [3, 9, 5] {
            let next = queue.next(Duration::ZERO);
            assert_eq!(next, Next::Record(record(offset, START)));
        }
        assert_eq!((queue.end(), held.load(Ordering::Relaxed)), (6, 0));
    }

    #[test]
    fn time_goes_on_at_the_end_and_not_before() {
        let clock = Arc::new(ManualClock::at(START));
        let queue = PartitionQueue::new(0, clock.clone(), Arc::default());
        clock.advance(9 * SECOND);
        assert_eq!(queue.next(Duration::ZERO), Next::Idle(0));
        queue.caught_up();
        let idle = |now| assert_eq!(queue.next(Duration::ZERO), Next::Idle(now));
        idle(START + 8 * SECOND);
        // The broker's clock is three seconds behind ours: it is its time that counts.
        queue.push(record(0, START + 6 * SECOND));
        assert!(matches!(queue.next(Duration::ZERO), Next::Record(_)));
        clock.advance(2 * SECOND);
        // There may be more records, which were not read yet.
        idle(START + 6 * SECOND);
        queue.caught_up();
        idle(START + 7 * SECOND);
    }

    #[test]
    fn a_broker_whose_clock_jumps_takes_time_along_slowly() {
        let clock = Arc::new(ManualClock::at(START));
        let queue = PartitionQueue::new(0, clock.clone(), Arc::default());
        queue.caught_up();
        queue.push(record(0, START));
        queue.push(record(1, START + 3600 * SECOND));
        let stamp = |expected| match queue.next(Duration::ZERO) {
            Next::Record(record) => assert_eq!(record.stamp, expected),
            other => panic!("{other:?}"),
        };
        stamp(START);
        stamp(START + JUMP);
    }
}
