//! Entries of the decision log: what was decided, on what evidence, over which pieces.
//!
//! An entry names its trace, the policy, what the rules saw that a replay would not see again (percentile thresholds),
//! and its pieces: a keep each of them with its span count, a drop the first and last position. A drop takes at most 64
//! bytes with up to four percentile rules. An `undecided` entry is no decision: it says what a restart need not fold
//! again (`checkpoint`). The frame around a batch of entries carries the format version, the rule set
//! and the `decide` position (see `Batch`). All numbers are little-endian base-128 (LEB) unless fixed.

use super::checkpoint::Checkpoint;
use super::evidence::Evidence;
use super::packed::PackedRef;
use crate::log::Ref;
use crate::otlp::{ALWAYS, NEVER, TraceId};
use prost::Message;

/// The format of entries and of the frame meta around them.
pub(crate) const VERSION: u8 = 2;

/// One entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    /// With the sampling threshold (56 bits) under which traces like this are kept.
    Keep(Decision, u64, Vec<PackedRef>),
    Drop(Decision, Extent),
    /// The state of a trace that has been waiting.
    Undecided(Box<Checkpoint>),
    /// A snapshot of counters and percentiles (`snapshot`), encoded.
    Snapshot(Vec<u8>),
    /// The state of all budgets behind the entries before it in its frame (`snapshot::LimitStates`), encoded.
    Limits(Vec<u8>),
}

/// What keeps and drops have in common.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decision {
    pub(crate) trace: TraceId,
    /// Index of the policy in config order.
    pub(crate) policy: Option<u16>,
    pub(crate) evidence: Evidence,
    /// Log time of the first piece, whole seconds: what an age is counted from.
    pub(crate) first_second: u32,
    /// Log time of the last piece, whole seconds: what a late window is counted from.
    pub(crate) last_second: u32,
    /// Thresholds in force, ns, one for each percentile rule. Empty for late pieces.
    pub(crate) thresholds: Vec<u64>,
    /// Which child of the policy, when it is a `composite`.
    pub(crate) child: Option<u16>,
    /// What budgets answered, in the order in which they were asked.
    pub(crate) grants: Vec<u64>,
    /// A late piece that a decision cache answered for.
    pub(crate) cached: bool,
    /// Of an amendment: what it brings back.
    pub(crate) amends: Option<Amends>,
    /// The same of log records; nothing where none is.
    pub(crate) amended_records: Amends,
}

/// Spans of an amendment that were dropped before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Amends {
    /// But for those under pressure.
    pub(crate) dropped: u64,
    pub(crate) pressure: u64,
}

impl Amends {
    pub(crate) fn spans(self) -> u64 {
        self.dropped + self.pressure
    }

    pub(crate) fn add(&mut self, under_pressure: bool, count: u32) {
        let sum = if under_pressure {
            &mut self.pressure
        } else {
            &mut self.dropped
        };
        *sum += u64::from(count);
    }

    /// Takes what is brought back off the two counters of dropped spans. Together they always have it; which of them does
    /// may be told wrongly where a frame holds spans of both.
    pub(crate) fn take_off(self, dropped: u64, under_pressure: u64) -> (u64, u64) {
        let left = under_pressure.saturating_sub(self.pressure);
        let rest = self.spans() - (under_pressure - left);
        let over = rest.saturating_sub(dropped);
        (dropped.saturating_sub(rest), left.saturating_sub(over))
    }
}

/// Where a piece lies, as a number of its own: no frame begins there.
pub(crate) fn address(position: u64, offset: u32) -> u64 {
    position + u64::from(offset)
}

/// The pieces of a drop: between two frames, or one alone. Late and filtered pieces and those of services with a mode have
/// an entry each, and another piece of their trace may lie in the same frame; so `last` is then the piece's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Extent {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) spans: u64,
    /// Log records.
    pub(crate) records: u64,
}

impl Extent {
    pub(crate) fn of(places: &[PackedRef]) -> Self {
        Self {
            first: places.first().map_or(0, |place| place.place().position),
            last: places.last().map_or(0, |place| place.place().position),
            spans: places.iter().map(|place| u64::from(place.spans())).sum(),
            records: places.iter().map(|place| u64::from(place.records())).sum(),
        }
    }

    /// One piece alone.
    pub(crate) fn of_piece(packed: PackedRef) -> Self {
        let place = packed.place();
        Self {
            first: place.position,
            last: address(place.position, place.offset),
            spans: u64::from(packed.spans()),
            records: u64::from(packed.records()),
        }
    }
}

impl Decision {
    /// The extent of a keep with these pieces.
    pub(crate) fn extent(&self, places: &[PackedRef]) -> Extent {
        match places {
            [only] if self.evidence.is_apart() => Extent::of_piece(*only),
            places => Extent::of(places),
        }
    }

    /// Its extent is of one piece alone. Late drops of older logs name the frame.
    pub(crate) fn is_of_piece(&self, extent: Extent) -> bool {
        let alone = self.evidence == Evidence::Late || self.evidence.is_apart();
        alone && extent.last > extent.first
    }
}

impl Entry {
    /// The decision and the extent of its pieces; `None` for what is none.
    pub(crate) fn decision(&self) -> Option<(&Decision, Extent, bool)> {
        match self {
            Self::Keep(decision, _, places) => Some((decision, decision.extent(places), true)),
            Self::Drop(decision, extent) => Some((decision, *extent, false)),
            Self::Undecided(_) | Self::Snapshot(_) | Self::Limits(_) => None,
        }
    }
}

const KEEP: u8 = 1;
const DROP: u8 = 2;
const SNAPSHOT: u8 = 3;
const LIMITS: u8 = 5;
const UNDECIDED: u8 = 4;
/// A drop with log records.
const DROP_LOGS: u8 = 6;

/// Appends the entry to a batch.
pub(crate) fn encode(entry: &Entry, out: &mut Vec<u8>) {
    match entry {
        Entry::Keep(decision, threshold, places) => {
            out.push(KEEP);
            put_decision(decision, out);
            put(out, *threshold);
            put(out, places.len() as u64);
            let mut last = 0;
            for packed in places {
                let place = packed.place();
                put(out, place.position.wrapping_sub(last));
                last = place.position;
                put(out, u64::from(place.offset));
                put(out, u64::from(place.length));
                put(out, u64::from(packed.raw()));
            }
        }
        Entry::Drop(decision, extent) => {
            out.push(if extent.records > 0 { DROP_LOGS } else { DROP });
            put_decision(decision, out);
            put(out, extent.first);
            put(out, extent.last.wrapping_sub(extent.first));
            put(out, extent.spans);
            if extent.records > 0 {
                put(out, extent.records);
            }
        }
        Entry::Undecided(checkpoint) => {
            out.push(UNDECIDED);
            let bytes = checkpoint.encode_to_vec();
            put(out, bytes.len() as u64);
            out.extend_from_slice(&bytes);
        }
        Entry::Snapshot(bytes) => {
            out.push(SNAPSHOT);
            put(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
        Entry::Limits(bytes) => {
            out.push(LIMITS);
            put(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
    }
}

/// Bits of a decision's flags: which of its rarer parts follow.
const HAS_CHILD: u8 = 1;
const HAS_GRANTS: u8 = 2;
const CACHED: u8 = 4;
const HAS_AMENDS: u8 = 8;
const HAS_AMENDED_RECORDS: u8 = 16;

fn flags(decision: &Decision) -> u8 {
    let bit = |set: bool, bit: u8| if set { bit } else { 0 };
    bit(decision.child.is_some(), HAS_CHILD)
        | bit(!decision.grants.is_empty(), HAS_GRANTS)
        | bit(decision.cached, CACHED)
        | bit(decision.amends.is_some(), HAS_AMENDS)
        | bit(
            decision.amended_records != Amends::default(),
            HAS_AMENDED_RECORDS,
        )
}

/// The two answers that are given most take a byte.
fn put_grant(out: &mut Vec<u8>, threshold: u64) {
    put(
        out,
        match threshold {
            ALWAYS => 0,
            NEVER => 1,
            threshold => threshold + 1,
        },
    );
}

fn grant_of(number: u64) -> Option<u64> {
    match number {
        0 => Some(ALWAYS),
        1 => Some(NEVER),
        number => Some(number - 1).filter(|threshold| *threshold < NEVER),
    }
}

fn put_decision(decision: &Decision, out: &mut Vec<u8>) {
    out.extend_from_slice(&decision.trace.to_bytes());
    out.push(decision.evidence as u8);
    put(
        out,
        decision.policy.map_or(0, |policy| u64::from(policy) + 1),
    );
    put(out, u64::from(decision.first_second));
    put(
        out,
        u64::from(decision.last_second.wrapping_sub(decision.first_second)),
    );
    put(out, decision.thresholds.len() as u64);
    decision
        .thresholds
        .iter()
        .for_each(|threshold| put(out, *threshold));
    out.push(flags(decision));
    if let Some(child) = decision.child {
        put(out, u64::from(child));
    }
    if !decision.grants.is_empty() {
        put(out, decision.grants.len() as u64);
        decision
            .grants
            .iter()
            .for_each(|threshold| put_grant(out, *threshold));
    }
    let records = Some(decision.amended_records).filter(|records| *records != Amends::default());
    for amends in decision.amends.iter().chain(&records) {
        put(out, amends.dropped);
        put(out, amends.pressure);
    }
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        #[allow(clippy::cast_possible_truncation, reason = "the low seven bits")]
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    #[allow(clippy::cast_possible_truncation, reason = "below 128")]
    out.push(value as u8);
}

/// Reads the entries of a batch; `None` where the bytes are no entries (a newer format, or damage that the frame's
/// checksum let through): nothing after it can be read.
#[derive(Debug)]
pub(crate) struct Entries<'a> {
    rest: &'a [u8],
    broken: bool,
}

impl<'a> Entries<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self {
            rest: body,
            broken: false,
        }
    }

    /// The batch ended before its end.
    pub(crate) fn broken(&self) -> bool {
        self.broken
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// A count of things that take at least `each` bytes: more than could be there is damage.
    fn count(&mut self, each: usize) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.rest.len() / each).then_some(count)
    }

    fn decision(&mut self) -> Option<Decision> {
        let trace = TraceId(u128::from_be_bytes(self.take(16)?.try_into().ok()?));
        let evidence = Evidence::from_number(self.byte()?)?;
        let policy = match self.number()? {
            0 => None,
            number => Some(u16::try_from(number - 1).ok()?),
        };
        let first_second = self.small()?;
        let last_second = first_second.wrapping_add(self.small()?);
        let thresholds = (0..self.count(1)?)
            .map(|_| self.number())
            .collect::<Option<_>>()?;
        let flags = self.byte()?;
        let child = match flags & HAS_CHILD {
            0 => None,
            _ => Some(u16::try_from(self.number()?).ok()?),
        };
        let grants = match flags & HAS_GRANTS {
            0 => Vec::new(),
            _ => (0..self.count(1)?)
                .map(|_| grant_of(self.number()?))
                .collect::<Option<_>>()?,
        };
        let amends = match flags & HAS_AMENDS {
            0 => None,
            _ => Some(self.amends()?),
        };
        let amended_records = match flags & HAS_AMENDED_RECORDS {
            0 => Amends::default(),
            _ => self.amends()?,
        };
        Some(Decision {
            trace,
            policy,
            evidence,
            first_second,
            last_second,
            thresholds,
            child,
            grants,
            cached: flags & CACHED != 0,
            amends,
            amended_records,
        })
    }

    fn amends(&mut self) -> Option<Amends> {
        Some(Amends {
            dropped: self.number()?,
            pressure: self.number()?,
        })
    }

    fn entry(&mut self) -> Option<Entry> {
        match self.byte()? {
            KEEP => {
                let decision = self.decision()?;
                let threshold = self.number()?;
                let mut position = 0_u64;
                let places = (0..self.count(4)?).map(|_| {
                    position = position.wrapping_add(self.number()?);
                    let (offset, length, spans) = (self.small()?, self.small()?, self.small()?);
                    Some(PackedRef::new(
                        Ref {
                            position,
                            offset,
                            length,
                        },
                        spans,
                    ))
                });
                let places = places.collect::<Option<_>>()?;
                Some(Entry::Keep(decision, threshold, places))
            }
            tag @ (DROP | DROP_LOGS) => {
                let decision = self.decision()?;
                let first = self.number()?;
                let last = first.wrapping_add(self.number()?);
                Some(Entry::Drop(
                    decision,
                    Extent {
                        first,
                        last,
                        spans: self.number()?,
                        records: match tag {
                            DROP => 0,
                            _ => self.number()?,
                        },
                    },
                ))
            }
            UNDECIDED => {
                let length = self.count(1)?;
                let checkpoint = Checkpoint::decode(self.take(length)?).ok()?;
                Some(Entry::Undecided(Box::new(checkpoint)))
            }
            SNAPSHOT => {
                let length = self.count(1)?;
                Some(Entry::Snapshot(self.take(length)?.to_vec()))
            }
            LIMITS => {
                let length = self.count(1)?;
                Some(Entry::Limits(self.take(length)?.to_vec()))
            }
            _ => None,
        }
    }
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if self.rest.is_empty() || self.broken {
            return None;
        }
        let entry = self.entry();
        self.broken = entry.is_none();
        entry
    }
}

/// The meta of a frame of entries: version, rule set, and the `decide` position before this batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchMeta {
    pub(crate) rules: u32,
    pub(crate) decide: u64,
}

impl BatchMeta {
    pub(crate) fn pack(self) -> [u8; 16] {
        let mut meta = [0; 16];
        meta[0] = VERSION;
        meta[4..8].copy_from_slice(&self.rules.to_le_bytes());
        meta[8..].copy_from_slice(&self.decide.to_le_bytes());
        meta
    }

    /// `None` for another version.
    pub(crate) fn unpack(meta: &[u8; 16]) -> Option<Self> {
        let [version, _, _, _, a, b, c, d, decide @ ..] = *meta;
        (version == VERSION).then_some(Self {
            rules: u32::from_le_bytes([a, b, c, d]),
            decide: u64::from_le_bytes(decide),
        })
    }
}

#[cfg(test)]
mod tests;
