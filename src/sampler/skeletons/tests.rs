//! Skeletons against a map, and what they may take.

use super::*;
use crate::log::Ref;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

#[test]
fn a_trace_takes_no_more_than_it_may() {
    let table = Skeletons::new(4, 0);
    assert!(table.bytes_each() <= 200, "{}", table.bytes_each());
    assert_eq!(Skeletons::CHUNK_BYTES, 48);
}

/// Places as a log of 200 MB/s gives them, a piece every 100 ms.
fn place(number: u64) -> PackedRef {
    let place = Ref {
        position: (1 << 40) + number * 20_000_000,
        offset: 150_000,
        length: 500,
    };
    PackedRef::new(place, 1)
}

#[test]
fn four_pieces_lie_in_the_skeleton_and_each_further_one_takes_few_bytes() {
    let mut table = Skeletons::new(4, 0);
    let slot = table.open(TraceId(1), ServiceId(0), 0, Some(9));
    let chunks = (0..60)
        .map(|number| u64::from(table.add_piece(slot, place(number))))
        .scan(0, |sum, new| {
            *sum += new;
            Some(*sum)
        });
    let bytes: Vec<u64> = chunks
        .map(|chunks| chunks * Skeletons::CHUNK_BYTES)
        .collect();
    assert_eq!(bytes[3], 0);
    // 20 bytes are the bar (issue 3); the last chunk is not full.
    for (pieces, bytes) in (4..).zip(&bytes[3..]).filter(|(pieces, _)| *pieces >= 10) {
        assert!(*bytes <= 20 * (pieces - 4), "{bytes} for {pieces} pieces");
    }
    assert!(bytes[59] <= 13 * 56, "{}", bytes[59]);
}

#[derive(Debug, Clone)]
enum Step {
    Piece(u8),
    Root(u8),
    Tick,
    Close(u8),
    Aged,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..20_u8).prop_map(Step::Piece),
        1 => (0..20_u8).prop_map(Step::Root),
        1 => Just(Step::Tick),
        1 => Just(Step::Aged),
        1 => (0..20_u8).prop_map(Step::Close),
    ]
}

proptest! {
    #[test]
    fn equals_a_map(steps in proptest::collection::vec(step(), 1..300)) {
        let mut table = Skeletons::new(2, 0);
        let mut model = BTreeMap::<u8, (u64, Vec<PackedRef>)>::new();
        let mut queue = VecDeque::new();
        let mut young = BTreeMap::new();
        let (mut now, mut position) = (0_u64, 0);
        for step in steps {
            match step {
                Step::Piece(id) => {
                    let trace = TraceId(u128::from(id) + 1);
                    let slot = table.find(trace).unwrap_or_else(|| table.open(trace, ServiceId(u32::from(id % 2)), now as u32, Some(now + 3)));
                    position += 8 + (position % 7) * 1_000_003;
                    let place = PackedRef::new(Ref { position, offset: u32::from(id) * 9_999, length: 200 }, 3);
                    table.add_piece(slot, place);
                    if !model.contains_key(&id) {
                        queue.push_back(id);
                        young.insert(id, now);
                    }
                    model.entry(id).or_insert((now + 3, vec![])).1.push(place);
                }
                Step::Root(id) => if let Some(slot) = table.find(TraceId(u128::from(id) + 1)) {
                    table.root_received(slot, now + 1);
                    let due = &mut model.get_mut(&id).unwrap().0;
                    *due = (*due).min(now + 1);
                }
                Step::Tick => {
                    let mut fired = vec![];
                    while let Some(slot) = table.due(now) {
                        fired.push(table.get(slot).unwrap().trace());
                        table.close(slot);
                    }
                    table.fired(now);
                    let due: Vec<u8> = model.iter().filter(|(_, (due, _))| *due <= now).map(|(id, _)| *id).collect();
                    fired.sort();
                    prop_assert_eq!(fired, due.iter().map(|id| TraceId(u128::from(*id) + 1)).collect::<Vec<_>>());
                    due.iter().for_each(|id| drop(model.remove(id)));
                    queue.retain(|id| model.contains_key(id));
                    young.retain(|id, _| model.contains_key(id));
                    now += 1;
                }
                Step::Aged => {
                    let mut aged = vec![];
                    table.aged(now.saturating_sub(2) as u32, &mut aged);
                    let mut found: Vec<_> = aged.iter().map(|slot| table.get(*slot).unwrap().trace().0 as u8 - 1).collect();
                    found.sort_unstable();
                    let old: Vec<u8> = young.iter().filter(|(_, second)| **second <= now.saturating_sub(2)).map(|(id, _)| *id).collect();
                    prop_assert_eq!(&found, &old);
                    young.retain(|id, _| !old.contains(id));
                }
                Step::Close(id) => if let Some(slot) = table.find(TraceId(u128::from(id) + 1)) {
                    table.close(slot);
                    model.remove(&id);
                    young.remove(&id);
                    queue.retain(|other| *other != id);
                }
            }
            prop_assert_eq!(table.len(), model.len());
            for (id, (due, places)) in &model {
                let slot = table.find(TraceId(u128::from(*id) + 1)).unwrap();
                let mut found = vec![];
                table.places(slot, &mut found);
                prop_assert_eq!(&found, places);
                prop_assert_eq!(u64::from(table.get(slot).unwrap().due), *due);
            }
            for service in 0..2 {
                let oldest = queue.iter().find(|id| u32::from(**id % 2) == service).map(|id| TraceId(u128::from(*id) + 1));
                let found = table.oldest_of(ServiceId(service)).map(|slot| table.get(slot).unwrap().trace());
                prop_assert_eq!(found, oldest);
            }
        }
    }
}
