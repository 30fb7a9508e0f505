//! The undecided traces of one partition, each in a few hundred bytes whatever its payload.
//!
//! A skeleton is fixed in size by the rule set; it has room for the places of some four pieces, further ones take about
//! 11 bytes each in chunks (`trail`). Slabs grow by pages, so memory follows the number of traces. Lists through the slab
//! tell which trace is due and which is the oldest of its service.

use super::links::{Links, List};
use super::named::{NAMED_BYTES, NamedTraces};
use super::packed::PackedRef;
use super::pages::{NONE, Pages};
use super::timers::Timers;
use super::trace_features::TraceFeatures;
use super::trail::{Step, read_steps};
use crate::log::ServiceId;
use crate::otlp::TraceId;
use crate::rules::Fold;
use hashbrown::{HashMap, HashTable};
use std::hash::BuildHasher;

/// Bytes of places in the skeleton itself: four pieces, as most traces have (issue 3's load), take 42 to 46. The struct
/// would be no smaller with fewer.
const INLINE: usize = 50;
/// Bytes of places in a chunk. With the link it is 48: four pieces, and a trace's last chunk is half empty on average.
const CHUNK: usize = 44;

/// One undecided trace.
#[derive(Debug, Clone)]
pub(crate) struct Skeleton {
    /// The trace id's halves: as one number it would align the struct to 16 bytes.
    id: [u64; 2],
    pub(crate) fold: Fold,
    /// Payload bytes of all pieces.
    pub(crate) bytes: u64,
    /// The service of its first span: who is charged.
    pub(crate) service: ServiceId,
    pub(crate) pieces: u32,
    /// Log time of the first piece, whole seconds.
    pub(crate) first_second: u32,
    /// Log time of the last piece, whole seconds.
    pub(crate) last_second: u32,
    /// The tick that decides it, whole seconds.
    pub(crate) due: u32,
    /// The tick was moved by a root span.
    pub(crate) root_seen: bool,
    /// Bytes in use of the last stretch of places: `trail`, or the last chunk.
    filled: u8,
    trail: [u8; INLINE],
    /// Position of the last piece: what the next one is told from.
    last_position: u64,
    chunks: List,
    timer: Links,
    queue: Links,
}

impl Default for Skeleton {
    fn default() -> Self {
        Self {
            id: [0; 2],
            fold: Fold::default(),
            bytes: 0,
            service: ServiceId(0),
            pieces: 0,
            first_second: 0,
            last_second: 0,
            due: 0,
            root_seen: false,
            filled: 0,
            trail: [0; INLINE],
            last_position: 0,
            chunks: List::default(),
            timer: Links::default(),
            queue: Links::default(),
        }
    }
}

impl Skeleton {
    pub(crate) fn trace(&self) -> TraceId {
        TraceId(u128::from(self.id[0]) | u128::from(self.id[1]) << 64)
    }
}

#[derive(Debug, Clone)]
struct Chunk {
    places: [u8; CHUNK],
    next: u32,
}

impl Default for Chunk {
    fn default() -> Self {
        Self {
            places: [0; CHUNK],
            next: NONE,
        }
    }
}

/// The table. All methods that take a slot want one that is in use.
#[derive(Debug)]
pub(crate) struct Skeletons {
    table: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
    slab: Pages<Skeleton>,
    words: Vec<Box<[u64]>>,
    state_words: usize,
    chunks: Pages<Chunk>,
    timers: Timers,
    queues: HashMap<ServiceId, Queue>,
    /// Traces with an `undecided` entry.
    pub(crate) named: NamedTraces,
    /// Of the traces with model calls.
    pub(crate) features: TraceFeatures,
}

/// The traces that are charged to one service, in the order in which they began.
#[derive(Debug)]
struct Queue {
    all: List,
    /// The first one that [`Skeletons::aged`] has not handed out.
    young: u32,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            all: List::default(),
            young: NONE,
        }
    }
}

/// Slots of one page of state words; equal to a page of skeletons.
const PAGE: usize = 256;

impl Skeletons {
    pub(crate) fn new(state_words: usize, next_tick: u64) -> Self {
        Self {
            table: HashTable::new(),
            hasher: foldhash::fast::RandomState::default(),
            slab: Pages::default(),
            words: Vec::new(),
            state_words,
            chunks: Pages::default(),
            timers: Timers::new(next_tick),
            queues: HashMap::new(),
            named: NamedTraces::default(),
            features: TraceFeatures::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.slab.len()
    }

    /// Bytes that one more skeleton takes: itself, its words, its share of the table.
    pub(crate) fn bytes_each(&self) -> u64 {
        // A table slot is 4 bytes and a control byte, at least seven sixteenths full after it has grown.
        (size_of::<Skeleton>() + self.state_words * 8 + 12) as u64
    }

    /// Bytes that each further chunk of pieces takes.
    pub(crate) const CHUNK_BYTES: u64 = size_of::<Chunk>() as u64;

    pub(crate) fn find(&self, trace: TraceId) -> Option<u32> {
        let same = |slot: &u32| {
            self.slab
                .get(*slot)
                .is_some_and(|skeleton| skeleton.trace() == trace)
        };
        self.table
            .find(self.hasher.hash_one(trace.0), same)
            .copied()
    }

    /// Reads what a further piece of the trace will change, to have it in the processor's cache.
    pub(crate) fn touch(&self, trace: TraceId) -> Option<u8> {
        let slot = self.find(trace)?;
        let skeleton = self.slab.get(slot)?;
        let words = self.words(slot).first().map_or(0, |word| *word as u8);
        let chunk = self.chunks.get(skeleton.chunks.last);
        let chunk = chunk.map_or(0, |chunk| chunk.places[0]);
        Some(skeleton.filled ^ skeleton.trail[0] ^ skeleton.pieces as u8 ^ words ^ chunk)
    }

    /// Opens a skeleton for a trace that has none, due at `due`; without it somebody else keeps the time.
    pub(crate) fn open(
        &mut self,
        trace: TraceId,
        service: ServiceId,
        second: u32,
        due: Option<u64>,
    ) -> u32 {
        #[allow(clippy::cast_possible_truncation, reason = "the two halves")]
        let skeleton = Skeleton {
            id: [trace.0 as u64, (trace.0 >> 64) as u64],
            service,
            first_second: second,
            last_second: second,
            ..Skeleton::default()
        };
        let slot = self.slab.insert(skeleton);
        if self.words.len() <= slot as usize / PAGE {
            self.words.push(vec![0; PAGE * self.state_words].into());
        }
        self.words_mut(slot).fill(0);
        let (slab, hasher) = (&self.slab, &self.hasher);
        self.table
            .insert_unique(hasher.hash_one(trace.0), slot, |slot| {
                slab.get(*slot)
                    .map_or(0, |skeleton| hasher.hash_one(skeleton.trace().0))
            });
        let slab = &mut self.slab;
        let queue = self.queues.entry(service).or_default();
        queue
            .all
            .push(slot, |slot, act| queue_links(slab, slot, act));
        if queue.young == NONE {
            queue.young = slot;
        }
        match due {
            Some(due) => self.schedule(slot, due),
            None => self.never_due(slot),
        }
        slot
    }

    fn never_due(&mut self, slot: u32) {
        if let Some(skeleton) = self.slab.get_mut(slot) {
            skeleton.due = u32::MAX;
        }
    }

    fn schedule(&mut self, slot: u32, due: u64) {
        let slab = &mut self.slab;
        let due = self
            .timers
            .insert(slot, due, |slot, act| timer_links(slab, slot, act));
        if let Some(skeleton) = self.slab.get_mut(slot) {
            skeleton.due = u32::try_from(due).unwrap_or(u32::MAX);
        }
    }

    /// Moves the trace to an earlier tick because its root has come; does nothing when it is due before.
    pub(crate) fn root_received(&mut self, slot: u32, due: u64) {
        let Some(skeleton) = self.slab.get_mut(slot) else {
            return;
        };
        if due >= u64::from(skeleton.due) {
            return;
        }
        skeleton.root_seen = true;
        let old = u64::from(skeleton.due);
        let slab = &mut self.slab;
        self.timers
            .remove(slot, old, |slot, act| timer_links(slab, slot, act));
        self.schedule(slot, due);
    }

    /// Moves the trace to a later tick because a piece has come; does nothing when its root has.
    pub(crate) fn put_off(&mut self, slot: u32, due: u64) {
        let Some(skeleton) = self.slab.get(slot) else {
            return;
        };
        let old = u64::from(skeleton.due);
        if skeleton.root_seen || due <= old {
            return;
        }
        let slab = &mut self.slab;
        self.timers
            .remove(slot, old, |slot, act| timer_links(slab, slot, act));
        self.schedule(slot, due);
    }

    /// Adds a piece's place; whether a new chunk was taken for it.
    pub(crate) fn add_piece(&mut self, slot: u32, place: PackedRef) -> bool {
        let Some(skeleton) = self.slab.get_mut(slot) else {
            return false;
        };
        let step = Step::new(place, skeleton.last_position);
        skeleton.last_position = place.place().position;
        skeleton.pieces += 1;
        let stretch = match self.chunks.get_mut(skeleton.chunks.last) {
            Some(chunk) => &mut chunk.places[..],
            None => &mut skeleton.trail[..],
        };
        let begun = usize::from(skeleton.filled);
        let room = stretch.get_mut(begun..).unwrap_or_default();
        let fits = room.len().min(step.bytes().len());
        let (here, beyond) = step.bytes().split_at(fits);
        room[..fits].copy_from_slice(here);
        if beyond.is_empty() {
            skeleton.filled += fits as u8;
            return false;
        }
        let mut chunk = Chunk::default();
        chunk.places[..beyond.len()].copy_from_slice(beyond);
        skeleton.filled = beyond.len() as u8;
        let chunk = self.chunks.insert(chunk);
        match self.chunks.get_mut(skeleton.chunks.last) {
            Some(last) => last.next = chunk,
            None => skeleton.chunks.first = chunk,
        }
        skeleton.chunks.last = chunk;
        true
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&Skeleton> {
        self.slab.get(slot)
    }

    #[inline]
    pub(crate) fn state_mut(&mut self, slot: u32) -> Option<(&mut Skeleton, &mut [u64])> {
        let (page, at) = (slot as usize / PAGE, slot as usize % PAGE);
        let words = self
            .words
            .get_mut(page)?
            .get_mut(at * self.state_words..(at + 1) * self.state_words)?;
        Some((self.slab.get_mut(slot)?, words))
    }

    fn words_mut(&mut self, slot: u32) -> &mut [u64] {
        self.state_mut(slot)
            .map(|(_, words)| words)
            .unwrap_or_default()
    }

    pub(crate) fn words(&self, slot: u32) -> &[u64] {
        let (page, at) = (slot as usize / PAGE, slot as usize % PAGE);
        let page = self
            .words
            .get(page)
            .map(|page| &page[..])
            .unwrap_or_default();
        page.get(at * self.state_words..(at + 1) * self.state_words)
            .unwrap_or_default()
    }

    /// The places of the trace's pieces, in log order.
    pub(crate) fn places(&self, slot: u32, out: &mut Vec<PackedRef>) {
        out.clear();
        let Some(skeleton) = self.slab.get(slot) else {
            return;
        };
        if skeleton.chunks.first == NONE {
            return read_steps(&skeleton.trail, skeleton.pieces, out);
        }
        // A place may begin in one stretch and end in the next.
        let mut bytes = skeleton.trail.to_vec();
        let mut next = skeleton.chunks.first;
        while let Some(chunk) = self.chunks.get(next) {
            bytes.extend_from_slice(&chunk.places);
            next = chunk.next;
        }
        read_steps(&bytes, skeleton.pieces, out);
    }

    /// Takes a decided trace out; the bytes that it frees.
    pub(crate) fn close(&mut self, slot: u32) -> u64 {
        let Some(skeleton) = self.slab.get(slot).cloned() else {
            return 0;
        };
        let mut bytes = self.bytes_each();
        let mut chunk = skeleton.chunks.first;
        while let Some(next) = self.chunks.get(chunk).map(|places| places.next) {
            self.chunks.remove(chunk);
            bytes += Self::CHUNK_BYTES;
            chunk = next;
        }
        let slab = &mut self.slab;
        self.timers
            .remove(slot, u64::from(skeleton.due), |slot, act| {
                timer_links(slab, slot, act)
            });
        if let Some(queue) = self.queues.get_mut(&skeleton.service) {
            if queue.young == slot {
                queue.young = skeleton.queue.after;
            }
            queue
                .all
                .remove(slot, |slot, act| queue_links(slab, slot, act));
        }
        if self.named.forget(slot) {
            bytes += NAMED_BYTES;
        }
        bytes += self.features.forget(slot);
        if let Ok(entry) = self
            .table
            .find_entry(self.hasher.hash_one(skeleton.trace().0), |other| {
                *other == slot
            })
        {
            entry.remove();
        }
        self.slab.remove(slot);
        bytes
    }

    /// A trace that is due at `tick`.
    pub(crate) fn due(&self, tick: u64) -> Option<u32> {
        self.timers.due(tick)
    }

    /// All traces that are due at `tick`, in order of arrival.
    pub(crate) fn all_due(&self, tick: u64, out: &mut Vec<u32>) {
        let mut next = self.timers.due(tick);
        while let Some(slot) = next {
            out.push(slot);
            let after = self.slab.get(slot).map(|skeleton| skeleton.timer.after);
            next = after.filter(|slot| *slot != NONE);
        }
    }

    /// The oldest trace of all.
    pub(crate) fn oldest(&self) -> Option<u32> {
        let firsts = self.queues.values().map(|queue| queue.all.first);
        let known = firsts.filter_map(|slot| Some((self.slab.get(slot)?.first_second, slot)));
        known.min().map(|(_, slot)| slot)
    }

    /// All traces due at `tick` are closed.
    pub(crate) fn fired(&mut self, tick: u64) {
        self.timers.fired(tick);
    }

    /// The oldest trace that is charged to `service`.
    pub(crate) fn oldest_of(&self, service: ServiceId) -> Option<u32> {
        self.queues
            .get(&service)
            .map(|queue| queue.all.first)
            .filter(|slot| *slot != NONE)
    }

    /// Any trace that is left.
    pub(crate) fn any(&self) -> Option<u32> {
        self.queues
            .values()
            .map(|queue| queue.all.first)
            .find(|slot| *slot != NONE)
    }

    /// The traces that began at `second` or before, each handed out once.
    pub(crate) fn aged(&mut self, second: u32, out: &mut Vec<u32>) {
        for queue in self.queues.values_mut() {
            while let Some(skeleton) = self
                .slab
                .get(queue.young)
                .filter(|skeleton| skeleton.first_second <= second)
            {
                out.push(queue.young);
                queue.young = skeleton.queue.after;
            }
        }
    }
}

fn timer_links(slab: &mut Pages<Skeleton>, slot: u32, act: &mut dyn FnMut(&mut Links)) {
    if let Some(skeleton) = slab.get_mut(slot) {
        act(&mut skeleton.timer);
    }
}

fn queue_links(slab: &mut Pages<Skeleton>, slot: u32, act: &mut dyn FnMut(&mut Links)) {
    if let Some(skeleton) = slab.get_mut(slot) {
        act(&mut skeleton.queue);
    }
}

#[cfg(test)]
mod tests;
