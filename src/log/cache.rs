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
mod tests;
