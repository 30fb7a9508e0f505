//! What has been decided within the late window: an exact map, bounded in bytes.
//!
//! A late piece follows the decision of its trace for the window after the trace's last piece. When the map is full the
//! oldest entries of the service that has most of it are forgotten early and counted: their ids would be new again. So a
//! service has what others leave, and a busy one takes nothing from a quiet one. Where late evidence may bring a dropped
//! trace back, its pieces are remembered with it (`left`).

use super::left::Left;
use crate::log::ServiceId;
use crate::otlp::TraceId;
use hashbrown::HashMap;
use std::collections::VecDeque;

/// A decision as late pieces need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Remembered {
    /// Log time of the trace's last piece, whole seconds.
    pub(crate) last_second: u32,
    pub(crate) policy: Option<u16>,
    /// Which child of a `composite`.
    pub(crate) child: Option<u16>,
    pub(crate) keep: bool,
    /// The sampling threshold it was kept under.
    pub(crate) threshold: u64,
    /// Who is charged.
    pub(crate) service: ServiceId,
}

/// Map entry and control byte of `hashbrown`, and the queue's entry, as they are when both have just grown: the map is seven
/// sixteenths full, the queue half.
const ENTRY_BYTES: u64 =
    ((size_of::<(u128, Remembered)>() + 1) * 16 / 7 + 2 * size_of::<([u64; 2], u32)>()) as u64;
/// A map or queue that is less than this part full gives memory back.
const SPARSE_PART: usize = 4;
/// ...but for what is not worth it.
const SMALL: usize = 1024;
/// What is forgotten at once, as a part of what is remembered.
const STRETCH_PART: usize = 1024;

/// Ids of one service in order of decision, each with its last second; one whose trace got a piece since is put back at the
/// end. Ids of which the service is another one by now may be among them.
type Queue = VecDeque<([u64; 2], u32)>;

#[derive(Debug)]
pub(crate) struct DecisionMemory {
    decided: HashMap<u128, Remembered, foldhash::fast::RandomState>,
    queues: HashMap<ServiceId, Queue, foldhash::fast::RandomState>,
    /// Bytes of each service.
    held: HashMap<ServiceId, u64, foldhash::fast::RandomState>,
    window: u32,
    limit: u64,
    /// Where dropped traces lie.
    left: HashMap<u128, Left, foldhash::fast::RandomState>,
    left_bytes: u64,
    /// Bytes by service, more or fewer since the last [`Self::take_charges`].
    charges: HashMap<ServiceId, i64, foldhash::fast::RandomState>,
    /// Forgotten before their window was over.
    pub(crate) forgotten: u64,
}

impl DecisionMemory {
    /// `window` in seconds, `limit` in bytes.
    pub(crate) fn new(window: u32, limit: u64) -> Self {
        Self {
            decided: HashMap::default(),
            queues: HashMap::default(),
            held: HashMap::default(),
            window,
            limit: limit.max(ENTRY_BYTES),
            left: HashMap::default(),
            left_bytes: 0,
            charges: HashMap::default(),
            forgotten: 0,
        }
    }

    pub(crate) fn insert(&mut self, trace: TraceId, remembered: Remembered) {
        let id = trace.0;
        let Remembered {
            last_second,
            service,
            keep,
            ..
        } = remembered;
        if keep {
            self.take_left(trace);
        }
        let moved = self.left.get(&id).map_or(0, Left::bytes);
        if let Some(old) = self.decided.insert(id, remembered) {
            self.charge(old.service, -signed(ENTRY_BYTES + moved));
        }
        self.charge(service, signed(ENTRY_BYTES + moved));
        let queue = self.queues.entry(service).or_default();
        queue.push_back((halves(id), last_second));
        self.forget_excess();
    }

    /// Forgets in stretches, so that the services are not compared for each id.
    fn forget_excess(&mut self) {
        while self.bytes() > self.limit {
            let bytes = self.held.iter().map(|(service, bytes)| (*bytes, *service));
            let Some((_, service)) = bytes.max() else {
                return;
            };
            let stretch = 1 + self.decided.len() / STRETCH_PART;
            if !(0..stretch).all(|_| self.forget_oldest(service)) {
                self.held.remove(&service);
            }
        }
    }

    /// A trace that is remembered as dropped has left this; a further piece of it joins what it had left before.
    pub(crate) fn leave(&mut self, trace: TraceId, left: Left, late: bool) {
        let Some(service) = self
            .decided
            .get(&trace.0)
            .filter(|remembered| !remembered.keep)
            .map(|remembered| remembered.service)
        else {
            return;
        };
        let left = match self.take_left(trace).filter(|_| late) {
            Some(mut before) => {
                before.extend(left);
                before
            }
            None => left,
        };
        self.left_bytes += left.bytes();
        self.charge(service, signed(left.bytes()));
        self.left.insert(trace.0, left);
        self.forget_excess();
    }

    /// What the trace has left, which is forgotten.
    pub(crate) fn take_left(&mut self, trace: TraceId) -> Option<Left> {
        let left = self.left.remove(&trace.0)?;
        self.left_bytes -= left.bytes();
        if let Some(remembered) = self.decided.get(&trace.0) {
            self.charge(remembered.service, -signed(left.bytes()));
        }
        Some(left)
    }

    /// The decision of a remembered trace is amended: kept for this policy, under this threshold.
    pub(crate) fn amend(&mut self, trace: TraceId, policy: Option<u16>, threshold: u64) {
        if let Some(remembered) = self.decided.get_mut(&trace.0) {
            (remembered.keep, remembered.policy, remembered.child) = (true, policy, None);
            remembered.threshold = threshold;
        }
    }

    /// Forgets what was decided first for a service; `false` when nothing is left.
    fn forget_oldest(&mut self, service: ServiceId) -> bool {
        let oldest = self.queues.get_mut(&service).and_then(VecDeque::pop_front);
        let Some((id, _)) = oldest else {
            return false;
        };
        let id = whole(id);
        if self.is_of(id, service) {
            self.forgotten += u64::from(self.remove(id));
        }
        true
    }

    fn is_of(&self, id: u128, service: ServiceId) -> bool {
        let remembered = self.decided.get(&id);
        remembered.is_some_and(|remembered| remembered.service == service)
    }

    fn remove(&mut self, id: u128) -> bool {
        self.take_left(TraceId(id));
        let removed = self.decided.remove(&id);
        if let Some(remembered) = removed {
            self.charge(remembered.service, -signed(ENTRY_BYTES));
        }
        removed.is_some()
    }

    fn charge(&mut self, service: ServiceId, bytes: i64) {
        *self.charges.entry(service).or_default() += bytes;
        let held = self.held.entry(service).or_default();
        *held = held.saturating_add_signed(bytes);
    }

    /// Bytes by service, more or fewer since the last call.
    pub(crate) fn take_charges(&mut self) -> impl Iterator<Item = (ServiceId, i64)> {
        self.charges.drain()
    }

    /// The decision of a trace that a piece at `second` belongs to; the piece prolongs the window.
    pub(crate) fn late(&mut self, trace: TraceId, second: u32) -> Option<Remembered> {
        let window = self.window;
        let remembered = self.decided.get_mut(&trace.0)?;
        if remembered.last_second.saturating_add(window) < second {
            return None;
        }
        remembered.last_second = remembered.last_second.max(second);
        Some(*remembered)
    }

    /// Forgets what is over at `second`.
    pub(crate) fn expire(&mut self, second: u32) {
        let mut queues = std::mem::take(&mut self.queues);
        for (service, queue) in &mut queues {
            self.expire_queue(*service, queue, second);
        }
        queues.retain(|_, queue| !queue.is_empty());
        queues.values_mut().for_each(shrink);
        self.held.retain(|_, bytes| *bytes > 0);
        self.queues = queues;
        if is_sparse(self.decided.len(), self.decided.capacity()) {
            self.decided.shrink_to(2 * self.decided.len());
        }
    }

    fn expire_queue(&mut self, service: ServiceId, queue: &mut Queue, second: u32) {
        while let Some((id, queued)) = queue.front().copied()
            && queued.saturating_add(self.window) < second
        {
            queue.pop_front();
            let id = whole(id);
            if !self.is_of(id, service) {
                continue;
            }
            let last = self
                .decided
                .get(&id)
                .map_or(0, |remembered| remembered.last_second);
            if last.saturating_add(self.window) < second {
                self.remove(id);
            } else if last > queued {
                queue.push_back((halves(id), last));
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.decided.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.decided.len() as u64 * ENTRY_BYTES + self.left_bytes
    }
}

fn shrink(queue: &mut Queue) {
    if is_sparse(queue.len(), queue.capacity()) {
        queue.shrink_to(2 * queue.len());
    }
}

fn is_sparse(len: usize, capacity: usize) -> bool {
    len.max(SMALL) < capacity / SPARSE_PART
}

fn signed(bytes: u64) -> i64 {
    bytes.cast_signed()
}

#[allow(clippy::cast_possible_truncation, reason = "the two halves")]
fn halves(id: u128) -> [u64; 2] {
    [id as u64, (id >> 64) as u64]
}

fn whole(id: [u64; 2]) -> u128 {
    u128::from(id[0]) | u128::from(id[1]) << 64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Ref;
    use crate::sampler::packed::PackedRef;

    fn remembered(keep: bool, last_second: u32, service: u32) -> Remembered {
        Remembered {
            last_second,
            policy: None,
            child: None,
            keep,
            threshold: 0,
            service: ServiceId(service),
        }
    }

    #[test]
    fn remembers_for_the_window_after_the_last_piece() {
        let mut memory = DecisionMemory::new(10, 1 << 20);
        memory.insert(TraceId(1), remembered(true, 100, 0));
        memory.insert(TraceId(2), remembered(false, 100, 0));
        assert!(
            memory
                .late(TraceId(1), 110)
                .is_some_and(|remembered| remembered.keep)
        );
        memory.expire(115);
        assert_eq!(memory.len(), 1, "2 is over, 1 was prolonged");
        assert!(memory.late(TraceId(1), 120).is_some());
        assert!(memory.late(TraceId(2), 115).is_none());
        memory.expire(131);
        assert_eq!((memory.len(), memory.forgotten), (0, 0));
    }

    /// Bytes of the allocations.
    fn allocated(memory: &DecisionMemory) -> u64 {
        let queues = memory
            .queues
            .values()
            .map(VecDeque::capacity)
            .sum::<usize>();
        let maps = memory.decided.allocation_size() + memory.left.allocation_size();
        (maps + queues * size_of::<([u64; 2], u32)>()) as u64
    }

    /// Whatever the number of ids, what is charged is not less than what is allocated, nor twice as much.
    #[test]
    fn what_is_charged_is_what_is_allocated() {
        let mut memory = DecisionMemory::new(10, u64::MAX);
        for id in 1..=150_000_u32 {
            memory.insert(TraceId(u128::from(id)), remembered(id % 2 == 0, 0, id % 3));
            if id > 1000 && (id % 997 == 0 || (id.ilog2() != (id - 3).ilog2())) {
                let (charged, held) = (memory.bytes(), allocated(&memory));
                assert!(
                    held <= charged && charged <= 2 * held,
                    "{id}: {held} of {charged}"
                );
            }
        }
        assert!((1..=3000).all(|id| memory.late(TraceId(id), 10).is_some()));
        memory.expire(12);
        assert_eq!(memory.len(), 3000);
        let (charged, held) = (memory.bytes(), allocated(&memory));
        assert!(
            held <= 4 * charged,
            "{held} of {charged} after most are gone"
        );
    }

    #[test]
    fn is_bounded_in_bytes() {
        let mut memory = DecisionMemory::new(10, 10 * ENTRY_BYTES);
        (1..=25).for_each(|id| memory.insert(TraceId(id), remembered(true, 0, 0)));
        assert_eq!((memory.len(), memory.forgotten), (10, 15));
        assert!(memory.late(TraceId(25), 1).is_some());
    }

    #[test]
    fn a_busy_service_takes_nothing_from_a_quiet_one() {
        let mut memory = DecisionMemory::new(10, 100 * ENTRY_BYTES);
        (1..=20).for_each(|id| memory.insert(TraceId(id), remembered(true, 0, 1)));
        // What is idle is lent...
        (100..180).for_each(|id| memory.insert(TraceId(id), remembered(true, 0, 2)));
        assert_eq!((memory.len(), memory.forgotten), (100, 0));
        (200..1000).for_each(|id| memory.insert(TraceId(id), remembered(true, 0, 2)));
        let known = |memory: &mut DecisionMemory, ids: std::ops::RangeInclusive<u128>| {
            ids.filter(|id| memory.late(TraceId(*id), 1).is_some())
                .count()
        };
        assert_eq!(known(&mut memory, 1..=20), 20);
        assert_eq!(known(&mut memory, 920..=999), 80, "its own newest");
        // ...and taken back, down to the same for both.
        (2000..2100).for_each(|id| memory.insert(TraceId(id), remembered(true, 0, 1)));
        assert_eq!(known(&mut memory, 2050..=2099), 50);
        assert_eq!(known(&mut memory, 950..=999), 50);
        assert_eq!(memory.len(), 100);
        memory.expire(100);
        assert_eq!(
            (memory.len(), memory.queues.len(), memory.held.len()),
            (0, 0, 0)
        );
    }

    /// An id that another service has by now is not forgotten with the one that had it.
    #[test]
    fn an_id_goes_with_its_service() {
        let mut memory = DecisionMemory::new(10, 4 * ENTRY_BYTES);
        memory.insert(TraceId(1), remembered(true, 0, 1));
        memory.insert(TraceId(1), remembered(true, 5, 2));
        (2..=4).for_each(|id| memory.insert(TraceId(id), remembered(true, 5, 1)));
        memory.insert(TraceId(5), remembered(true, 5, 1));
        assert_eq!((memory.len(), memory.forgotten), (4, 1));
        assert!(memory.late(TraceId(1), 6).is_some());
        assert!(memory.late(TraceId(2), 6).is_none());
        memory.expire(11);
        assert_eq!(memory.len(), 4);
    }

    #[test]
    fn charges_add_up_to_what_is_held() {
        let mut memory = DecisionMemory::new(10, 3 * ENTRY_BYTES);
        let mut held = std::collections::BTreeMap::<u32, i64>::new();
        let mut check = |memory: &mut DecisionMemory, expected: &[(u32, i64)]| {
            memory
                .take_charges()
                .for_each(|(service, bytes)| *held.entry(service.0).or_default() += bytes);
            let found: Vec<_> = held
                .iter()
                .map(|(service, bytes)| (*service, *bytes))
                .collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|(service, ids)| (*service, ids * ENTRY_BYTES.cast_signed()))
                .collect();
            assert_eq!(found, expected);
        };
        memory.insert(TraceId(1), remembered(true, 0, 1));
        memory.insert(TraceId(2), remembered(true, 0, 2));
        check(&mut memory, &[(1, 1), (2, 1)]);
        memory.insert(TraceId(1), remembered(true, 5, 2));
        check(&mut memory, &[(1, 0), (2, 2)]);
        memory.insert(TraceId(3), remembered(true, 6, 3));
        memory.insert(TraceId(4), remembered(true, 20, 3));
        check(&mut memory, &[(1, 0), (2, 2), (3, 1)]);
        memory.expire(100);
        check(&mut memory, &[(1, 0), (2, 0), (3, 0)]);
        assert_eq!(memory.len(), 0);
    }

    fn left(positions: std::ops::Range<u64>) -> Left {
        let places = positions.clone().map(|position| {
            let place = Ref {
                position,
                offset: 64,
                length: 10,
            };
            PackedRef::new(place, 1)
        });
        Left {
            first: positions.start,
            last: positions.end - 1,
            spans: positions.end - positions.start,
            first_second: 0,
            pressure_until: None,
            places: Some(places.collect()),
        }
    }

    #[test]
    fn what_dropped_traces_left_goes_with_them() {
        let mut memory = DecisionMemory::new(10, 1 << 20);
        for (trace, keep) in [(1, false), (2, true), (3, false)] {
            memory.insert(TraceId(trace), remembered(keep, 100, 0));
            memory.leave(TraceId(trace), left(5..7), false);
        }
        memory.leave(TraceId(1), left(9..10), true);
        assert_eq!(memory.take_left(TraceId(2)), None, "it was kept");
        let mut whole = left(5..7);
        whole.extend(left(9..10));
        assert_eq!(memory.take_left(TraceId(1)), Some(whole));
        memory.amend(TraceId(1), Some(4), 7);
        let now = memory.late(TraceId(1), 100).unwrap();
        assert_eq!((now.keep, now.policy, now.threshold), (true, Some(4), 7));
        memory.insert(TraceId(3), remembered(true, 100, 0));
        assert_eq!(memory.take_left(TraceId(3)), None, "a later life was kept");
        memory.expire(200);
        assert_eq!(memory.bytes(), 0);
        let held: i64 = memory.take_charges().map(|(_, bytes)| bytes).sum();
        assert_eq!(held, 0);
    }

    #[test]
    fn what_is_left_counts_against_the_limit() {
        let mut memory = DecisionMemory::new(10, 10 * ENTRY_BYTES);
        for id in 1..=25 {
            memory.insert(TraceId(id), remembered(false, 0, 0));
            memory.leave(TraceId(id), left(5..7), false);
        }
        assert!(memory.bytes() <= 10 * ENTRY_BYTES, "{}", memory.bytes());
        assert!(memory.take_left(TraceId(25)).is_some());
    }
}
