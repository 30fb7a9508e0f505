//! The decisions of one partition: written by the scribe, read from memory while they are young, else from the topic.
//!
//! A frame's position is its record's offset. Offsets have gaps (the ends of transactions take some), so that a reader
//! asks for the first frame at or behind a place.

use super::brokers::{Brokers, Ends};
use super::fetch::{Step, Walk};
use super::scribe::{Entries, HEAD, Scribe, Untaken};
use super::transaction::HEAD_NAME;
use crate::log::decisions::{DecisionLog, FrameReader, PositionStore};
use crate::log::errors::{AppendError, LogError, ReadError};
use crate::log::frame::{OutFrame, StoredFrame};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// Frames in memory of one partition: some seconds of decisions, so that exporters that keep up never ask the brokers.
const YOUNG_BYTES: usize = 2 << 20;
/// What a record takes of the topic's limit beside a frame's body.
const RECORD_OVERHEAD: u64 = 1024;
/// Between two looks for frames that are written and cannot be read yet.
const SETTLES: Duration = Duration::from_millis(20);
/// Frames of one transaction, a quarter of a record each.
const FRAMES: usize = 32;
/// Entries that no tick brings may wait as long: every transaction costs the brokers some ten milliseconds, and a late
/// piece is to leave within half a second.
const GATHERS: Duration = Duration::from_millis(200);

/// The decision log of a partition.
#[derive(Debug)]
pub(crate) struct PartitionDecisions {
    partition: u16,
    brokers: Brokers,
    scribe: Arc<Scribe>,
    young: Arc<Mutex<Young>>,
    end: watch::Sender<u64>,
    start: u64,
    /// The end when it was opened: everything before is committed or aborted for good.
    opened: u64,
    written: AtomicU64,
}

/// The frames that were written last.
#[derive(Debug)]
struct Young {
    frames: VecDeque<StoredFrame>,
    bytes: usize,
    /// All frames from here on are here.
    from: u64,
}

impl PartitionDecisions {
    /// The decisions of a partition that is ours, as they are when every transaction of its last owner has ended.
    pub(super) fn open(
        (brokers, ends): (&Brokers, &Ends),
        scribe: Arc<Scribe>,
        partition: u16,
        ours: &dyn Fn() -> bool,
    ) -> Result<Self, LogError> {
        let topic = &brokers.settings.decisions_topic;
        let (start, end) = ends.of(topic, partition)?;
        while ends.of_committed(topic, partition)?.1 < end {
            if !ours() {
                return Err(LogError::Settings("the partition is another's".to_owned()));
            }
            std::thread::park_timeout(GATHERS);
        }
        let unsigned = |offset: i64| u64::try_from(offset).unwrap_or_default();
        let young = Young {
            frames: VecDeque::new(),
            bytes: 0,
            from: unsigned(end),
        };
        Ok(Self {
            partition,
            brokers: brokers.clone(),
            scribe,
            young: Arc::new(Mutex::new(young)),
            end: watch::Sender::new(unsigned(end)),
            start: unsigned(start),
            opened: unsigned(end),
            written: AtomicU64::new(0),
        })
    }
}

impl DecisionLog for PartitionDecisions {
    fn append(&self, frames: &[OutFrame<'_>]) -> Result<Vec<u64>, AppendError> {
        let limit = self.max_batch();
        let largest = frames.iter().map(OutFrame::body_len).max();
        if let Some(bytes) = largest.filter(|bytes| *bytes > limit) {
            // Brokers would refuse it each time.
            return Err(AppendError::TooLarge { bytes, limit });
        }
        let entries: Vec<_> = frames.iter().map(entries_of).collect();
        let offsets =
            self.scribe
                .write(self.partition, entries)
                .map_err(|untaken| match untaken {
                    Untaken::Revoked => AppendError::Io(Arc::new(io::Error::other(
                        "the partition belongs to another process now",
                    ))),
                    Untaken::Stopped => AppendError::Stopping,
                })?;
        let positions: Vec<u64> = offsets
            .iter()
            .map(|offset| u64::try_from(*offset).unwrap_or_default())
            .collect();
        let mut young = self.young.lock();
        for (frame, position) in frames.iter().zip(&positions) {
            let body = Bytes::from(frame.body.concat());
            self.written.fetch_add(body.len() as u64, Ordering::Relaxed);
            young.add(StoredFrame {
                position: *position,
                next: position + 1,
                stamp: frame.stamp,
                meta: frame.meta,
                body,
            });
        }
        drop(young);
        if let Some(last) = positions.last() {
            self.end.send_replace(last + 1);
        }
        Ok(positions)
    }

    fn reader(&self, from: u64) -> Box<dyn FrameReader> {
        Box::new(Reader {
            partition: self.partition,
            brokers: self.brokers.clone(),
            young: self.young.clone(),
            walk: None,
            opened: self.opened,
            position: from,
        })
    }

    fn start(&self) -> u64 {
        self.start
    }

    fn end(&self) -> u64 {
        *self.end.borrow()
    }

    fn watch(&self) -> watch::Receiver<u64> {
        self.end.subscribe()
    }

    fn max_batch(&self) -> u64 {
        let record = u64::from(self.brokers.settings.producer.max_message_bytes);
        record.saturating_sub(RECORD_OVERHEAD)
    }

    fn bytes(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// The topic's retention bounds it, by time.
    fn max_bytes(&self) -> u64 {
        u64::MAX
    }

    fn bytes_from(&self, _: u64) -> u64 {
        0
    }

    fn release_before(&self, _: u64) {}

    fn is_ours(&self) -> bool {
        self.scribe.owns(self.partition)
    }

    fn frames_at_once(&self) -> usize {
        FRAMES
    }

    fn comes_back(&self) -> bool {
        true
    }

    fn gathers(&self) -> Duration {
        GATHERS
    }
}

fn entries_of(frame: &OutFrame<'_>) -> Entries {
    let mut head = [0; HEAD];
    let (stamp, meta) = head.split_at_mut(8);
    stamp.copy_from_slice(&frame.stamp.to_le_bytes());
    meta.copy_from_slice(&frame.meta);
    Entries {
        head,
        body: frame.body.concat(),
    }
}

impl Young {
    fn add(&mut self, frame: StoredFrame) {
        self.bytes += frame.body.len();
        self.frames.push_back(frame);
        while self.bytes > YOUNG_BYTES
            && self.frames.len() > 1
            && let Some(oldest) = self.frames.pop_front()
        {
            self.bytes -= oldest.body.len();
            self.from = oldest.next;
        }
    }

    /// The first frame at or behind `position`; `Err`: it is older than what is here.
    fn at(&self, position: u64) -> Result<Option<StoredFrame>, u64> {
        if position < self.from {
            return Err(self.from);
        }
        let index = self
            .frames
            .partition_point(|frame| frame.position < position);
        Ok(self.frames.get(index).cloned())
    }
}

#[derive(Debug)]
struct Reader {
    partition: u16,
    brokers: Brokers,
    young: Arc<Mutex<Young>>,
    /// While what is read is older than what is in memory.
    walk: Option<Walk>,
    opened: u64,
    position: u64,
}

impl FrameReader for Reader {
    fn next(&mut self) -> Result<Option<StoredFrame>, ReadError> {
        loop {
            let young = self.young.lock().at(self.position);
            let until = match young {
                Ok(frame) => {
                    self.walk = None;
                    if let Some(frame) = &frame {
                        self.position = frame.next;
                    }
                    return Ok(frame);
                }
                Err(until) => until,
            };
            if let Some(frame) = self.old(until)? {
                return Ok(Some(frame));
            }
        }
    }
}

impl Reader {
    /// A frame from the topic; none when those before `until` are read.
    fn old(&mut self, until: u64) -> Result<Option<StoredFrame>, ReadError> {
        let position = self.position;
        let io = |source| ReadError::Io { position, source };
        let offset = i64::try_from(position).unwrap_or(i64::MAX);
        let mut walk = match self.walk.take() {
            Some(walk) => walk,
            None => Walk::new(
                &self.brokers,
                &self.brokers.settings.decisions_topic,
                self.partition,
                offset,
            )
            .map_err(|error| io(io::Error::other(error)))?,
        };
        match walk.next(HEAD_NAME).map_err(io)? {
            // What this process has written is there, and becomes readable some moments after its transaction.
            Step::End if until > self.opened => {
                std::thread::park_timeout(SETTLES);
                self.walk = Some(walk);
                Ok(None)
            }
            Step::End => {
                self.position = until;
                Ok(None)
            }
            Step::OutOfRange => {
                self.position = until;
                let start = until;
                Err(ReadError::Gone { position, start })
            }
            Step::Record(record, head) => {
                let at = u64::try_from(record.offset).unwrap_or_default();
                if at >= until {
                    self.position = until;
                    return Ok(None);
                }
                self.position = at + 1;
                self.walk = Some(walk);
                let damaged = ReadError::Damaged {
                    position: at,
                    next: at + 1,
                };
                frame_of(at, head.as_deref(), record.value)
                    .map(Some)
                    .ok_or(damaged)
            }
        }
    }
}

fn frame_of(position: u64, head: Option<&[u8]>, body: Bytes) -> Option<StoredFrame> {
    let (stamp, meta) = head?.split_first_chunk::<8>()?;
    Some(StoredFrame {
        position,
        next: position + 1,
        stamp: u64::from_le_bytes(*stamp),
        meta: meta.try_into().ok()?,
        body,
    })
}

/// A value beside the group's offset of a partition.
#[derive(Debug)]
pub(super) struct Beside {
    pub(super) partition: u16,
    pub(super) name: String,
    pub(super) scribe: Arc<Scribe>,
    /// For the one that says where a restart begins: the oldest offset that is needed.
    pub(super) needed: Option<Arc<AtomicU64>>,
}

impl PositionStore for Beside {
    fn load(&self) -> Option<Vec<u8>> {
        self.scribe.point(self.partition, &self.name)
    }

    /// Taken into the next transaction, within half a second: a crash before it sends again what was sent since.
    fn save(&self, value: &[u8]) -> io::Result<()> {
        let needed = self.needed.as_ref();
        let needed = needed.map(|needed| needed.load(Ordering::Relaxed));
        self.scribe.change(self.partition, |standing| {
            standing.points.set(&self.name, value);
            if let Some(position) = needed.filter(|position| *position < u64::MAX) {
                standing.offset = super::place::offset_of(position);
            }
        });
        Ok(())
    }
}
