//! Records between the consumer's thread and the log: their offsets, how many there are, and waiting for them.

use super::offsets::{Offsets, Place, Ticket};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

/// Records under way at once; the intake budget bounds their bytes. Enough that the log's group commit is full, few
/// enough that a dead log holds little back.
const MOST: usize = 512;

/// Shared by the consumer's thread, which begins records, and the tasks that end them.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    offsets: Offsets,
    records: usize,
}

/// One record under way; when it goes, the record is no longer.
#[derive(Debug)]
pub(super) struct Begun {
    under_way: Arc<UnderWay>,
    ticket: Ticket,
}

impl UnderWay {
    /// Access to the offsets, for a moment.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Offsets) -> T) -> T {
        act(&mut self.state.lock().offsets)
    }

    /// A record was read; `None` when its partition is not ours.
    pub(super) fn begin(
        this: &Arc<Self>,
        topic: &str,
        partition: i32,
        offset: i64,
    ) -> Option<Begun> {
        let mut state = this.state.lock();
        let ticket = state.offsets.begin(topic, partition, offset)?;
        state.records += 1;
        Some(Begun {
            under_way: this.clone(),
            ticket,
        })
    }

    pub(super) fn is_full(&self) -> bool {
        self.state.lock().records >= MOST
    }

    /// Waits until a record ends, at most so long.
    pub(super) fn wait_for_one(&self, most: Duration) {
        let mut state = self.state.lock();
        self.ended.wait_for(&mut state, most);
    }

    /// Waits until nothing of these partitions is under way; `false` when that takes longer.
    pub(super) fn wait_for(&self, partitions: &[(Arc<str>, i32)], most: Duration) -> bool {
        let mut state = self.state.lock();
        let open = |state: &mut State| state.offsets.any_open(partitions);
        !self
            .ended
            .wait_while_for(&mut state, open, most)
            .timed_out()
    }

    /// Waits until no record is under way; `false` when that takes longer.
    pub(super) fn wait_for_all(&self, most: Duration) -> bool {
        let mut state = self.state.lock();
        let open = |state: &mut State| state.records > 0;
        !self
            .ended
            .wait_while_for(&mut state, open, most)
            .timed_out()
    }

    /// What can be committed.
    pub(super) fn take_due(&self) -> Vec<Place> {
        self.with(Offsets::take_due)
    }
}

impl Begun {
    /// Where the record stands.
    pub(super) fn place(&self) -> (&str, i32, i64) {
        (
            &self.ticket.topic,
            self.ticket.partition,
            self.ticket.offset,
        )
    }

    /// The log has it, or it is passed over for good.
    pub(super) fn done(self) {
        let offsets = &mut self.under_way.state.lock().offsets;
        offsets.finish(&self.ticket);
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.under_way.state.lock().records -= 1;
        self.under_way.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_with_the_record() {
        let under_way: Arc<UnderWay> = Arc::default();
        let soon = Duration::from_millis(1);
        under_way.with(|offsets| offsets.own("t", 0, None));
        assert!(UnderWay::begin(&under_way, "t", 1, 0).is_none());
        let one = UnderWay::begin(&under_way, "t", 0, 7).unwrap();
        assert_eq!(one.place(), ("t", 0, 7));
        assert!(!under_way.wait_for_all(soon));
        assert!(!under_way.wait_for(&[("t".into(), 0)], soon));
        assert!(under_way.wait_for(&[("t".into(), 1)], soon));
        one.done();
        assert!(under_way.wait_for_all(soon));
        assert_eq!(under_way.take_due(), [("t".into(), 0, 8)]);
        // One that is left undone is not under way, and not committed.
        drop(UnderWay::begin(&under_way, "t", 0, 8));
        assert!(under_way.wait_for_all(soon) && under_way.take_due().is_empty());
        assert!(!under_way.is_full());
    }
}
