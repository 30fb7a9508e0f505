//! The frames that feeds take from memory, newest last.
//!
//! Bounded in bytes; a feed that falls behind its first frame reads the store. A frame leaves early when every feed has
//! it, and gives back its part of the intake budget with that. Invariant: every published frame at or after
//! `complete_from` is here. The window also keeps what log time needs: the stamp of the write under way.

use super::queue::Pending;
use crate::log::account::IntakeCharge;
use crate::log::frame::FrameMeta;
use crate::otlp::Reservation;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A frame in memory.
#[derive(Debug)]
pub(super) struct Entry<A> {
    pub(super) position: u64,
    pub(super) next: u64,
    pub(super) stamp: u64,
    pub(super) meta: FrameMeta,
    pub(super) attachment: Arc<A>,
    bytes: u64,
    _reservation: Option<Reservation>,
    _charges: Vec<IntakeCharge>,
}

impl<A> Entry<A> {
    /// Of a request that was written.
    pub(super) fn new(position: u64, next: u64, stamp: u64, request: EntryParts<A>) -> Self {
        let EntryParts {
            meta,
            attachment,
            bytes,
            reservation,
            charges,
        } = request;
        let attachment = Arc::new(attachment);
        Self {
            position,
            next,
            stamp,
            meta,
            attachment,
            bytes,
            _reservation: reservation,
            _charges: charges,
        }
    }
}

/// What the window keeps of a request.
#[derive(Debug)]
pub(super) struct EntryParts<A> {
    pub(super) meta: FrameMeta,
    pub(super) attachment: A,
    pub(super) bytes: u64,
    pub(super) reservation: Option<Reservation>,
    pub(super) charges: Vec<IntakeCharge>,
}

/// What a feed finds at its position.
pub(super) enum Look<'a, A> {
    Live(&'a Entry<A>),
    /// Everything below this is to be read from the store.
    Store {
        until: u64,
    },
    End,
}

#[derive(Debug)]
pub(super) struct Window<A> {
    entries: VecDeque<Entry<A>>,
    pub(super) bytes: u64,
    limit: u64,
    complete_from: u64,
    /// Position after the last published frame.
    pub(super) end: u64,
    /// Stamp of the write under way.
    pub(super) in_flight: Option<u64>,
    pub(super) closed: bool,
    feeds: HashMap<u64, u64>,
    next_feed: u64,
}

impl<A> Window<A> {
    pub(super) fn new(limit: u64, end: u64) -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: 0,
            limit,
            complete_from: end,
            end,
            in_flight: None,
            closed: false,
            feeds: HashMap::new(),
            next_feed: 0,
        }
    }

    /// Adds written frames; what has to go for them is returned, to be dropped without the lock.
    pub(super) fn publish(&mut self, entries: impl Iterator<Item = Entry<A>>) -> Vec<Entry<A>> {
        for entry in entries {
            self.bytes += entry.bytes;
            self.end = entry.next;
            self.entries.push_back(entry);
        }
        let needed = self.feeds.values().copied().min().unwrap_or(0);
        self.trim(needed)
    }

    /// Lets frames below `needed` go, and the oldest ones while there are too many bytes.
    fn trim(&mut self, needed: u64) -> Vec<Entry<A>> {
        let mut gone = Vec::new();
        while let Some(front) = self.entries.front() {
            if front.position >= needed && self.bytes <= self.limit {
                break;
            }
            self.complete_from = front.next;
            self.bytes -= front.bytes;
            gone.extend(self.entries.pop_front());
        }
        gone
    }

    /// What lies at `position`.
    pub(super) fn look(&self, position: u64) -> Look<'_, A> {
        if position < self.complete_from {
            return Look::Store {
                until: self.complete_from,
            };
        }
        let index = self
            .entries
            .partition_point(|entry| entry.position < position);
        self.entries.get(index).map_or(Look::End, Look::Live)
    }

    pub(super) fn register(&mut self, position: u64) -> u64 {
        self.next_feed += 1;
        self.feeds.insert(self.next_feed, position);
        self.next_feed
    }

    /// A feed has everything below `position`.
    pub(super) fn moved(&mut self, feed: u64, position: u64) -> Vec<Entry<A>> {
        self.feeds.insert(feed, position);
        let needed = self.feeds.values().copied().min().unwrap_or(0);
        self.trim(needed)
    }

    pub(super) fn unregister(&mut self, feed: u64) -> Vec<Entry<A>> {
        self.feeds.remove(&feed);
        let needed = self.feeds.values().copied().min().unwrap_or(0);
        self.trim(needed)
    }
}

impl<A> Pending<A> {
    /// Splits what the window keeps from what the cache keeps. The charge of the blocks ends here.
    pub(super) fn into_parts(
        self,
    ) -> (
        Vec<crate::log::api::Block>,
        EntryParts<A>,
        super::core::Answer,
    ) {
        let Self {
            meta,
            blocks,
            checksum: _,
            attachment,
            window_bytes,
            reservation,
            charges,
            answer,
            block_charges,
        } = self;
        drop(block_charges);
        (
            blocks,
            EntryParts {
                meta,
                attachment,
                bytes: window_bytes,
                reservation,
                charges,
            },
            answer,
        )
    }
}
