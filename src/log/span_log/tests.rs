//! The span log in one piece, on memory and on real files.

mod faults;
mod order;

use super::*;
use crate::clock::{ManualClock, SECOND, SharedClock, SystemClock};
use crate::log::api::{Append, Block, Fed, Feed, Inlet, Log};
use crate::log::directory::Directory;
use crate::log::errors::{AppendError, ReadError};
use crate::log::frame::{FrameMeta, Signal};
use crate::log::piece::{pieces, tests::body_of};
use crate::log::refs::Ref;
use crate::log::services::Services;
use crate::log::settings::{Durability, LogSettings, MemorySettings, OnFull, StoreKind};
use crate::log::storage::Storage;
use crate::log::storage::simulated::{Fault, Outage, SimulatedStorage};
use crate::log::stream::{Stream, StreamSettings};
use crate::otlp::{IntakeBudget, SourceId, TraceId};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The embedded log finds a piece without its trace.
const TRACE: TraceId = TraceId(1);

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
                on_full_of: vec![],
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
        self.open_over(directory.spans().unwrap())
    }

    fn open_over(&self, stream: Stream) -> Opened {
        let services = Arc::new(Services::new(&self.memory));
        let shared = Arc::clone(&services);
        let clock = Arc::clone(&self.clock);
        let log = SpanLog::over(
            stream,
            &self.log,
            self.cache,
            self.window,
            shared,
            clock,
            self.at,
        )
        .unwrap();
        Opened { log, services }
    }
}

impl Opened {
    fn request(&self, service: &str, tag: u32, bodies: &[&[u8]]) -> Append<u32> {
        let pieces = bodies.len() as u32;
        let block = Block {
            service: self.services.intern(service),
            bytes: body_of(bodies),
            pieces,
        };
        let meta = FrameMeta {
            source: SourceId(1),
            signal: Signal::Traces,
            version: 1,
            pieces,
            spans: pieces,
        };
        Append {
            meta,
            blocks: vec![block],
            attachment: tag,
            attachment_bytes: 100,
            reservation: None,
        }
    }

    fn append(&self, service: &str, tag: u32, bodies: &[&[u8]]) -> Result<u64, AppendError> {
        self.log
            .append(self.request(service, tag, bodies))
            .blocking_recv()
            .unwrap()
    }

    fn count(&self, service: &str, what: fn(&crate::log::Account) -> u64) -> u64 {
        what(&self.services.account(self.services.intern(service)))
    }
}

/// The places of the pieces of a frame with these bodies.
fn refs(position: u64, bodies: &[&[u8]]) -> Vec<Ref> {
    let found = pieces(&body_of(bodies)).map(Result::unwrap);
    found
        .map(|p| Ref {
            position,
            offset: p.offset,
            length: p.body.len() as u32,
        })
        .collect()
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
    for _ in 0..6_000 {
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
    let positions: Vec<u64> = (0..50)
        .map(|tag| opened.append("a", tag, &bodies).unwrap())
        .collect();
    for (tag, expected) in positions.iter().enumerate() {
        let Fed::Live {
            position,
            attachment,
            meta,
            ..
        } = feed.next(SOON)
        else {
            panic!("not live")
        };
        assert_eq!(
            (position, *attachment, meta.spans),
            (*expected, tag as u32, 2)
        );
    }
    assert!(matches!(feed.next(NOW), Fed::Idle { .. }));
    opened.log.stop();
    assert!(matches!(feed.next(SOON), Fed::Closed));
    assert!(matches!(
        opened.append("a", 0, &bodies),
        Err(AppendError::Stopping)
    ));
    drop((feed, opened));

    let opened = setup.open();
    let mut feed = opened.log.feed(positions[7]);
    for expected in &positions[7..] {
        let Fed::Stored { position, body, .. } = feed.next(SOON) else {
            panic!("not stored")
        };
        assert_eq!((position, body), (*expected, body_of(&bodies)));
    }
    let last = opened.append("a", 99, &bodies).unwrap();
    assert!(matches!(feed.next(SOON), Fed::Live { position, .. } if position == last));
    for position in [positions[0], last] {
        for (place, body) in refs(position, &bodies).into_iter().zip(bodies) {
            assert_eq!(opened.log.read(place, TRACE).unwrap(), body);
            let off = Ref {
                offset: place.offset + 1,
                ..place
            };
            assert!(matches!(
                opened.log.read(
                    Ref {
                        position: positions[0],
                        ..off
                    },
                    TRACE
                ),
                Err(ReadError::Damaged { .. })
            ));
        }
    }
    assert_eq!(opened.log.stats().frames, 1);
}

#[test]
fn a_feed_that_falls_behind_reads_the_store_and_sees_the_same_order() {
    let setup = Setup {
        window: 1000,
        ..Setup::default()
    };
    let opened = setup.open();
    let (mut fast, mut slow) = (opened.log.feed(0), opened.log.feed(0));
    let mut expected = Vec::new();
    let mut seen = Vec::new();
    for tag in 0..30 {
        expected.push(opened.append("a", tag, &[b"x"]).unwrap());
        seen.extend(drain(&mut *fast));
    }
    assert_eq!(seen, expected.iter().map(|p| (*p, 'l')).collect::<Vec<_>>());
    assert_eq!(
        opened.log.stats().window_bytes,
        1000,
        "ten frames of 100 bytes"
    );
    let how = |index| if index < 20 { 's' } else { 'l' };
    let all: Vec<_> = expected
        .iter()
        .enumerate()
        .map(|(index, p)| (*p, how(index)))
        .collect();
    assert_eq!(drain(&mut *slow), all);
    assert_eq!(
        opened.log.stats().window_bytes,
        0,
        "everybody has everything"
    );
    for tag in 0..15 {
        expected.push(opened.append("a", tag, &[b"x"]).unwrap());
    }
    assert_eq!(
        drain(&mut *slow)
            .iter()
            .map(|(p, _)| *p)
            .collect::<Vec<_>>(),
        expected[30..]
    );
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
    assert_eq!(
        opened.count("a", |a| a.intake.load(Ordering::Relaxed)),
        100,
        "the attachment"
    );
    drain(&mut *feeds[0]);
    assert_eq!(budget.used(), 4000);
    drain(&mut *feeds[1]);
    assert_eq!(
        (
            budget.used(),
            opened.count("a", |a| a.intake.load(Ordering::Relaxed))
        ),
        (0, 0)
    );
}

#[test]
fn log_time_begins_at_the_wall_clock_and_stands_still_while_down() {
    let place = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(1000 * SECOND));
    let mut setup = Setup {
        clock: clock.clone(),
        ..Setup::default()
    };
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
    setup.at = OpenAt {
        beyond: end + 10_000,
        stamp: 1050 * SECOND,
    };
    let opened = setup.open();
    assert_eq!(opened.log.now(), 1050 * SECOND);
    assert!(opened.append("a", 1, &[b"x"]).unwrap() > end + 10_000);
}

#[test]
fn a_full_service_is_refused_and_only_it_until_its_traces_are_decided() {
    let mut setup = Setup::default();
    // Of this one alone, whatever holds for others.
    setup.memory.on_full_of = vec![("noisy".to_owned(), OnFull::Refuse)];
    setup.memory.per_service = vec![("noisy".to_owned(), 8000), ("lax".to_owned(), 600)];
    let opened = setup.open();
    let mut feed = opened.log.feed(0);
    let body = [7; 500];
    let mut taken = Vec::new();
    let refused = loop {
        assert!(taken.len() < 100, "never full");
        match opened.append("noisy", 0, &[&body]) {
            Ok(position) => taken.extend(refs(position, &[&body])),
            Err(error) => break error,
        }
        drain(&mut *feed);
    };
    assert!(
        matches!(
            refused,
            AppendError::Full {
                reason: "service memory",
                ..
            }
        ),
        "{refused}"
    );
    assert!(
        (10..16).contains(&taken.len()),
        "{} requests of 516 bytes in 7500",
        taken.len()
    );
    opened.append("quiet", 0, &[&body]).unwrap();
    for _ in 0..5 {
        opened.append("lax", 0, &[&body]).unwrap();
    }
    assert_eq!(
        opened.count("noisy", |a| a.refused.load(Ordering::Relaxed)),
        1
    );
    assert_eq!(
        opened.count("quiet", |a| a.refused.load(Ordering::Relaxed)),
        0
    );
    assert!(opened.log.stats().refused.contains(&("service memory", 1)));
    opened.log.settle(&mut taken.iter().copied().take(5));
    opened.append("noisy", 0, &[&body]).unwrap();
    assert_eq!(
        opened.count("noisy", |a| a.spilled.load(Ordering::Relaxed)),
        0
    );
}

#[test]
fn spilled_payload_is_read_from_the_store() {
    let mut setup = Setup {
        cache: 8200,
        ..Setup::default()
    };
    setup.memory.per_service = vec![("noisy".to_owned(), 8000)];
    let opened = setup.open();
    let quiet = opened.append("quiet", 0, &[b"stays"]).unwrap();
    let bodies: Vec<Vec<u8>> = (0..100u8).map(|n| vec![n; 500]).collect();
    let positions: Vec<u64> = bodies
        .iter()
        .map(|b| opened.append("noisy", 0, &[b]).unwrap())
        .collect();
    for (body, position) in bodies.iter().zip(positions) {
        assert_eq!(
            opened.log.read(refs(position, &[body])[0], TRACE).unwrap(),
            body
        );
    }
    assert_eq!(
        opened.log.read(refs(quiet, &[b"stays"])[0], TRACE).unwrap(),
        &b"stays"[..]
    );
    assert!(opened.count("noisy", |a| a.cache.load(Ordering::Relaxed)) <= 8000);
    assert_eq!(
        opened.count("noisy", |a| a.spilled.load(Ordering::Relaxed)),
        516 * (100 - 12)
    );
    assert_eq!(
        opened.count("quiet", |a| a.spilled.load(Ordering::Relaxed)),
        0
    );
}

#[test]
fn what_is_held_stays_and_the_log_refuses_instead() {
    let opened = Setup::default().open();
    let body = vec![1; 20_000];
    let first = opened.append("a", 0, &[&body]).unwrap();
    opened.log.hold("one", first);
    opened.log.hold("two", u64::MAX);
    let mut last = first;
    let refused = loop {
        match opened.append("a", 0, &[&body]) {
            Ok(position) => last = position,
            Err(error) => break error,
        }
    };
    assert!(
        matches!(
            refused,
            AppendError::Full {
                reason: "log full",
                ..
            }
        ),
        "{refused}"
    );
    let stats = opened.log.stats();
    assert!(
        stats.bytes <= stats.max_bytes && stats.bytes + 65_536 > stats.max_bytes,
        "{stats:?}"
    );
    opened.log.read(refs(first, &[&body])[0], TRACE).unwrap();
    opened.log.hold("one", last);
    opened.append("a", 0, &[&body]).unwrap();
    assert!(opened.log.start() > first);
    assert!(matches!(
        opened.log.read(refs(first, &[&body])[0], TRACE),
        Ok(_) | Err(ReadError::Gone { .. })
    ));
    opened.log.read(refs(last, &[&body])[0], TRACE).unwrap();
    opened.log.forget_holder("one");
    for _ in 0..200 {
        opened.append("a", 0, &[&body]).unwrap();
    }
    assert!(opened.log.start() > last, "what nobody holds makes room");
}

#[test]
fn old_segments_go_by_age_when_nobody_holds_them() {
    let clock = Arc::new(ManualClock::at(1000 * SECOND));
    let mut setup = Setup {
        clock: clock.clone(),
        ..Setup::default()
    };
    setup.log.retention = Some(Duration::from_secs(60));
    let opened = setup.open();
    let body = vec![1; 30_000];
    let positions: Vec<u64> = (0..9)
        .map(|_| {
            clock.advance(10 * SECOND);
            opened.append("a", 0, &[&body]).unwrap()
        })
        .collect();
    // 100 s have passed in steps of ten; two frames fill a segment, and a segment is as old as its last frame.
    eventually(|| opened.log.start() > positions[0]);
    assert!(opened.log.start() <= positions[2]);
    opened.log.hold("exporter", positions[4]);
    clock.advance(1000 * SECOND);
    eventually(|| opened.log.start() > positions[3]);
    opened.append("a", 0, &[&body]).unwrap();
    assert!(opened.log.start() <= positions[4], "held");
}

#[test]
fn the_last_fifth_is_refused_first_to_who_has_more_than_an_equal_part() {
    let opened = Setup::default().open();
    opened.log.hold("decide", 0);
    let body = vec![1; 10_000];
    opened.append("quiet", 0, &[&body]).unwrap();
    let refused = loop {
        if let Err(error) = opened.append("noisy", 0, &[&body]) {
            break error;
        }
    };
    assert!(
        matches!(
            refused,
            AppendError::Full {
                reason: "log share",
                ..
            }
        ),
        "{refused}"
    );
    let mut more = 0;
    let refused = loop {
        match opened.append("quiet", 0, &[&body]) {
            Ok(_) => more += 1,
            Err(error) => break error,
        }
    };
    assert!(
        matches!(
            refused,
            AppendError::Full {
                reason: "log full",
                ..
            }
        ),
        "{refused}"
    );
    assert!(more > 5, "{more} requests more");
    assert!(opened.append("noisy", 0, &[&body]).is_err());
    opened.log.hold("decide", u64::MAX);
    eventually(|| opened.append("noisy", 0, &[&body]).is_ok());
}

#[test]
fn a_request_over_a_segment_is_refused_for_good_and_costs_its_neighbours_nothing() {
    let opened = Setup::default().open();
    let body = vec![1; 64 << 10];
    let large = opened.log.append(opened.request("a", 0, &[&body]));
    let small = opened.log.append(opened.request("a", 0, &[b"x"]));
    assert!(matches!(
        large.blocking_recv().unwrap(),
        Err(AppendError::TooLarge { .. })
    ));
    small.blocking_recv().unwrap().unwrap();
}
