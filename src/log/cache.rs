//! Recent payload in memory, in front of the store.
//!
//! Blocks of one service and one frame. What idle services leave of the cache is lent: a service goes beyond its cap as long
//! as there is room. Where there is none, it is taken back: from the service that is furthest over its cap, all that it
//! holds counted, its oldest block first; where none is over, the oldest block of all goes. So whoever is within its cap
//! loses nothing to whoever is not. Invariants: the charge of a block is what it holds of memory; a service's queue holds exactly its cached
//! blocks, by position; `undecided` of an account is the sum over its cached blocks, with a block's overhead while any of
//! its pieces is undecided. The cache decides nothing: a piece that left it is read from the store.

use super::account::Account;
use super::api::Block;
use super::frame::FRAME_HEADER;
use super::piece::PIECE_HEADER;
use super::refs::Ref;
use super::services::{ServiceId, Services};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What the cache holds beside a block's bytes: slot, tree and queue entries, the allocator's rounding.
const BLOCK_OVERHEAD: u64 = 128;
/// Pieces settled before others get the lock.
const SETTLE_CHUNK: usize = 1024;

#[derive(Debug)]
pub(crate) struct Cache {
    limit: u64,
    services: Arc<Services>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By frame position; the blocks of a frame by `begin`.
    frames: BTreeMap<u64, Vec<Slot>>,
    /// Position and `begin` of each service's blocks, oldest first.
    queues: HashMap<ServiceId, Queue>,
    /// Services with blocks that were over their cap when the last of them came.
    lent: BTreeSet<ServiceId>,
    total: u64,
}

#[derive(Debug)]
struct Queue {
    account: Arc<Account>,
    blocks: VecDeque<(u64, u32)>,
}

#[derive(Debug)]
struct Slot {
    /// Distance of its first byte from the frame's.
    begin: u32,
    bytes: Bytes,
    /// Bytes of its undecided pieces, headers included.
    undecided: u64,
    account: Arc<Account>,
}

impl Slot {
    fn charge(&self) -> u64 {
        self.bytes.len() as u64 + BLOCK_OVERHEAD
    }

    /// What of the charge is for undecided pieces.
    fn undecided_charge(&self) -> u64 {
        if self.undecided > 0 {
            self.undecided + BLOCK_OVERHEAD
        } else {
            0
        }
    }

    /// The bytes of a piece, if it is in this block.
    fn piece(&self, place: Ref) -> Option<&[u8]> {
        let begin = place.offset.checked_sub(self.begin)? as usize;
        self.bytes
            .get(begin..begin.checked_add(place.length as usize)?)
    }
}

impl Cache {
    pub(crate) fn new(limit: u64, services: Arc<Services>) -> Self {
        Self {
            limit,
            services,
            state: Mutex::default(),
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> u64 {
        self.state.lock().total
    }

    /// Takes the blocks of new frames, each with its position, all pieces undecided.
    pub(crate) fn insert(&self, frames: impl Iterator<Item = (u64, Vec<Block>)>) {
        let mut state = self.state.lock();
        for (position, blocks) in frames {
            let mut begin = FRAME_HEADER as u32;
            for block in blocks {
                let length = block.bytes.len() as u32;
                let account = self.services.account(block.service);
                let undecided = u64::from(length);
                state.add(
                    position,
                    Slot {
                        begin,
                        bytes: block.bytes,
                        undecided,
                        account,
                    },
                    self.limit,
                );
                begin += length;
            }
        }
    }

    /// Takes a piece of a record that came from elsewhere; pieces of one record in their order.
    #[cfg_attr(not(feature = "kafka"), allow(dead_code))]
    pub(crate) fn insert_piece(&self, place: Ref, service: ServiceId, piece: &[u8]) {
        // A block begins in front of its first piece, as where pieces have headers.
        let mut bytes = Vec::with_capacity(piece.len() + 1);
        bytes.push(0);
        bytes.extend_from_slice(piece);
        let slot = Slot {
            begin: place.offset.saturating_sub(1),
            undecided: u64::from(place.length),
            bytes: bytes.into(),
            account: self.services.account(service),
        };
        self.state.lock().add(place.position, slot, self.limit);
    }

    /// A copy of the piece, so that a reader that keeps it does not keep the block.
    pub(crate) fn get(&self, place: Ref) -> Option<Bytes> {
        let state = self.state.lock();
        let slots = state.frames.get(&place.position)?;
        // A piece's header lies before its offset: an empty last piece belongs to the block that ends there.
        let slot = slots.get(
            slots
                .partition_point(|slot| slot.begin < place.offset)
                .checked_sub(1)?,
        )?;
        slot.piece(place).map(Bytes::copy_from_slice)
    }

    /// These pieces are decided.
    pub(crate) fn settle(&self, refs: &mut dyn Iterator<Item = Ref>) {
        let mut refs = refs.peekable();
        while refs.peek().is_some() {
            let mut state = self.state.lock();
            // Most pieces have left the cache long before they are decided.
            let oldest = state.frames.keys().next().copied().unwrap_or(u64::MAX);
            let mut frame: Option<(u64, &mut Vec<Slot>)> = None;
            let chunk = refs.by_ref().take(SETTLE_CHUNK);
            for place in chunk.filter(|place| place.position >= oldest) {
                if frame
                    .as_ref()
                    .is_none_or(|(position, _)| *position != place.position)
                {
                    frame = state
                        .frames
                        .get_mut(&place.position)
                        .map(|slots| (place.position, slots));
                }
                if let Some((_, slots)) = &mut frame {
                    settle_one(slots, place);
                }
            }
        }
    }
}

fn settle_one(slots: &mut [Slot], place: Ref) {
    let after = slots.partition_point(|slot| slot.begin < place.offset);
    let Some(slot) = after.checked_sub(1).and_then(|index| slots.get_mut(index)) else {
        return;
    };
    if slot.piece(place).is_some() {
        let before = slot.undecided_charge();
        slot.undecided = slot
            .undecided
            .saturating_sub(u64::from(place.length) + PIECE_HEADER as u64);
        slot.account
            .undecided
            .fetch_sub(before - slot.undecided_charge(), Ordering::Relaxed);
        slot.account.pressed.store(false, Ordering::Relaxed);
    }
}

impl State {
    fn add(&mut self, position: u64, slot: Slot, limit: u64) {
        let (charge, account) = (slot.charge(), Arc::clone(&slot.account));
        let Some(pressed) = self.make_room(&account, charge, limit) else {
            account.spilled.fetch_add(slot.undecided, Ordering::Relaxed);
            return;
        };
        account.pressed.fetch_or(pressed, Ordering::Relaxed);
        self.total += charge;
        account.cache.fetch_add(charge, Ordering::Relaxed);
        account
            .undecided
            .fetch_add(slot.undecided_charge(), Ordering::Relaxed);
        if account.excess(0) > 0 {
            self.lent.insert(account.id);
        }
        let queue = self.queues.entry(account.id).or_insert_with(|| Queue {
            account,
            blocks: VecDeque::new(),
        });
        queue.blocks.push_back((position, slot.begin));
        self.frames.entry(position).or_default().push(slot);
    }

    /// Makes room for a block of so many bytes; `None` when there is none for this service. `true`: undecided payload of it
    /// had to go, and it is full.
    fn make_room(&mut self, account: &Account, charge: u64, limit: u64) -> Option<bool> {
        if charge > limit {
            return None;
        }
        let mut pressed = false;
        while self.total + charge > limit {
            match self.furthest_over(account.id, charge) {
                Some(service) if service == account.id => {
                    let full = account.is_full_with(charge);
                    pressed |= self.evict(service)? > 0 && full;
                }
                Some(service) => self.take_back(service)?,
                // Nobody within its cap gives to what would be a loan.
                None if account.excess(charge) > 0 => return None,
                None => self.evict_oldest()?,
            }
        }
        Some(pressed)
    }

    /// From another service, which is pressed while some of its payload is undecided: by then its decisions would help.
    fn take_back(&mut self, service: ServiceId) -> Option<()> {
        let account = Arc::clone(&self.queues.get(&service)?.account);
        let full = account.is_full_with(0);
        let undecided = self.evict(service)?;
        let pressed = full && undecided > 0 && account.undecided.load(Ordering::Relaxed) > 0;
        account.pressed.fetch_or(pressed, Ordering::Relaxed);
        Some(())
    }

    /// Of the services with blocks, the one that is furthest over its cap, with `more` bytes for `own`.
    fn furthest_over(&self, own: ServiceId, more: u64) -> Option<ServiceId> {
        let excess = |service: &ServiceId| {
            let queue = self
                .queues
                .get(service)
                .filter(|queue| !queue.blocks.is_empty())?;
            let more = if *service == own { more } else { 0 };
            Some((queue.account.excess(more), *service))
        };
        let own = (!self.lent.contains(&own)).then_some(&own);
        let furthest = self.lent.iter().chain(own).filter_map(excess).max();
        furthest.and_then(|(excess, service)| (excess > 0).then_some(service))
    }

    /// Lets the oldest block of all go.
    fn evict_oldest(&mut self) -> Option<()> {
        let oldest = self.frames.values().next()?.first()?.account.id;
        self.evict(oldest).map(|_| ())
    }

    /// Lets the oldest block of a service go; its undecided bytes, or `None` when there is no block.
    fn evict(&mut self, service: ServiceId) -> Option<u64> {
        let (position, begin) = self.pop(service)?;
        let slots = self.frames.get_mut(&position)?;
        let slot = slots.remove(slots.binary_search_by_key(&begin, |slot| slot.begin).ok()?);
        if slots.is_empty() {
            self.frames.remove(&position);
        }
        let account = &slot.account;
        self.total -= slot.charge();
        account.cache.fetch_sub(slot.charge(), Ordering::Relaxed);
        account
            .undecided
            .fetch_sub(slot.undecided_charge(), Ordering::Relaxed);
        account.spilled.fetch_add(slot.undecided, Ordering::Relaxed);
        if account.undecided.load(Ordering::Relaxed) == 0 {
            account.pressed.store(false, Ordering::Relaxed);
        }
        Some(slot.undecided)
    }

    fn pop(&mut self, service: ServiceId) -> Option<(u64, u32)> {
        let queue = self.queues.get_mut(&service)?;
        let block = queue.blocks.pop_front();
        if queue.blocks.is_empty() {
            self.lent.remove(&service);
        }
        block
    }
}

impl Drop for Cache {
    /// The accounts outlive the cache where several logs share them.
    fn drop(&mut self) {
        for slot in self.state.get_mut().frames.values().flatten() {
            slot.account
                .cache
                .fetch_sub(slot.charge(), Ordering::Relaxed);
            slot.account
                .undecided
                .fetch_sub(slot.undecided_charge(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::piece::tests::body_of;
    use crate::log::services::tests::memory;
    use crate::log::settings::OnFull;
    use proptest::prelude::*;

    /// Caps: `a` and `b` 1000 bytes each, `big` 5000.
    const NAMES: [&str; 3] = ["a", "b", "big"];
    const CAPS: [u64; 3] = [1000, 1000, 5000];
    /// What they hold beside the cache.
    const OTHERS: [u64; 3] = [300, 0, 0];
    const IDS: [u32; 3] = [2, 3, 1];
    const LIMIT: u64 = 4000;

    /// A block as the model sees it: what it is charged and what of it is undecided.
    #[derive(Debug)]
    struct Model {
        service: usize,
        position: u64,
        begin: u32,
        length: u64,
        undecided: u64,
    }

    /// The same rules over one plain list.
    #[derive(Debug, Default)]
    struct Oracle {
        blocks: Vec<Model>,
        spilled: [u64; 3],
    }

    impl Oracle {
        fn charged(&self, service: Option<usize>) -> u64 {
            let of = |b: &&Model| service.is_none_or(|s| s == b.service);
            self.blocks
                .iter()
                .filter(of)
                .map(|b| b.length + BLOCK_OVERHEAD)
                .sum()
        }

        fn evict(&mut self, service: Option<usize>) {
            let index = self
                .blocks
                .iter()
                .position(|b| service.is_none_or(|s| s == b.service))
                .unwrap();
            let block = self.blocks.remove(index);
            self.spilled[block.service] += block.undecided;
        }

        /// By how much a service with blocks would be over its cap.
        fn excess(&self, service: usize, own: usize, charge: u64) -> Option<u64> {
            let held = self.charged(Some(service));
            let more = if service == own { charge } else { 0 };
            let over = (held + OTHERS[service] + more).saturating_sub(CAPS[service]);
            (held > 0 && over > 0).then_some(over)
        }

        fn insert(&mut self, block: Model) {
            let (own, charge) = (block.service, block.length + BLOCK_OVERHEAD);
            let spill = |oracle: &mut Self| oracle.spilled[own] += block.undecided;
            if charge > LIMIT {
                return spill(self);
            }
            while self.charged(None) + charge > LIMIT {
                let over =
                    |service| Some((self.excess(service, own, charge)?, IDS[service], service));
                match (0..3).filter_map(over).max() {
                    Some((.., service)) => self.evict(Some(service)),
                    None if OTHERS[own] + charge > CAPS[own] => return spill(self),
                    None => self.evict(None),
                }
            }
            self.blocks.push(block);
        }
    }

    #[derive(Debug, Clone)]
    enum Step {
        /// A frame: service and piece lengths of each block.
        Insert(Vec<(usize, Vec<usize>)>),
        /// Every piece of the nth frame whose index is a multiple.
        Settle(usize, usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let block = (0..3usize, prop::collection::vec(0..300usize, 1..4));
        prop_oneof![
            3 => prop::collection::vec(block, 1..4).prop_map(Step::Insert),
            1 => (0..20usize, 1..3usize).prop_map(|(frame, every)| Step::Settle(frame, every)),
        ]
    }

    /// One piece of a frame that was inserted.
    struct Known {
        place: Ref,
        begin: u32,
        fill: u8,
        settled: bool,
    }

    fn insert(
        cache: &Cache,
        oracle: &mut Oracle,
        position: u64,
        blocks: &[(usize, Vec<usize>)],
    ) -> Vec<Known> {
        let mut known = Vec::new();
        let mut made = Vec::new();
        let mut begin = FRAME_HEADER as u32;
        for (service, lengths) in blocks {
            let bodies: Vec<Vec<u8>> = lengths
                .iter()
                .map(|n| vec![(position as u8).wrapping_add(begin as u8); *n])
                .collect();
            let bytes = body_of(&bodies.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let mut offset = begin;
            for length in lengths {
                offset += PIECE_HEADER as u32;
                let fill = (position as u8).wrapping_add(begin as u8);
                known.push(Known {
                    place: Ref {
                        position,
                        offset,
                        length: *length as u32,
                    },
                    begin,
                    fill,
                    settled: false,
                });
                offset += *length as u32;
            }
            let (service, length) = (*service, bytes.len() as u64);
            oracle.insert(Model {
                service,
                position,
                begin,
                length,
                undecided: length,
            });
            begin += bytes.len() as u32;
            made.push(Block {
                service: ServiceId(IDS[service]),
                bytes,
                pieces: lengths.len() as u32,
            });
        }
        cache.insert(std::iter::once((position, made)));
        known
    }

    fn settle(cache: &Cache, oracle: &mut Oracle, frame: &mut [Known], every: usize) {
        let now: Vec<&mut Known> = frame
            .iter_mut()
            .step_by(every)
            .filter(|p| !p.settled)
            .collect();
        cache.settle(&mut now.iter().map(|p| p.place));
        for piece in now {
            piece.settled = true;
            let whole = u64::from(piece.place.length) + PIECE_HEADER as u64;
            let is_its =
                |b: &&mut Model| (b.position, b.begin) == (piece.place.position, piece.begin);
            if let Some(block) = oracle.blocks.iter_mut().find(is_its) {
                block.undecided -= whole;
            }
        }
    }

    fn check(cache: &Cache, services: &Services, oracle: &Oracle, frames: &[Vec<Known>]) {
        assert_eq!(cache.bytes(), oracle.charged(None));
        for (service, name) in NAMES.iter().enumerate() {
            let account = services.account(services.intern(name));
            let read = |n: &std::sync::atomic::AtomicU64| n.load(Ordering::Relaxed);
            let open = oracle
                .blocks
                .iter()
                .filter(|b| b.service == service && b.undecided > 0);
            let undecided = open.map(|b| b.undecided + BLOCK_OVERHEAD).sum::<u64>();
            assert_eq!(read(&account.cache), oracle.charged(Some(service)));
            assert_eq!(
                (read(&account.undecided), read(&account.spilled)),
                (undecided, oracle.spilled[service])
            );
        }
        for piece in frames.iter().flatten() {
            let cached = oracle
                .blocks
                .iter()
                .any(|b| (b.position, b.begin) == (piece.place.position, piece.begin));
            let found = cache.get(piece.place);
            assert_eq!(found.is_some(), cached);
            assert!(
                found.is_none_or(|f| f.len() == piece.place.length as usize
                    && f.iter().all(|b| *b == piece.fill))
            );
        }
    }

    proptest! {
        #![proptest_config(crate::cases::cases(64))]
        #[test]
        fn accounts_agree_with_a_plain_list(steps in prop::collection::vec(step(), 1..40)) {
            let services = Arc::new(Services::new(&memory(OnFull::Spill)));
            for (index, name) in NAMES.iter().enumerate() {
                assert_eq!(services.intern(name).0 as usize, IDS[index] as usize);
            }
            let skeletons = &services.account(ServiceId(IDS[0])).skeletons;
            skeletons.store(OTHERS[0], Ordering::Relaxed);
            let cache = Cache::new(LIMIT, Arc::clone(&services));
            let (mut oracle, mut frames) = (Oracle::default(), Vec::new());
            for (n, step) in steps.iter().enumerate() {
                match step {
                    Step::Insert(blocks) => frames.push(insert(&cache, &mut oracle, n as u64 * 100, blocks)),
                    Step::Settle(frame, every) => {
                        if let Some(frame) = frames.get_mut(*frame) {
                            settle(&cache, &mut oracle, frame, *every);
                        }
                    }
                }
                check(&cache, &services, &oracle, &frames);
            }
            drop(cache);
            skeletons.store(0, Ordering::Relaxed);
            prop_assert!(services.all().iter().all(|a| a.held() == 0 && a.cache.load(Ordering::Relaxed) == 0));
        }
    }

    /// A block of one piece, of so many bytes as it is charged.
    fn block(service: ServiceId, charge: usize) -> Block {
        let piece = vec![0; charge - BLOCK_OVERHEAD as usize - PIECE_HEADER];
        Block {
            service,
            bytes: body_of(&[&piece]),
            pieces: 1,
        }
    }

    #[test]
    fn what_is_idle_is_lent_and_taken_back_from_the_furthest_over() {
        let services = Arc::new(Services::new(&memory(OnFull::Refuse)));
        let [a, b, c] = ["a", "b", "c"].map(|name| services.intern(name));
        let cache = Cache::new(LIMIT, Arc::clone(&services));
        let mut position = 0;
        let mut insert = |service, charge| {
            position += 10_000;
            cache.insert(std::iter::once((position, vec![block(service, charge)])));
        };
        let check = |expected: [u64; 3], pressed: [bool; 3]| {
            let accounts = [a, b, c].map(|service| services.account(service));
            let held = accounts.each_ref().map(|a| a.cache.load(Ordering::Relaxed));
            let found = accounts.map(|a| a.pressed.load(Ordering::Relaxed));
            assert_eq!((held, found), (expected, pressed));
        };
        (0..5).for_each(|_| insert(a, 500));
        check([2500, 0, 0], [false; 3]);
        (0..3).for_each(|_| insert(b, 500));
        check([2500, 1500, 0], [false; 3]);
        // `a` is the furthest over; then both are by as much, and the later one gives.
        insert(c, 500);
        check([2000, 1500, 500], [true, false, false]);
        insert(c, 500);
        check([1500, 1500, 1000], [true, false, false]);
        insert(c, 400);
        check([1500, 1000, 1400], [true, true, false]);
        // Who would be the furthest over gives itself.
        insert(c, 1000);
        check([1500, 1000, 1400], [true, true, true]);
        // Nobody within its cap gives anything for a loan.
        insert(b, 3900);
        check([1000, 0, 1000], [true, false, true]);
    }

    #[test]
    fn a_place_that_is_no_piece_is_not_found() {
        let services = Arc::new(Services::new(&memory(OnFull::Spill)));
        let cache = Cache::new(LIMIT, services);
        let block = Block {
            service: ServiceId(0),
            bytes: body_of(&[b"abc"]),
            pieces: 1,
        };
        cache.insert(std::iter::once((64, vec![block])));
        let hostile = [
            (64, 0, 3),
            (64, 47, 3),
            (64, 64, 4),
            (64, u32::MAX, 1),
            (64, 64, u32::MAX),
            (63, 64, 3),
        ];
        for (position, offset, length) in hostile {
            let place = Ref {
                position,
                offset,
                length,
            };
            assert_eq!(cache.get(place), None, "{place:?}");
            cache.settle(&mut std::iter::once(place));
        }
        assert_eq!(
            cache
                .get(Ref {
                    position: 64,
                    offset: 64,
                    length: 3
                })
                .as_deref(),
            Some(&b"abc"[..])
        );
    }
}
