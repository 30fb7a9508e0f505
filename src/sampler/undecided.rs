//! `undecided` entries: written for traces that have waited for a minute, taken up at a restart.
//!
//! Once an entry is in the decision log, the pieces that it names hold no restart back; the span log keeps them, for a
//! keep reads them, and a change of rules folds them anew. Entries never take the room that decisions need.

use super::checkpoint::Checkpoint;
use super::entry::Entry;
use super::front::{Seen, see};
use super::named::{MINUTE, NAMED_BYTES, Named};
use super::packed::PackedRef;
use super::recovery::seconds;
use super::skeletons::Skeletons;
use super::stats::add;
use super::stop_signal::StopSignal;
use super::waiting::Waiting;
use super::worker::Worker;
use crate::clock::SECOND;
use crate::otlp::TraceId;
use crate::rules::{Features, Fold};

/// New traces are named, and grown ones again, while the decision log is no fuller than half.
const ROOM_PART: u64 = 2;

impl Worker {
    /// Writes entries for what has waited for a minute, and for what has grown or would lose its entry.
    pub(super) fn name_waiting(&mut self, second: u32) {
        // Nothing outlives this process.
        if self.parts.settings.decide_at_stop {
            return;
        }
        let stream = &self.parts.decisions;
        let room = stream.bytes_from(stream.start()) <= stream.max_bytes() / ROOM_PART;
        let mut aged = Vec::new();
        for owner in 0..self.partitions.len() {
            while let Some((slot, named)) = self
                .partitions
                .get_mut(owner)
                .and_then(|partition| partition.skeletons.named.due(second))
            {
                self.look_again(owner, slot, named, second, room);
            }
            if !room {
                continue;
            }
            if let Some(partition) = self.partitions.get_mut(owner) {
                partition
                    .skeletons
                    .aged(second.saturating_sub(MINUTE), &mut aged);
            }
            for slot in aged.drain(..) {
                self.name(owner, slot, None, second);
            }
        }
    }

    fn look_again(&mut self, owner: usize, slot: u32, named: Named, second: u32, room: bool) {
        let Some(partition) = self.partitions.get_mut(owner) else {
            return;
        };
        let Some(skeleton) = partition.skeletons.get(slot) else {
            return;
        };
        if named.stale || named.base < self.entries_from {
            self.name(owner, slot, None, second);
        } else if skeleton.pieces > named.pieces && room {
            self.name(owner, slot, Some(named), second);
        } else {
            partition.skeletons.named.put_off(slot, second + MINUTE);
        }
    }

    /// Writes an entry: a whole one, or one that goes on from those before it.
    fn name(&mut self, owner: usize, slot: u32, before: Option<Named>, second: u32) {
        let Some(partition) = self.partitions.get_mut(owner) else {
            return;
        };
        let skeletons = &mut partition.skeletons;
        let Some(skeleton) = skeletons.get(slot) else {
            return;
        };
        let service = skeleton.service;
        let mut places = std::mem::take(&mut self.places);
        skeletons.places(slot, &mut places);
        let earlier = before.map_or(0, |named| named.pieces);
        let (words, features) = (skeletons.words(slot), skeletons.features.get(slot));
        let (program, values) = (&self.parts.program, self.parts.atoms.values());
        let state = program.save_state(&skeleton.fold, words, features.as_ref(), values);
        let mut entry = Checkpoint {
            id: skeleton.trace().to_bytes().to_vec(),
            service: self.parts.services.name(service).to_string(),
            first_second: skeleton.first_second,
            last_second: skeleton.last_second,
            due: skeleton.due,
            root_seen: skeleton.root_seen,
            bytes: skeleton.bytes,
            earlier,
            layout: self.parts.layout,
            state: Some(state),
            ..Checkpoint::default()
        };
        entry.set_places(places.get(earlier as usize..).unwrap_or_default());
        let unnamed = skeletons.named.pieces(slot) as usize;
        let newly = places.get(unnamed..).unwrap_or_default();
        self.batch.named.extend_from_slice(newly);
        let last = places.last().map_or(0, |place| place.place().position);
        self.batch.last = self.batch.last.max(last);
        // The entry will lie at the end of the decision log or behind it.
        let base = before.map_or(self.parts.decisions.end(), |named| named.base);
        let pieces = u32::try_from(places.len()).unwrap_or(u32::MAX);
        let new = skeletons.named.name(slot, base, pieces, second + MINUTE);
        self.places = places;
        self.batch.push(&Entry::Undecided(Box::new(entry)));
        if new {
            self.charge(service, NAMED_BYTES);
        }
    }

    /// Takes up what the decision log says of undecided traces; `false` when a stop came first, and nothing is to be
    /// saved.
    pub(super) fn take_up_waiting(&mut self, stop: &StopSignal) -> bool {
        let mut waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return true;
        }
        // Ticks go on from the last entry's, so that what became due since is decided in its turn.
        let tick = self.now / SECOND;
        for partition in &mut self.partitions {
            partition.skeletons.fired(tick);
        }
        self.next_tick = Some(tick + 1);
        waiting.sort_by_cached_key(|waiting| (waiting.entry.first_second, waiting.entry.trace()));
        for waiting in waiting {
            if stop.is_set() {
                return false;
            }
            self.take_up(&waiting, seconds(self.now));
        }
        true
    }

    fn take_up(&mut self, waiting: &Waiting, second: u32) {
        let entry = &waiting.entry;
        let Some(trace) = entry.trace() else {
            return;
        };
        let owner = self.owner_of_trace(trace);
        let service = self.parts.services.intern(&entry.service);
        let saved = entry
            .state
            .as_ref()
            .filter(|_| entry.layout == self.parts.layout);
        let (mut fold, mut words) = (Fold::default(), vec![0; self.parts.program.state_words()]);
        let features = match saved {
            Some(saved) => {
                let values = self.parts.atoms.values();
                self.parts
                    .program
                    .restore_state(saved, values, &mut fold, &mut words)
            }
            None => self.fold_anew(trace, &waiting.places, &mut fold, &mut words),
        };
        let Some(partition) = self.partitions.get_mut(owner) else {
            return;
        };
        let skeletons = &mut partition.skeletons;
        let due = u64::from(entry.due);
        let timed = partition.table.is_none().then_some(due);
        let slot = skeletons.open(trace, service, entry.first_second, timed);
        if let Some(table) = &mut partition.table {
            table.open(trace, slot, entry.first_second, due);
        }
        if let Some((skeleton, state)) = skeletons.state_mut(slot) {
            skeleton.fold = fold;
            skeleton.bytes = entry.bytes;
            skeleton.last_second = entry.last_second;
            skeleton.root_seen = entry.root_seen;
            state.copy_from_slice(&words);
        }
        let mut bytes = skeletons.bytes_each() + NAMED_BYTES;
        for place in &waiting.places {
            if skeletons.add_piece(slot, *place) {
                bytes += Skeletons::CHUNK_BYTES;
            }
            self.named.add(place.place().position, 1);
            add(&self.parts.stats.undecided, u64::from(place.spans()));
            let records = &self.parts.stats.records;
            add(&records.undecided, u64::from(place.records()));
        }
        let pieces = u32::try_from(waiting.places.len()).unwrap_or(u32::MAX);
        skeletons.named.name(slot, waiting.base, pieces, second + 1);
        if saved.is_none() {
            skeletons.named.outdate(slot);
        }
        add(&self.parts.stats.undecided_traces, 1);
        self.charge(service, bytes);
        if let Some(features) = features {
            self.add_features(owner, slot, service, features);
        }
    }

    /// The rules have changed: the state is made from the pieces again. One that cannot be read is left out.
    fn fold_anew(
        &mut self,
        trace: TraceId,
        places: &[PackedRef],
        fold: &mut Fold,
        words: &mut [u64],
    ) -> Option<Features> {
        let mut features = None;
        for place in places {
            let Some(Seen { facts, size }) = self.seen(trace, *place) else {
                add(&self.parts.stats.damaged, 1);
                continue;
            };
            let (atoms, program) = (&self.parts.atoms, &self.parts.program);
            if self.parts.settings.span_ingest {
                program.begin_piece(fold, words);
            }
            let spans = 0..facts.len() as usize;
            let leaves = (spans.clone(), size.traces);
            program.fold_leaves(place.signal(), atoms, (fold, words), &facts, leaves);
            program.fold_features(atoms, &mut features, &facts, spans);
        }
        features
    }

    fn seen(&mut self, trace: TraceId, place: PackedRef) -> Option<Seen> {
        let bytes = self.parts.log.read(place.place(), trace).ok()?;
        let (front, atoms) = (&self.parts.front, &self.parts.atoms);
        see((place.signal(), &bytes), front, atoms, &mut self.scratch)
    }
}
