//! The stream against a plain list, on a file system that fails and crashes.
//!
//! What must hold: an acknowledged frame is there, whole, at its position, after the death of the process (and, with
//! `fsync`, after the loss of power); a frame that was refused may come back after a crash, whole, never before one;
//! nothing else is ever read; order is kept; recovery succeeds whenever the storage works.

use super::*;
use crate::log::errors::{AppendError, ReadError};
use crate::log::frame::OutFrame;
use crate::log::settings::Durability;
use crate::log::storage::simulated::{Fault, Outage, SimulatedStorage};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

#[derive(Debug, Clone)]
enum Step {
    /// Body lengths.
    Append(Vec<usize>),
    /// Gives back what lies before the nth known frame, of 16.
    Release(usize),
    Flush,
    /// Strikes the nth changing call from now.
    Fault(u64, Fault),
    /// The process ends here if it has not crashed; faults during the recovery.
    Outage(Outage, Option<(u64, Fault)>),
    /// The next frames lie this far beyond the end.
    Beyond(u64),
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![1 => Just(Fault::Short), 1 => Just(Fault::NoSpace), 1 => Just(Fault::Io), 2 => Just(Fault::Crash)]
}

fn step() -> impl Strategy<Value = Step> {
    let outage = prop_oneof![Just(Outage::Process), Just(Outage::Power)];
    prop_oneof![
        8 => prop::collection::vec(0..700usize, 1..4).prop_map(Step::Append),
        1 => (0..16usize).prop_map(Step::Release),
        1 => Just(Step::Flush),
        3 => (1..8u64, fault()).prop_map(|(after, fault)| Step::Fault(after, fault)),
        2 => (outage, prop::option::weighted(0.3, (1..6u64, fault()))).prop_map(|(o, f)| Step::Outage(o, f)),
        1 => (0..3000u64).prop_map(Step::Beyond),
    ]
}

struct Model {
    settings: StreamSettings,
    storage: SimulatedStorage,
    stream: Stream,
    /// What must be there, by position.
    present: BTreeMap<u64, Vec<u8>>,
    /// Below this it may be gone.
    released: u64,
    /// Frames below this survive any outage (with `os`: none).
    safe: u64,
    /// Everything that was ever acknowledged, with its position. Only a loss of power with `os` gives a position twice.
    ever: HashSet<(u64, Vec<u8>)>,
    /// Refused, or in the middle of a crash: bodies that may turn up.
    unsure: HashSet<Vec<u8>>,
    /// There was a torn write, or a file that was written over while a crash could bring back its name.
    excused: bool,
    beyonds: u64,
    next_id: u64,
    stamp: u64,
}

impl Model {
    fn new(durability: Durability, seed: u64) -> Self {
        let settings = StreamSettings {
            segment_size: 2048,
            max_bytes: 5 * 2048,
            durability,
            preallocate_all: seed.is_multiple_of(3),
        };
        let storage = SimulatedStorage::new(seed);
        let stream = Stream::open(Arc::new(storage.clone()), settings).unwrap();
        stream.flush().unwrap();
        let (present, ever) = (BTreeMap::new(), HashSet::new());
        let unsure = HashSet::new();
        Self {
            settings,
            storage,
            stream,
            present,
            released: 0,
            safe: 0,
            ever,
            unsure,
            excused: false,
            beyonds: 0,
            next_id: 0,
            stamp: 0,
        }
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Append(lengths) => self.append(lengths),
            Step::Release(nth) => {
                let position = self.present.keys().nth(*nth).copied().unwrap_or(0);
                self.released = self.released.max(position);
                self.stream.release_before(position);
            }
            Step::Flush => {
                drop(self.stream.flush());
            }
            Step::Fault(after, fault) => self.storage.plan(*after, *fault),
            Step::Beyond(more) => {
                self.beyonds += 1;
                drop(self.stream.open_beyond(self.stream.end() + more));
            }
            Step::Outage(outage, fault) => self.restart(*outage, *fault),
        }
        if self.storage.has_crashed() {
            self.restart(Outage::Process, None);
        }
        self.check_running();
    }

    fn append(&mut self, lengths: &[usize]) {
        let bodies: Vec<Vec<u8>> = lengths.iter().map(|length| self.body(*length)).collect();
        let parts: Vec<[&[u8]; 2]> = bodies
            .iter()
            .map(|body| body.split_at(body.len() / 2).into())
            .collect();
        self.stamp += 1;
        let frame = |body| OutFrame {
            stamp: self.stamp,
            meta: [7; 16],
            body,
        };
        let frames: Vec<_> = parts.iter().map(|parts| frame(&parts[..])).collect();
        match self.stream.append(&frames) {
            Ok(positions) => {
                self.present
                    .extend(positions.iter().copied().zip(bodies.iter().cloned()));
                self.ever.extend(positions.into_iter().zip(bodies));
                if self.settings.durability == Durability::Fsync {
                    self.safe = self.stream.end();
                }
            }
            Err(
                AppendError::TooLarge { .. }
                | AppendError::Full {
                    reason: "log full", ..
                },
            ) => {}
            Err(_) => self.unsure.extend(bodies),
        }
    }

    /// Bytes that no other frame has.
    fn body(&mut self, length: usize) -> Vec<u8> {
        self.next_id += 1;
        let mut body = self.next_id.to_le_bytes().to_vec();
        body.extend((0..length).map(|at| (at as u64).wrapping_mul(self.next_id) as u8));
        body
    }

    /// While the process lives, exactly the acknowledged frames are there.
    fn check_running(&self) {
        let (seen, _) = self.read_all();
        let expected: Vec<_> = self
            .present
            .range(self.stream.start()..)
            .map(|(p, b)| (*p, b.clone()))
            .collect();
        assert_eq!(seen, expected);
        assert!(
            self.stream.start() <= self.released
                || self.present.range(..self.stream.start()).next().is_none()
        );
        if let Some((position, body)) = expected.last() {
            assert_eq!(
                self.stream
                    .read_at(*position, 48, body.len() as u32)
                    .unwrap(),
                body
            );
            assert_eq!(
                self.stream
                    .reader(position - 1)
                    .next()
                    .unwrap()
                    .map(|f| f.position),
                Some(*position)
            );
        }
        // Only opening beyond a position may take more than the share.
        assert!(
            self.stream.bytes()
                <= self.settings.max_bytes + self.beyonds * self.settings.segment_size
        );
    }

    /// Frames in order, and whether there was damage.
    fn read_all(&self) -> (Vec<(u64, Vec<u8>)>, bool) {
        let mut reader = self.stream.reader(0);
        let (mut seen, mut damaged, mut stamp) = (Vec::new(), false, 0);
        loop {
            match reader.next() {
                Ok(Some(frame)) => {
                    assert!(frame.stamp >= stamp && frame.next == reader.position());
                    stamp = frame.stamp;
                    seen.push((frame.position, frame.body.to_vec()));
                }
                Ok(None) => return (seen, damaged),
                Err(ReadError::Damaged { position, next }) => {
                    assert!(next > position && next == reader.position());
                    damaged = true;
                }
                Err(other) => panic!("{other}"),
            }
        }
    }

    fn restart(&mut self, outage: Outage, fault: Option<(u64, Fault)>) {
        self.storage = self.storage.restart(outage);
        if let Some((after, fault)) = fault {
            self.storage.plan(after, fault);
            drop(Stream::open(Arc::new(self.storage.clone()), self.settings));
            self.storage = self.storage.restart(outage);
        }
        self.stream = Stream::open(Arc::new(self.storage.clone()), self.settings)
            .expect("recovery of a working storage");
        let keeps_all = outage == Outage::Process;
        let (seen, damaged) = self.read_all();
        assert!(seen.is_sorted_by_key(|(position, _)| *position));
        for (position, body) in &seen {
            let known =
                self.ever.contains(&(*position, body.clone())) || self.unsure.contains(body);
            assert!(known, "a frame at {position} that was never written so");
        }
        let found: BTreeMap<_, _> = seen.into_iter().collect();
        for (position, body) in self.present.range(self.released..) {
            if keeps_all || *position < self.safe {
                assert!(
                    found.get(position) == Some(body),
                    "the acknowledged frame at {position}, {outage:?}"
                );
            }
        }
        self.excused |= !self.unsure.is_empty() || self.released > 0;
        self.excused |= outage == Outage::Power && self.settings.durability == Durability::Os;
        assert!(self.excused || !damaged, "damage from nowhere");
        self.ever.extend(found.clone());
        self.present = found;
        if self.settings.durability == Durability::Fsync {
            self.unsure.clear();
            self.safe = self.stream.end();
        }
    }
}

fn play(durability: Durability, seed: u64, steps: &[Step]) {
    let mut model = Model::new(durability, seed);
    steps.iter().for_each(|step| model.run(step));
    model.storage.calm();
    model.restart(Outage::Power, None);
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 4000, ..crate::cases::cases(150) })]

    #[test]
    fn a_killed_process_loses_nothing(seed in any::<u64>(), steps in prop::collection::vec(step(), 1..60)) {
        play(Durability::Os, seed, &steps);
    }

    #[test]
    fn a_loss_of_power_loses_nothing_synced(seed in any::<u64>(), steps in prop::collection::vec(step(), 1..60)) {
        play(Durability::Fsync, seed, &steps);
    }
}

/// A crash at every single call of one fixed history, with either outage.
#[test]
fn a_crash_at_every_write() {
    for durability in [Durability::Os, Durability::Fsync] {
        for outage in [Outage::Process, Outage::Power] {
            let mut calls = u64::MAX;
            let mut at = 1;
            while at <= calls {
                let mut model = Model::new(durability, at);
                let before = model.storage.calls();
                model.storage.plan(at, Fault::Crash);
                for n in 0..25 {
                    model.append(&[n * 20, 100]);
                    if model.storage.has_crashed() {
                        model.restart(outage, None);
                    }
                    if n % 8 == 7 {
                        model.run(&Step::Release(6));
                    }
                    model.check_running();
                }
                calls = model.storage.calls() - before;
                model.restart(outage, None);
                at += 1;
            }
            assert!(calls > 30);
        }
    }
}

/// It once took more than its share: a full disk at the first roll, then a release and a restart.
#[test]
fn a_history_found_by_a_long_run() {
    use Step::{Append, Beyond, Flush, Release};
    let steps = [
        Step::Fault(5, Fault::NoSpace),
        Flush,
        Beyond(1),
        Append(vec![0]),
        Append(vec![0]),
        Append(vec![529]),
        Append(vec![625, 537]),
        Append(vec![177, 505]),
        Append(vec![633, 425]),
        Release(3),
        Append(vec![377, 489, 345]),
        Append(vec![33, 433]),
        Step::Outage(Outage::Process, None),
    ];
    for seed in 0..6 {
        play(Durability::Os, seed, &steps);
    }
    play(Durability::Os, 10_993_327_530_170_099_865, &steps);
}

/// A segment that was given up with frames of a failed write in it came back after the loss of power, beside the one
/// that had taken its place.
#[test]
fn a_segment_that_was_given_up_comes_back() {
    use Step::{Append, Beyond};
    let steps = [
        Append(vec![361]),
        Append(vec![569, 697, 113]),
        Step::Fault(5, Fault::Crash),
        Append(vec![0]),
        Append(vec![305]),
        Step::Fault(6, Fault::NoSpace),
        Append(vec![1, 521]),
        Beyond(1),
        Step::Outage(Outage::Power, None),
        Append(vec![0]),
    ];
    for seed in (0..200).chain([392_736_035_208_002_484]) {
        play(Durability::Fsync, seed, &steps);
    }
}

/// A frame whose sync failed, in a segment that was given up for one further on: it is not there after a crash.
#[test]
fn a_refused_frame_in_a_segment_that_was_given_up_stays_away() {
    use Step::{Append, Beyond};
    let steps = [
        Append(vec![297]),
        Append(vec![401]),
        Step::Outage(Outage::Power, Some((1, Fault::Short))),
        Append(vec![625, 417]),
        Append(vec![65]),
        Step::Fault(7, Fault::NoSpace),
        Append(vec![633]),
        Step::Fault(4, Fault::Crash),
        Beyond(689),
    ];
    for seed in (0..200).chain([9_458_329_878_156_368_078]) {
        play(Durability::Fsync, seed, &steps);
    }
}
