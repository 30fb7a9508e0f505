//! Reading records back: the second reader, behind the decisions.
//!
//! One consumer for the process. Kept traces are asked for in the order of their decisions, so that most of what is
//! wanted lies a little further on: the reader goes on through the partition and keeps what it passes, up to a budget. A
//! place that lies elsewhere costs a seek, and the batch of records around it.

use super::brokers::{Brokers, Quiet, at, failed, watermarks};
use super::place::{offset_of, partition_of};
use super::queue::Record;
use crate::clock::{Nanos, SECOND, SharedClock};
use crate::log::errors::{LogError, ReadError};
use bytes::Bytes;
use hashbrown::HashMap;
use parking_lot::Mutex;
use rdkafka::Message as _;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::BorrowedMessage;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What was passed and may be asked for: as much as a few seconds of a busy partition.
const PASSED_BYTES: usize = 16 << 20;
/// Records that it is cheaper to read than to seek over: what one fetch brings.
const AHEAD: i64 = 2000;
/// After so long it is told that the brokers do not answer.
const PATIENCE: Nanos = 10 * SECOND;
const POLL: Duration = Duration::from_millis(100);
const MILLISECOND: u64 = SECOND / 1000;

/// Reads records of one topic.
pub(crate) struct Fetch {
    topic: String,
    clock: SharedClock,
    closed: AtomicBool,
    state: Mutex<State>,
}

struct State {
    consumer: BaseConsumer<Quiet>,
    /// The partition that is being read, and the offset that comes next.
    next: Option<(u16, i64)>,
    passed: HashMap<(u16, i64), Bytes>,
    order: VecDeque<(u16, i64)>,
    bytes: usize,
}

impl std::fmt::Debug for Fetch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetch")
            .field("topic", &self.topic)
            .finish_non_exhaustive()
    }
}

impl Fetch {
    pub(super) fn new(brokers: &Brokers, topic: &str) -> Result<Self, LogError> {
        let state = State {
            consumer: brokers.reader("kafka buffer: second reader", true)?,
            next: None,
            passed: HashMap::new(),
            order: VecDeque::new(),
            bytes: 0,
        };
        Ok(Self {
            topic: topic.to_owned(),
            clock: brokers.clock.clone(),
            closed: AtomicBool::new(false),
            state: Mutex::new(state),
        })
    }

    /// The value of the record at `position`.
    pub(super) fn value(&self, position: u64) -> Result<Bytes, ReadError> {
        let (partition, offset) = (partition_of(position), offset_of(position));
        let mut state = self.state.lock();
        if let Some(value) = state.passed.get(&(partition, offset)) {
            return Ok(value.clone());
        }
        let failed = |source: io::Error| ReadError::Io { position, source };
        let mut told = self.clock.monotonic();
        loop {
            if self.closed.load(Ordering::Acquire) {
                state.next = None;
                return Err(failed(io::Error::other("the log is closed")));
            }
            let step = state
                .go_to(&self.topic, partition, offset)
                .and_then(|()| state.step(partition));
            match step {
                Ok(Some(record)) if record.offset == offset => return Ok(record.value),
                // Retention has taken it, or it never was a record.
                Ok(Some(record)) if record.offset > offset => {
                    let start = super::place::position(partition, record.offset);
                    return Err(ReadError::Gone { position, start });
                }
                Ok(Some(_)) => continue,
                Err(error) if is_out_of_range(&error) || is_end(&error) => {
                    let ends = watermarks(&state.consumer, &self.topic, partition);
                    if let Ok((low, high)) = ends
                        && !(low..high).contains(&offset)
                    {
                        state.next = None;
                        return Err(match offset < low {
                            true => ReadError::Gone {
                                position,
                                start: super::place::position(partition, low),
                            },
                            false => ReadError::Beyond { position },
                        });
                    }
                    if !is_end(&error) {
                        state.next = None;
                    }
                }
                Ok(None) => {}
                Err(_) => state.next = None,
            }
            // Brokers that are away come back; what is decided waits for them.
            let now = self.clock.monotonic();
            if now.saturating_sub(told) > PATIENCE {
                told = now;
                tracing::warn!(
                    partition,
                    offset,
                    "Kafka: a kept trace cannot be read back yet; waiting"
                );
            }
        }
    }

    /// Nobody waits for the brokers any longer.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }
}

fn is_end(error: &KafkaError) -> bool {
    matches!(error, KafkaError::PartitionEOF(_))
}

fn is_out_of_range(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(RDKafkaErrorCode::OffsetOutOfRange | RDKafkaErrorCode::AutoOffsetReset)
    )
}

impl State {
    /// Goes on to `offset` when it lies a little ahead, else begins there.
    fn go_to(&mut self, topic: &str, partition: u16, offset: i64) -> Result<(), KafkaError> {
        if let Some((there, next)) = self.next
            && there == partition
            && (next..next + AHEAD).contains(&offset)
        {
            return Ok(());
        }
        self.next = None;
        self.consumer.assign(&at(topic, partition, offset))?;
        self.next = Some((partition, offset));
        Ok(())
    }

    /// One record further.
    fn step(&mut self, partition: u16) -> Result<Option<Record>, KafkaError> {
        let record = match self.consumer.poll(POLL) {
            None => return Ok(None),
            Some(message) => {
                let message = message?;
                if message.partition() != i32::from(partition) {
                    return Ok(None);
                }
                record_of(&message)
            }
        };
        self.next = Some((partition, record.offset + 1));
        let key = (partition, record.offset);
        self.bytes += record.value.len();
        match self.passed.insert(key, record.value.clone()) {
            Some(same) => self.bytes -= same.len(),
            None => self.order.push_back(key),
        }
        while self.bytes > PASSED_BYTES
            && let Some(oldest) = self.order.pop_front()
        {
            self.bytes -= self.passed.remove(&oldest).map_or(0, |value| value.len());
        }
        Ok(Some(record))
    }
}

/// A copy: a borrowed message pins the whole answer that it came in.
pub(super) fn record_of(message: &BorrowedMessage<'_>) -> Record {
    let millis = message.timestamp().to_millis().unwrap_or_default();
    Record {
        offset: message.offset(),
        stamp: u64::try_from(millis).unwrap_or_default() * MILLISECOND,
        value: Bytes::copy_from_slice(message.payload().unwrap_or_default()),
    }
}

/// Reads a partition of another topic from one place to another.
pub(super) struct Walk {
    consumer: BaseConsumer<Quiet>,
    clock: SharedClock,
}

impl std::fmt::Debug for Walk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk").finish_non_exhaustive()
    }
}

/// One step of a [`Walk`].
pub(super) enum Step {
    Record(Record, Option<Bytes>),
    /// Everything that is committed was read.
    End,
    /// The place that was asked for is gone.
    OutOfRange,
}

impl Walk {
    pub(super) fn new(
        brokers: &Brokers,
        topic: &str,
        partition: u16,
        from: i64,
    ) -> Result<Self, LogError> {
        let consumer = brokers.reader("kafka buffer: decisions", true)?;
        consumer
            .assign(&at(topic, partition, from))
            .map_err(|error| failed("reading decisions", &error))?;
        let clock = brokers.clock.clone();
        Ok(Self { consumer, clock })
    }

    /// The next record and the value of its header `name`.
    pub(super) fn next(&mut self, name: &str) -> Result<Step, io::Error> {
        let end = self.clock.monotonic() + PATIENCE;
        while self.clock.monotonic() < end {
            match self.consumer.poll(POLL) {
                None => {}
                Some(Ok(message)) => {
                    return Ok(Step::Record(record_of(&message), header(&message, name)));
                }
                Some(Err(KafkaError::PartitionEOF(_))) => return Ok(Step::End),
                Some(Err(error)) if is_out_of_range(&error) => return Ok(Step::OutOfRange),
                Some(Err(_)) => {}
            }
        }
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the brokers do not answer",
        ))
    }
}

fn header(message: &BorrowedMessage<'_>, name: &str) -> Option<Bytes> {
    use rdkafka::message::Headers as _;
    let headers = message.headers()?;
    let mut found = headers.iter().filter(|header| header.key == name);
    found
        .next()
        .and_then(|header| header.value)
        .map(Bytes::copy_from_slice)
}
