//! One partition of the spans topic as its worker and its exporters see it.

use super::dead_letters::DeadLetters;
use super::fetch::Fetch;
use super::member::GroupStats;
use super::place::{offset_of, position};
use super::queue::{Next, PartitionQueue, Record};
use super::stamps::Stamps;
use crate::log::api::{Fed, Feed, Log};
use crate::log::cache::Cache;
use crate::log::errors::ReadError;
use crate::log::frame::{FrameMeta, Signal};
use crate::log::record::{RECORD, bytes_of};
use crate::log::refs::Ref;
use crate::log::services::ServiceId;
use crate::otlp::{SourceId, TraceId, only_trace};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A partition that this process owns.
#[derive(Debug)]
pub(crate) struct PartitionLog {
    pub(super) number: u16,
    pub(super) source: SourceId,
    pub(super) queue: Arc<PartitionQueue>,
    pub(super) fetch: Arc<Fetch>,
    pub(super) dead_letters: Arc<DeadLetters>,
    pub(super) cache: Arc<Cache>,
    /// The first offset there is, as it was when the partition became ours.
    pub(super) low: i64,
    /// The offset after the last one, as it was then: what lies below is a replay.
    pub(super) high: i64,
    /// Where reading begins.
    pub(super) begins: i64,
    /// What the worker's part of [`Self::hold`] says.
    pub(super) needed: Arc<AtomicU64>,
    pub(super) holds: Mutex<BTreeMap<String, u64>>,
    /// The holder that says what a restart needs.
    pub(super) decider: String,
    pub(super) stamps: Arc<Stamps>,
    pub(super) stats: Arc<GroupStats>,
}

impl PartitionLog {
    /// What its records count as coming from.
    pub(crate) fn source(&self) -> SourceId {
        self.source
    }
}

/// A record as the feed gives it. What its receiver was called says nothing here: another process may have taken it.
fn fed<A>(number: u16, source: SourceId, record: Record) -> Fed<A> {
    Fed::Stored {
        position: position(number, record.offset),
        stamp: record.stamp,
        meta: FrameMeta {
            source,
            signal: Signal::Traces,
            version: RECORD,
            pieces: 0,
            spans: 0,
        },
        body: record.value,
    }
}

impl<A: Send + Sync + 'static> Log<A> for PartitionLog {
    fn feed(&self, from: u64) -> Box<dyn Feed<A>> {
        self.queue.skip_below(offset_of(from));
        Box::new(LiveFeed {
            number: self.number,
            source: self.source,
            queue: self.queue.clone(),
            position: from.max(position(self.number, 0)),
            stamps: self.stamps.clone(),
        })
    }

    fn history(&self, from: u64) -> Box<dyn Feed<A>> {
        Box::new(History {
            number: self.number,
            source: self.source,
            fetch: self.fetch.clone(),
            next: offset_of(from),
            end: self.queue.end(),
        })
    }

    fn read(&self, place: Ref, trace: TraceId) -> Result<Bytes, ReadError> {
        if let Some(bytes) = self.cache.get(place) {
            return Ok(bytes);
        }
        let value = self.fetch.value(place.position)?;
        let bytes = bytes_of(place);
        let damaged = ReadError::Damaged {
            position: place.position,
            next: place.position,
        };
        if bytes.end > value.len() {
            return Err(damaged);
        }
        only_trace(&value.slice(bytes), trace).ok_or(damaged)
    }

    fn cache(&self, body: &Bytes, pieces: &mut dyn Iterator<Item = (Ref, ServiceId)>) {
        for (place, service) in pieces {
            if let Some(bytes) = body.get(bytes_of(place)) {
                self.cache.insert_piece(place, service, bytes);
            }
        }
    }

    fn unreadable(&self, position: u64, body: &Bytes) {
        self.dead_letters
            .take(self.number, offset_of(position), body);
    }

    fn settle(&self, refs: &mut dyn Iterator<Item = Ref>) {
        self.cache.settle(refs);
    }

    fn hold(&self, holder: &str, position: u64) {
        if holder == self.decider {
            self.needed.store(position, Ordering::Relaxed);
        }
        let mut holds = self.holds.lock();
        match holds.get_mut(holder) {
            Some(held) => *held = position,
            None => _ = holds.insert(holder.to_owned(), position),
        }
        let oldest = holds.values().copied().min().unwrap_or(u64::MAX);
        self.stats.needs(self.number, self.stamps.since(oldest));
    }

    fn forget_holder(&self, holder: &str) {
        self.holds.lock().remove(holder);
    }

    fn start(&self) -> u64 {
        position(self.number, self.low)
    }

    fn end(&self) -> u64 {
        position(self.number, self.high.max(self.queue.end()))
    }
}

#[derive(Debug)]
struct LiveFeed {
    number: u16,
    source: SourceId,
    queue: Arc<PartitionQueue>,
    position: u64,
    stamps: Arc<Stamps>,
}

impl<A: Send + Sync> Feed<A> for LiveFeed {
    fn next(&mut self, timeout: Duration) -> Fed<A> {
        match self.queue.next(timeout) {
            Next::Closed => Fed::Closed,
            Next::Idle(now) => Fed::Idle { now },
            Next::Record(record) => {
                let at = position(self.number, record.offset);
                self.position = position(self.number, record.offset + 1);
                self.stamps.add(at, record.stamp);
                fed(self.number, self.source, record)
            }
        }
    }

    fn position(&self) -> u64 {
        self.position
    }
}

#[derive(Debug)]
struct History {
    number: u16,
    source: SourceId,
    fetch: Arc<Fetch>,
    next: i64,
    end: i64,
}

impl<A: Send + Sync> Feed<A> for History {
    fn next(&mut self, _: Duration) -> Fed<A> {
        while self.next < self.end {
            let at = position(self.number, self.next);
            self.next += 1;
            if let Ok(value) = self.fetch.value(at) {
                let record = Record {
                    offset: self.next - 1,
                    stamp: 0,
                    value,
                };
                return fed(self.number, self.source, record);
            }
        }
        Fed::Closed
    }

    fn position(&self) -> u64 {
        position(self.number, self.next)
    }
}
