//! Streams over memory and real files: positions, rolls, recovery, damage, retention.

use super::*;
use crate::log::errors::{AppendError, ReadError};
use crate::log::frame::{OutFrame, StoredFrame};
use crate::log::settings::Durability;
use crate::log::storage::simulated::SimulatedStorage;
use crate::log::storage::{DiskStorage, MemoryStorage, Storage};
use std::io::IoSlice;
use std::sync::Arc;

const SETTINGS: StreamSettings = StreamSettings {
    segment_size: 1024,
    max_bytes: 8 * 1024,
    durability: Durability::Os,
    preallocate_all: false,
};

fn open(storage: &Arc<dyn Storage>) -> Stream {
    Stream::open(Arc::clone(storage), SETTINGS).unwrap()
}

fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::default())
}

fn put(stream: &Stream, stamp: u64, body: &[u8]) -> Result<u64, AppendError> {
    let parts = [body];
    let frame = OutFrame {
        stamp,
        meta: [3; 16],
        body: &parts,
    };
    stream.append(&[frame]).map(|positions| positions[0])
}

fn all(stream: &Stream, from: u64) -> Vec<(u64, Vec<u8>)> {
    let mut reader = stream.reader(from);
    let mut out = Vec::new();
    while let Some(StoredFrame { position, body, .. }) = reader.next().unwrap() {
        out.push((position, body.to_vec()));
    }
    out
}

#[test]
fn frames_come_back_in_order_across_segments_and_a_restart() {
    let disk = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Storage> = Arc::new(DiskStorage::at(disk.path().to_owned(), None).unwrap());
    for storage in [memory(), disk] {
        let stream = open(&storage);
        let mut written = Vec::new();
        for n in 0..20u8 {
            let body = vec![n; 10 * usize::from(n)];
            written.push((put(&stream, u64::from(n), &body).unwrap(), body));
        }
        assert!(stream.segments().len() > 3);
        assert_eq!(all(&stream, 0), written);
        drop(stream);
        let stream = open(&storage);
        assert_eq!(all(&stream, 0), written);
        assert_eq!(stream.last_stamp(), 19);
        written.push((put(&stream, 0, b"after").unwrap(), b"after".to_vec()));
        assert_eq!(all(&stream, 0), written);
        assert_eq!(stream.last_stamp(), 19, "stamps never step back");
        for (index, (position, body)) in written.iter().enumerate() {
            assert_eq!(all(&stream, *position).len(), written.len() - index);
            assert_eq!(
                all(&stream, *position + 1).len(),
                written.len() - index - 1,
                "inside a frame: the next one"
            );
            assert_eq!(
                stream.read_at(*position, 48, body.len() as u32).unwrap(),
                body
            );
        }
    }
}

#[test]
fn a_call_is_visible_as_a_whole_and_told_to_watchers() {
    let stream = open(&memory());
    let mut watch = stream.watch();
    let (one, two) = ([&b"a"[..], b"bc"], [&b"def"[..]]);
    let frames = [
        OutFrame {
            stamp: 5,
            meta: [1; 16],
            body: &one,
        },
        OutFrame {
            stamp: 6,
            meta: [2; 16],
            body: &two,
        },
    ];
    assert_eq!(stream.append(&frames).unwrap(), [64, 120]);
    assert!(watch.has_changed().unwrap());
    assert_eq!(*watch.borrow_and_update(), stream.end());
    let mut reader = stream.reader(0);
    let first = reader.next().unwrap().unwrap();
    assert_eq!(
        (
            first.position,
            first.next,
            first.stamp,
            first.meta,
            &first.body[..]
        ),
        (64, 120, 5, [1; 16], &b"abc"[..])
    );
    assert_eq!(reader.next().unwrap().unwrap().stamp, 6);
    assert!(reader.next().unwrap().is_none());
    put(&stream, 7, b"later").unwrap();
    assert_eq!(
        reader.next().unwrap().unwrap().stamp,
        7,
        "a reader at the end goes on"
    );
}

#[test]
fn a_full_stream_refuses_until_segments_are_released_and_recycles_them() {
    let stream = open(&memory());
    let body = [9; 900];
    let positions: Vec<u64> = (0..8).map(|n| put(&stream, n, &body).unwrap()).collect();
    assert!(matches!(
        put(&stream, 9, &body),
        Err(AppendError::Full {
            reason: "log full",
            ..
        })
    ));
    assert!(!stream.has_room(952));
    assert_eq!(stream.bytes(), 8 * 1024);
    assert_eq!(stream.release_before(positions[0]), 0);
    let mut reader = stream.reader(0);
    reader.next().unwrap().unwrap();
    assert_eq!(stream.release_before(positions[2]), 2);
    assert_eq!(stream.start(), positions[2] - 64);
    assert!(matches!(reader.next(), Err(ReadError::Gone { .. })));
    assert_eq!(reader.next().unwrap().unwrap().position, positions[2]);
    assert!(matches!(
        stream.read_at(positions[1], 48, 900),
        Err(ReadError::Gone { .. })
    ));
    assert!(matches!(
        stream.read_at(positions[7] + 4096, 48, 900),
        Err(ReadError::Beyond { .. })
    ));
    put(&stream, 9, &body).unwrap();
    assert_eq!(all(&stream, 0).len(), 7);
    assert_eq!(stream.bytes(), 8 * 1024);
    assert_eq!(
        stream.release_before(u64::MAX),
        6,
        "the active segment stays"
    );
}

#[test]
fn too_large_is_final() {
    let stream = open(&memory());
    let fits = vec![1; 1024 - 64 - 48];
    put(&stream, 1, &fits).unwrap();
    let over = vec![1; fits.len() + 1];
    assert!(matches!(
        put(&stream, 1, &over),
        Err(AppendError::TooLarge {
            bytes: 968,
            limit: 960
        })
    ));
}

#[test]
fn every_cut_of_the_tail_leaves_the_whole_frames() {
    for torn in 0..160u64 {
        let storage = memory();
        let stream = open(&storage);
        put(&stream, 1, &[1; 50]).unwrap();
        put(&stream, 2, &[2; 50]).unwrap();
        let end = stream.end();
        let file = storage.open("00000000000000000000").unwrap();
        let from = end - torn;
        file.write_at(&[IoSlice::new(&vec![0; torn as usize])], from)
            .unwrap();
        let recovered = open(&storage);
        // Six bytes of padding are not covered by the checksum: they hold nothing.
        let whole = [torn <= 6, torn <= 6 + 104].iter().filter(|w| **w).count();
        assert_eq!(all(&recovered, 0).len(), whole, "{torn} bytes torn off");
        put(&recovered, 3, b"on").unwrap();
        assert_eq!(all(&recovered, 0).len(), whole + 1);
        assert_eq!(all(&open(&storage), 0).len(), whole + 1);
    }
}

#[test]
fn damage_costs_one_frame_sealed_or_not() {
    for (victim, at) in [(1, 20), (1, 60), (6, 0), (6, 70)] {
        let storage = memory();
        let stream = open(&storage);
        let positions: Vec<u64> = (0..8)
            .map(|n| put(&stream, n, &[n as u8; 200]).unwrap())
            .collect();
        let segment = *stream
            .segments()
            .iter()
            .rfind(|s| s.base < positions[victim])
            .unwrap();
        let file = storage.open(&format!("{:020}", segment.base)).unwrap();
        file.write_at(
            &[IoSlice::new(&[0x55])],
            positions[victim] - segment.base + at,
        )
        .unwrap();
        for stream in [stream, open(&storage)] {
            let mut reader = stream.reader(0);
            let mut seen = Vec::new();
            loop {
                match reader.next() {
                    Ok(Some(frame)) => seen.push(frame.position),
                    Ok(None) => break,
                    Err(ReadError::Damaged { position, next }) => {
                        assert_eq!(position, positions[victim]);
                        assert_eq!(reader.position(), next);
                    }
                    Err(other) => panic!("{other}"),
                }
            }
            let expected: Vec<u64> = positions
                .iter()
                .copied()
                .filter(|p| *p != positions[victim])
                .collect();
            assert_eq!(seen, expected, "victim {victim} at {at}");
        }
    }
}

#[test]
fn a_new_segment_lies_beyond_what_was_named() {
    let storage = memory();
    let stream = open(&storage);
    stream.open_beyond(4000).unwrap();
    assert_eq!(
        (stream.start(), put(&stream, 1, b"a").unwrap()),
        (4000, 4064)
    );
    stream.open_beyond(4000).unwrap();
    stream.open_beyond(9001).unwrap();
    assert_eq!(put(&stream, 2, b"b").unwrap(), 9008 + 64);
    for stream in [&stream, &open(&storage)] {
        assert_eq!(
            all(stream, 0),
            [(4064, b"a".to_vec()), (9072, b"b".to_vec())]
        );
        assert_eq!(all(stream, 6000), [(9072, b"b".to_vec())]);
    }
}

#[test]
fn a_share_taken_ahead_is_never_over_it() {
    let storage = memory();
    let settings = StreamSettings {
        preallocate_all: true,
        ..SETTINGS
    };
    for _ in 0..2 {
        let stream = Stream::open(Arc::clone(&storage), settings).unwrap();
        assert_eq!(stream.bytes(), 8 * 1024);
        for n in 0..3 {
            put(&stream, n, &[1; 900]).unwrap();
        }
        stream.release_before(u64::MAX);
        assert_eq!(stream.bytes(), 8 * 1024);
        assert_eq!(storage.list().unwrap().len(), 8);
    }
}

#[test]
fn a_damaged_segment_header_costs_nothing() {
    for victim in [0, 1, 3] {
        let storage = memory();
        let stream = open(&storage);
        let written: Vec<_> = (0..8u8)
            .map(|n| (put(&stream, 1, &[n; 400]).unwrap(), vec![n; 400]))
            .collect();
        let segments = stream.segments();
        assert_eq!(segments.len(), 4);
        drop(stream);
        let file = storage
            .open(&format!("{:020}", segments[victim].base))
            .unwrap();
        file.write_at(&[IoSlice::new(&[0x55; 64])], 0).unwrap();
        let stream = open(&storage);
        assert_eq!(all(&stream, 0), written, "segment {victim}");
        put(&stream, 2, b"on").unwrap();
        assert_eq!(all(&open(&storage), 0).len(), 9);
    }
}

#[test]
fn a_read_beside_recycling_gets_its_bytes_or_an_error() {
    let stream = open(&memory());
    let body = |n: u64| n.to_le_bytes().repeat(25);
    let written = parking_lot::Mutex::new(vec![(put(&stream, 0, &body(0)).unwrap(), 0)]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 1..6000 {
                if !stream.has_room(256) {
                    stream.release_before(stream.segments()[1].end);
                }
                written.lock().push((put(&stream, n, &body(n)).unwrap(), n));
            }
        });
        let (mut last, mut read) = (0, 0);
        for back in [1, 16, 22].into_iter().cycle() {
            if last == 5999 {
                break;
            }
            let known = written.lock();
            let Some((position, n)) = known
                .len()
                .checked_sub(back)
                .and_then(|at| known.get(at))
                .copied()
            else {
                continue;
            };
            last = known.last().map_or(0, |(_, n)| *n);
            drop(known);
            match stream.read_at(position, 48, 200) {
                Ok(bytes) => {
                    assert_eq!(bytes, body(n));
                    read += 1;
                }
                Err(ReadError::Gone { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
        assert!(read > 0);
    });
}

#[test]
fn unreadable_sectors_cost_the_frames_in_them() {
    let storage = SimulatedStorage::new(1);
    let settings = StreamSettings {
        segment_size: 64 * 1024,
        ..SETTINGS
    };
    let settings = StreamSettings {
        max_bytes: 4 * settings.segment_size,
        ..settings
    };
    let open = || Stream::open(Arc::new(storage.clone()), settings).unwrap();
    let stream = open();
    let positions: Vec<u64> = (0..40)
        .map(|n| put(&stream, n, &[n as u8; 1000]).unwrap())
        .collect();
    // One sector in the middle of a body, one with a header in it.
    storage.spoil(
        "00000000000000000000",
        positions[5] + 520..positions[5] + 521,
    );
    storage.spoil("00000000000000000000", positions[20]..positions[20] + 1);
    for stream in [stream, open()] {
        let mut reader = stream.reader(0);
        let (mut seen, mut damaged) = (Vec::new(), 0);
        loop {
            match reader.next() {
                Ok(Some(frame)) => seen.push(frame.position),
                Ok(None) => break,
                Err(ReadError::Damaged { .. }) => damaged += 1,
                Err(other) => panic!("{other}"),
            }
        }
        let lost: Vec<u64> = positions
            .iter()
            .copied()
            .filter(|p| !seen.contains(p))
            .collect();
        let hit = |p: &u64| {
            [(positions[5] + 520) / 512, positions[20] / 512]
                .iter()
                .any(|s| p / 512 <= *s && (p + 1047) / 512 >= *s)
        };
        assert_eq!(
            lost,
            positions.iter().copied().filter(hit).collect::<Vec<_>>()
        );
        assert!(damaged >= 2 && lost.len() <= 4);
        assert!(matches!(
            stream.read_at(positions[5], 48, 1000),
            Err(ReadError::Io { .. })
        ));
        assert_eq!(
            stream.end(),
            positions[39] + 1048,
            "recovery goes past them"
        );
    }
}
