//! Disks that fail, fill up or forget, and a process that dies.

use super::*;

const FAILING: StreamSettings = StreamSettings {
    segment_size: 4096,
    max_bytes: 4 * 4096,
    durability: Durability::Fsync,
    preallocate_all: false,
};

fn over(storage: &SimulatedStorage, settings: StreamSettings) -> Opened {
    Setup::default().open_over(Stream::open(Arc::new(storage.clone()), settings).unwrap())
}

#[test]
fn a_failed_write_or_sync_is_a_refusal_and_the_log_goes_on() {
    for (call, fault) in [
        (1, Fault::NoSpace),
        (1, Fault::Io),
        (2, Fault::Io),
        (1, Fault::Short),
    ] {
        let storage = SimulatedStorage::new(1);
        let opened = over(&storage, FAILING);
        let mut feed = opened.log.feed(0);
        let first = opened.append("a", 0, &[b"first"]).unwrap();
        storage.plan(call, fault);
        let result = opened.append("a", 1, &[b"second"]);
        let expected = match fault {
            Fault::Short => result.is_ok(),
            Fault::NoSpace => matches!(
                result,
                Err(AppendError::Full {
                    reason: "disk full",
                    ..
                })
            ),
            _ => matches!(result, Err(AppendError::Io(_))),
        };
        assert!(expected, "{fault:?} at {call}: {result:?}");
        let third = opened.append("a", 2, &[b"third"]).unwrap();
        let seen: Vec<u64> = drain(&mut *feed)
            .iter()
            .map(|(position, _)| *position)
            .collect();
        assert_eq!(
            seen,
            [Some(first), result.ok(), Some(third)]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
        );
        assert_eq!(opened.count("a", |a| a.intake.load(Ordering::Relaxed)), 0);
        assert_eq!(
            opened.log.read(refs(third, &[b"third"])[0], TRACE).unwrap(),
            &b"third"[..]
        );
        drop((feed, opened));
        let opened = over(&storage.restart(Outage::Power), FAILING);
        assert_eq!(
            drain(&mut *opened.log.feed(0)),
            seen.iter().map(|p| (*p, 's')).collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_disk_that_others_filled_takes_what_an_old_segment_makes_room_for() {
    let storage = SimulatedStorage::new(2);
    let opened = over(&storage, FAILING);
    let body = [1; 3000];
    let first = opened.append("a", 0, &[&body]).unwrap();
    opened.log.hold("decide", first);
    // The next segment cannot be created, and the one before it is held.
    storage.plan(1, Fault::NoSpace);
    let refused = opened.append("a", 0, &[&body]).unwrap_err();
    assert!(
        matches!(
            refused,
            AppendError::Full {
                reason: "disk full",
                ..
            }
        ),
        "{refused}"
    );
    let second = opened.append("a", 0, &[&body]).unwrap();
    opened.log.hold("decide", second);
    storage.plan(1, Fault::NoSpace);
    opened.append("a", 0, &[&body]).unwrap();
    assert!(opened.log.start() > first && opened.log.start() <= second);
}

#[test]
fn a_dead_process_answers_nobody_with_success() {
    let storage = SimulatedStorage::new(3);
    let opened = over(&storage, FAILING);
    let mut acknowledged = vec![opened.append("a", 0, &[b"x"]).unwrap()];
    storage.plan(9, Fault::Crash);
    let waiting: Vec<_> = (0..50)
        .map(|tag| opened.log.append(opened.request("a", tag, &[b"x"])))
        .collect();
    acknowledged.extend(
        waiting
            .into_iter()
            .filter_map(|answer| answer.blocking_recv().unwrap().ok()),
    );
    while let Ok(position) = opened.append("a", 0, &[b"x"]) {
        acknowledged.push(position);
    }
    drop(opened);
    let opened = over(&storage.restart(Outage::Power), FAILING);
    let found = drain(&mut *opened.log.feed(0));
    assert!(
        acknowledged
            .iter()
            .all(|position| found.contains(&(*position, 's')))
    );
}

#[test]
fn a_damaged_frame_is_reported_and_the_rest_is_fed() {
    let storage = SimulatedStorage::new(4);
    let opened = over(&storage, FAILING);
    let positions: Vec<u64> = (0..5)
        .map(|tag| opened.append("a", tag, &[b"payload"]).unwrap())
        .collect();
    drop(opened);
    let file = storage.open("00000000000000000000").unwrap();
    file.write_at(&[std::io::IoSlice::new(b"Z")], positions[2] + 66)
        .unwrap();
    let opened = over(&storage, FAILING);
    let how = |index| if index == 2 { 'd' } else { 's' };
    let expected: Vec<_> = positions
        .iter()
        .enumerate()
        .map(|(index, p)| (*p, how(index)))
        .collect();
    assert_eq!(drain(&mut *opened.log.feed(0)), expected);
    assert!(matches!(
        opened.log.read(refs(positions[2], &[b"payload"])[0], TRACE),
        Err(ReadError::Damaged { .. })
    ));
    opened
        .log
        .read(refs(positions[3], &[b"payload"])[0], TRACE)
        .unwrap();
}

#[test]
fn little_traffic_does_not_keep_old_spans() {
    let clock = Arc::new(ManualClock::at(1000 * SECOND));
    let mut setup = Setup {
        clock: clock.clone(),
        ..Setup::default()
    };
    setup.log.retention = Some(Duration::from_secs(60));
    let opened = setup.open();
    let old = opened.append("a", 0, &[b"old"]).unwrap();
    clock.advance(40 * SECOND);
    eventually(|| opened.log.stats().segments == 2);
    clock.advance(30 * SECOND);
    eventually(|| opened.log.start() > old);
    assert_eq!(opened.log.stats().oldest_stamp, None);
}

#[test]
fn a_full_log_can_be_opened_beyond_what_was_named() {
    let storage = SimulatedStorage::new(5);
    let opened = over(&storage, FAILING);
    opened.log.hold("decide", 0);
    while opened.append("a", 0, &[&[1; 3000]]).is_ok() {}
    let beyond = opened.log.end() + 100_000;
    drop(opened);
    let setup = Setup {
        at: OpenAt { beyond, stamp: 0 },
        ..Setup::default()
    };
    let opened = setup.open_over(Stream::open(Arc::new(storage), FAILING).unwrap());
    assert_eq!(drain(&mut *opened.log.feed(0)).len(), 4);
    assert!(opened.append("a", 0, &[b"x"]).unwrap() >= beyond);
}
