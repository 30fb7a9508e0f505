//! The span log in one piece, on memory and on real files.

use super::*;
use crate::clock::{ManualClock, SECOND, SharedClock, SystemClock};
use crate::log::api::{Append, Block, Fed, Feed, Log};
use crate::log::directory::Directory;
use crate::log::errors::{AppendError, ReadError};
use crate::log::frame::{FrameMeta, Signal};
use crate::log::piece::{pieces, tests::body_of};
use crate::log::refs::Ref;
use crate::log::services::Services;
use crate::log::settings::{Durability, LogSettings, MemorySettings, OnFull, StoreKind};
use crate::otlp::{IntakeBudget, SourceId};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(5);
const NOW: Duration = Duration::ZERO;

/// What a test may turn.
struct Setup {
    log: LogSettings,
    memory: MemorySettings,
    cache: u64,
    window: u64,
    clock: SharedClock,
    at: OpenAt,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            log: LogSettings {
                store: StoreKind::Memory,
                max_size: 1 << 20,
                retention: None,
                durability: Durability::Os,
                partitions: 4,
                segment_size: 64 << 10,
            },
            memory: MemorySettings {
                total: 1 << 20,
                per_service_default: 1 << 20,
                per_service: vec![],
                on_full: OnFull::Spill,
            },
            cache: 1 << 20,
            window: 1 << 20,
            clock: Arc::new(SystemClock::new()),
            at: OpenAt::default(),
        }
    }
}

struct Opened {
    log: Arc<SpanLog<u32>>,
    services: Arc<Services>,
}

impl Setup {
    fn open(&self) -> Opened {
        self.open_in(&Directory::open(&self.log).unwrap())
    }

    fn open_in(&self, directory: &Directory) -> Opened {
        let services = Arc::new(Services::new(&self.memory));
        let shared = Arc::clone(&services);
        let clock = Arc::clone(&self.clock);
        let log =
            SpanLog::open(directory, &self.log, &self.memory, self.cache, self.window, shared, clock, self.at).unwrap();
        Opened { log, services }
    }
}

impl Opened {
    fn request(&self, service: &str, tag: u32, bodies: &[&[u8]]) -> Append<u32> {
        let pieces = bodies.len() as u32;
        let block = Block { service: self.services.intern(service), bytes: body_of(bodies), pieces };
        let meta = FrameMeta { source: SourceId(1), signal: Signal::Traces, version: 1, pieces, spans: pieces };
        Append { meta, blocks: vec![block], attachment: tag, attachment_bytes: 100, reservation: None }
    }

    fn append(&self, service: &str, tag: u32, bodies: &[&[u8]]) -> Result<u64, AppendError> {
        self.log.append(self.request(service, tag, bodies)).blocking_recv().unwrap()
    }

    fn count(&self, service: &str, what: fn(&crate::log::Account) -> u64) -> u64 {
        what(&self.services.account(self.services.intern(service)))
    }
}

/// The places of the pieces of a frame with these bodies.
fn refs(position: u64, bodies: &[&[u8]]) -> Vec<Ref> {
    let found = pieces(&body_of(bodies)).map(Result::unwrap);
    found.map(|p| Ref { position, offset: p.offset, length: p.body.len() as u32 }).collect()
}

/// Positions as a feed hands them out, with how: `l`ive, `s`tored.
fn drain(feed: &mut dyn Feed<u32>) -> Vec<(u64, char)> {
    let mut seen = Vec::new();
    loop {
        match feed.next(NOW) {
            Fed::Live { position, .. } => seen.push((position, 'l')),
            Fed::Stored { position, .. } => seen.push((position, 's')),
            Fed::Damaged { position, .. } => seen.push((position, 'd')),
            Fed::Idle { .. } | Fed::Closed => return seen,
        }
    }
}

fn eventually(what: impl Fn() -> bool) {
    let (_keep, never) = std::sync::mpsc::channel::<()>();
    for _ in 0..500 {
        if what() {
            return;
        }
        assert!(never.recv_timeout(Duration::from_millis(10)).is_err());
    }
    panic!("it never came to be");
}

#[test]
fn what_is_acknowledged_is_fed_and_read_back_also_after_a_restart() {
    let place = tempfile::tempdir().unwrap();
    let mut setup = Setup::default();
    setup.log.store = StoreKind::Disk(place.path().to_owned());
    let bodies: [&[u8]; 2] = [b"first trace", b"second"];
    let opened = setup.open();
    let mut feed = opened.log.feed(0);
    let positions: Vec<u64> = (0..50).map(|tag| opened.append("a", tag, &bodies).unwrap()).collect();
    for (tag, expected) in positions.iter().enumerate() {
        let Fed::Live { position, attachment, meta, .. } = feed.next(SOON) else { panic!("not live") };
        assert_eq!((position, *attachment, meta.spans), (*expected, tag as u32, 2));
    }
    assert!(matches!(feed.next(NOW), Fed::Idle { .. }));
    opened.log.stop();
    assert!(matches!(feed.next(SOON), Fed::Closed));
    assert!(matches!(opened.append("a", 0, &bodies), Err(AppendError::Stopping)));
    drop((feed, opened));

    let opened = setup.open();
    let mut feed = opened.log.feed(positions[7]);
    for expected in &positions[7..] {
        let Fed::Stored { position, body, .. } = feed.next(SOON) else { panic!("not stored") };
        assert_eq!((position, body), (*expected, body_of(&bodies)));
    }
    let last = opened.append("a", 99, &bodies).unwrap();
    assert!(matches!(feed.next(SOON), Fed::Live { position, .. } if position == last));
    for position in [positions[0], last] {
        for (place, body) in refs(position, &bodies).into_iter().zip(bodies) {
            assert_eq!(opened.log.read(place).unwrap(), body);
            let off = Ref { offset: place.offset + 1, ..place };
            assert!(matches!(opened.log.read(Ref { position: positions[0], ..off }), Err(ReadError::Damaged { .. })));
        }
    }
    assert_eq!(opened.log.stats().frames, 1);
}

#[test]
fn a_feed_that_falls_behind_reads_the_store_and_sees_the_same_order() {
    let setup = Setup { window: 1000, ..Setup::default() };
    let opened = setup.open();
    let (mut fast, mut slow) = (opened.log.feed(0), opened.log.feed(0));
    let mut expected = Vec::new();
    let mut seen = Vec::new();
    for tag in 0..30 {
        expected.push(opened.append("a", tag, &[b"x"]).unwrap());
        seen.extend(drain(&mut *fast));
    }
    assert_eq!(seen, expected.iter().map(|p| (*p, 'l')).collect::<Vec<_>>());
    assert_eq!(opened.log.stats().window_bytes, 1000, "ten frames of 100 bytes");
    let how = |index| if index < 20 { 's' } else { 'l' };
    let all: Vec<_> = expected.iter().enumerate().map(|(index, p)| (*p, how(index))).collect();
    assert_eq!(drain(&mut *slow), all);
    assert_eq!(opened.log.stats().window_bytes, 0, "everybody has everything");
    for tag in 0..15 {
        expected.push(opened.append("a", tag, &[b"x"]).unwrap());
    }
    assert_eq!(drain(&mut *slow).iter().map(|(p, _)| *p).collect::<Vec<_>>(), expected[30..]);
}

#[test]
fn the_intake_budget_is_given_back_when_every_feed_has_the_frame() {
    let opened = Setup::default().open();
    let budget = IntakeBudget::new(10_000);
    let mut feeds = [opened.log.feed(0), opened.log.feed(0)];
    let mut request = opened.request("a", 1, &[b"x"]);
    let mut reservation = budget.reservation();
    assert!(reservation.grow(4000));
    request.reservation = Some(reservation);
    opened.log.append(request).blocking_recv().unwrap().unwrap();
    assert_eq!(opened.log.stats().window_bytes, 4000);
    assert_eq!(opened.count("a", |a| a.intake.load(Ordering::Relaxed)), 100, "the attachment");
    drain(&mut *feeds[0]);
    assert_eq!(budget.used(), 4000);
    drain(&mut *feeds[1]);
    assert_eq!((budget.used(), opened.count("a", |a| a.intake.load(Ordering::Relaxed))), (0, 0));
}

#[test]
fn log_time_begins_at_the_wall_clock_and_stands_still_while_down() {
    let place = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(1000 * SECOND));
    let mut setup = Setup { clock: clock.clone(), ..Setup::default() };
    setup.log.store = StoreKind::Disk(place.path().to_owned());
    let opened = setup.open();
    let mut feed = opened.log.feed(0);
    clock.advance(SECOND);
    assert!(matches!(feed.next(NOW), Fed::Idle { now } if now == 1001 * SECOND));
    opened.append("a", 1, &[b"x"]).unwrap();
    assert!(matches!(feed.next(SOON), Fed::Live { stamp, .. } if stamp == 1001 * SECOND));
    drop((opened, feed));
    clock.advance(500 * SECOND);
    let opened = setup.open();
    assert_eq!(opened.log.now(), 1001 * SECOND);
    clock.advance(SECOND);
    opened.append("a", 1, &[b"x"]).unwrap();
    assert_eq!(opened.log.stats().last_stamp, 1002 * SECOND);
    assert_eq!(opened.log.stats().oldest_stamp, Some(1001 * SECOND));
    let end = opened.log.end();
    drop(opened);
    setup.at = OpenAt { beyond: end + 10_000, stamp: 1050 * SECOND };
    let opened = setup.open();
    assert_eq!(opened.log.now(), 1050 * SECOND);
    assert!(opened.append("a", 1, &[b"x"]).unwrap() > end + 10_000);
}
