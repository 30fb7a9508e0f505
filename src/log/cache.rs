//! Recent payload in memory, in front of the store.
//!
//! Blocks of one service and one frame, oldest out first: within the service at its cap, over all services at the
//! cache's. Invariants: the charge of a block is what it holds of memory; a service's queue holds exactly its cached
//! blocks, by position; `undecided` of an account is the sum over its cached blocks. The cache decides nothing: a piece
//! that left it is read from the store.

use super::account::Account;
use super::api::Block;
use super::frame::FRAME_HEADER;
use super::piece::PIECE_HEADER;
use super::refs::Ref;
use super::services::{ServiceId, Services};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, VecDeque};
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
    queues: HashMap<ServiceId, VecDeque<(u64, u32)>>,
    total: u64,
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

    /// The bytes of a piece, if it is in this block.
    fn piece(&self, place: Ref) -> Option<&[u8]> {
        let begin = place.offset.checked_sub(self.begin)? as usize;
        self.bytes.get(begin..begin.checked_add(place.length as usize)?)
    }
}

impl Cache {
    pub(crate) fn new(limit: u64, services: Arc<Services>) -> Self {
        Self { limit, services, state: Mutex::default() }
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
                state.add(position, Slot { begin, bytes: block.bytes, undecided, account }, self.limit);
                begin += length;
            }
        }
    }

    /// A copy of the piece, so that a reader that keeps it does not keep the block.
    pub(crate) fn get(&self, place: Ref) -> Option<Bytes> {
        let state = self.state.lock();
        let slots = state.frames.get(&place.position)?;
        let slot = slots.get(slots.partition_point(|slot| slot.begin <= place.offset).checked_sub(1)?)?;
        slot.piece(place).map(Bytes::copy_from_slice)
    }

    /// These pieces are decided.
    pub(crate) fn settle(&self, refs: &mut dyn Iterator<Item = Ref>) {
        let mut refs = refs.peekable();
        while refs.peek().is_some() {
            let mut state = self.state.lock();
            let mut frame: Option<(u64, &mut Vec<Slot>)> = None;
            for place in refs.by_ref().take(SETTLE_CHUNK) {
                if frame.as_ref().is_none_or(|(position, _)| *position != place.position) {
                    frame = state.frames.get_mut(&place.position).map(|slots| (place.position, slots));
                }
                if let Some((_, slots)) = &mut frame {
                    settle_one(slots, place);
                }
            }
        }
    }
}

fn settle_one(slots: &mut [Slot], place: Ref) {
    let after = slots.partition_point(|slot| slot.begin <= place.offset);
    let Some(slot) = after.checked_sub(1).and_then(|index| slots.get_mut(index)) else {
        return;
    };
    if slot.piece(place).is_some() {
        let bytes = (u64::from(place.length) + PIECE_HEADER as u64).min(slot.undecided);
        slot.undecided -= bytes;
        slot.account.undecided.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl State {
    fn add(&mut self, position: u64, slot: Slot, limit: u64) {
        let (charge, account) = (slot.charge(), Arc::clone(&slot.account));
        if charge > limit || charge > account.cap {
            account.spilled.fetch_add(slot.undecided, Ordering::Relaxed);
            return;
        }
        while account.cache.load(Ordering::Relaxed) + charge > account.cap && self.evict(account.id) {}
        while self.total + charge > limit && self.evict_oldest() {}
        self.total += charge;
        account.cache.fetch_add(charge, Ordering::Relaxed);
        account.undecided.fetch_add(slot.undecided, Ordering::Relaxed);
        self.queues.entry(account.id).or_default().push_back((position, slot.begin));
        self.frames.entry(position).or_default().push(slot);
    }

    /// Lets the oldest block of all go.
    fn evict_oldest(&mut self) -> bool {
        let oldest = self.frames.values().next().and_then(|slots| slots.first()).map(|slot| slot.account.id);
        oldest.is_some_and(|service| self.evict(service))
    }

    /// Lets the oldest block of a service go; `false` when it has none.
    fn evict(&mut self, service: ServiceId) -> bool {
        let Some((position, begin)) = self.queues.get_mut(&service).and_then(VecDeque::pop_front) else {
            return false;
        };
        let Some(slots) = self.frames.get_mut(&position) else {
            return false;
        };
        let Ok(index) = slots.binary_search_by_key(&begin, |slot| slot.begin) else {
            return false;
        };
        let slot = slots.remove(index);
        if slots.is_empty() {
            self.frames.remove(&position);
        }
        self.total -= slot.charge();
        slot.account.cache.fetch_sub(slot.charge(), Ordering::Relaxed);
        slot.account.undecided.fetch_sub(slot.undecided, Ordering::Relaxed);
        slot.account.spilled.fetch_add(slot.undecided, Ordering::Relaxed);
        true
    }
}

impl Drop for Cache {
    /// The accounts outlive the cache where several logs share them.
    fn drop(&mut self) {
        for slot in self.state.get_mut().frames.values().flatten() {
            slot.account.cache.fetch_sub(slot.charge(), Ordering::Relaxed);
            slot.account.undecided.fetch_sub(slot.undecided, Ordering::Relaxed);
        }
    }
}
