//! Tests of `cache`.

use super::*;
use crate::log::piece::tests::body_of;
use crate::log::services::tests::memory;
use crate::log::settings::OnFull;
use proptest::prelude::*;

/// Caps: `a` and `b` 1000 bytes each, `big` 5000.
const NAMES: [&str; 3] = ["a", "b", "big"];
const CAPS: [u64; 3] = [1000, 1000, 5000];
/// What they hold beside the cache.
const OTHERS: [u64; 3] = [300, 0, 0];
const IDS: [u32; 3] = [2, 3, 1];
const LIMIT: u64 = 4000;

/// A block as the model sees it: what it is charged and what of it is undecided.
#[derive(Debug)]
struct Model {
    service: usize,
    position: u64,
    begin: u32,
    length: u64,
    undecided: u64,
}

/// The same rules over one plain list.
#[derive(Debug, Default)]
struct Oracle {
    blocks: Vec<Model>,
    spilled: [u64; 3],
}

impl Oracle {
    fn charged(&self, service: Option<usize>) -> u64 {
        let of = |b: &&Model| service.is_none_or(|s| s == b.service);
        self.blocks
            .iter()
            .filter(of)
            .map(|b| b.length + BLOCK_OVERHEAD)
            .sum()
    }

    fn evict(&mut self, service: Option<usize>) {
        let index = self
            .blocks
            .iter()
            .position(|b| service.is_none_or(|s| s == b.service))
            .unwrap();
        let block = self.blocks.remove(index);
        self.spilled[block.service] += block.undecided;
    }

    /// By how much a service with blocks would be over its cap.
    fn excess(&self, service: usize, own: usize, charge: u64) -> Option<u64> {
        let held = self.charged(Some(service));
        let more = if service == own { charge } else { 0 };
        let over = (held + OTHERS[service] + more).saturating_sub(CAPS[service]);
        (held > 0 && over > 0).then_some(over)
    }

    fn insert(&mut self, block: Model) {
        let (own, charge) = (block.service, block.length + BLOCK_OVERHEAD);
        let spill = |oracle: &mut Self| oracle.spilled[own] += block.undecided;
        if charge > LIMIT {
            return spill(self);
        }
        while self.charged(None) + charge > LIMIT {
            let over = |service| Some((self.excess(service, own, charge)?, IDS[service], service));
            match (0..3).filter_map(over).max() {
                Some((.., service)) => self.evict(Some(service)),
                None if OTHERS[own] + charge > CAPS[own] => return spill(self),
                None => self.evict(None),
            }
        }
        self.blocks.push(block);
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// A frame: service and piece lengths of each block.
    Insert(Vec<(usize, Vec<usize>)>),
    /// Every piece of the nth frame whose index is a multiple.
    Settle(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let block = (0..3usize, prop::collection::vec(0..300usize, 1..4));
    prop_oneof![
        3 => prop::collection::vec(block, 1..4).prop_map(Step::Insert),
        1 => (0..20usize, 1..3usize).prop_map(|(frame, every)| Step::Settle(frame, every)),
    ]
}

/// One piece of a frame that was inserted.
struct Known {
    place: Ref,
    begin: u32,
    fill: u8,
    settled: bool,
}

fn insert(
    cache: &Cache,
    oracle: &mut Oracle,
    position: u64,
    blocks: &[(usize, Vec<usize>)],
) -> Vec<Known> {
    let mut known = Vec::new();
    let mut made = Vec::new();
    let mut begin = FRAME_HEADER as u32;
    for (service, lengths) in blocks {
        let bodies: Vec<Vec<u8>> = lengths
            .iter()
            .map(|n| vec![(position as u8).wrapping_add(begin as u8); *n])
            .collect();
        let bytes = body_of(&bodies.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let mut offset = begin;
        for length in lengths {
            offset += PIECE_HEADER as u32;
            let fill = (position as u8).wrapping_add(begin as u8);
            known.push(Known {
                place: Ref {
                    position,
                    offset,
                    length: *length as u32,
                },
                begin,
                fill,
                settled: false,
            });
            offset += *length as u32;
        }
        let (service, length) = (*service, bytes.len() as u64);
        oracle.insert(Model {
            service,
            position,
            begin,
            length,
            undecided: length,
        });
        begin += bytes.len() as u32;
        made.push(Block {
            service: ServiceId(IDS[service]),
            bytes,
            pieces: lengths.len() as u32,
        });
    }
    cache.insert(std::iter::once((position, made)));
    known
}

fn settle(cache: &Cache, oracle: &mut Oracle, frame: &mut [Known], every: usize) {
    let now: Vec<&mut Known> = frame
        .iter_mut()
        .step_by(every)
        .filter(|p| !p.settled)
        .collect();
    cache.settle(&mut now.iter().map(|p| p.place));
    for piece in now {
        piece.settled = true;
        let whole = u64::from(piece.place.length) + PIECE_HEADER as u64;
        let is_its = |b: &&mut Model| (b.position, b.begin) == (piece.place.position, piece.begin);
        if let Some(block) = oracle.blocks.iter_mut().find(is_its) {
            block.undecided -= whole;
        }
    }
}

fn check(cache: &Cache, services: &Services, oracle: &Oracle, frames: &[Vec<Known>]) {
    assert_eq!(cache.bytes(), oracle.charged(None));
    for (service, name) in NAMES.iter().enumerate() {
        let account = services.account(services.intern(name));
        let read = |n: &std::sync::atomic::AtomicU64| n.load(Ordering::Relaxed);
        let open = oracle
            .blocks
            .iter()
            .filter(|b| b.service == service && b.undecided > 0);
        let undecided = open.map(|b| b.undecided + BLOCK_OVERHEAD).sum::<u64>();
        assert_eq!(read(&account.cache), oracle.charged(Some(service)));
        assert_eq!(
            (read(&account.undecided), read(&account.spilled)),
            (undecided, oracle.spilled[service])
        );
    }
    for piece in frames.iter().flatten() {
        let cached = oracle
            .blocks
            .iter()
            .any(|b| (b.position, b.begin) == (piece.place.position, piece.begin));
        let found = cache.get(piece.place);
        assert_eq!(found.is_some(), cached);
        assert!(found.is_none_or(
            |f| f.len() == piece.place.length as usize && f.iter().all(|b| *b == piece.fill)
        ));
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(64))]
    #[test]
    fn accounts_agree_with_a_plain_list(steps in prop::collection::vec(step(), 1..40)) {
        let services = Arc::new(Services::new(&memory(OnFull::Spill)));
        for (index, name) in NAMES.iter().enumerate() {
            assert_eq!(services.intern(name).0 as usize, IDS[index] as usize);
        }
        let skeletons = &services.account(ServiceId(IDS[0])).skeletons;
        skeletons.store(OTHERS[0], Ordering::Relaxed);
        let cache = Cache::new(LIMIT, Arc::clone(&services));
        let (mut oracle, mut frames) = (Oracle::default(), Vec::new());
        for (n, step) in steps.iter().enumerate() {
            match step {
                Step::Insert(blocks) => frames.push(insert(&cache, &mut oracle, n as u64 * 100, blocks)),
                Step::Settle(frame, every) => {
                    if let Some(frame) = frames.get_mut(*frame) {
                        settle(&cache, &mut oracle, frame, *every);
                    }
                }
            }
            check(&cache, &services, &oracle, &frames);
        }
        drop(cache);
        skeletons.store(0, Ordering::Relaxed);
        prop_assert!(services.all().iter().all(|a| a.held() == 0 && a.cache.load(Ordering::Relaxed) == 0));
    }
}

/// A block of one piece, of so many bytes as it is charged.
fn block(service: ServiceId, charge: usize) -> Block {
    let piece = vec![0; charge - BLOCK_OVERHEAD as usize - PIECE_HEADER];
    Block {
        service,
        bytes: body_of(&[&piece]),
        pieces: 1,
    }
}

#[test]
fn what_is_idle_is_lent_and_taken_back_from_the_furthest_over() {
    let services = Arc::new(Services::new(&memory(OnFull::Refuse)));
    let [a, b, c] = ["a", "b", "c"].map(|name| services.intern(name));
    let cache = Cache::new(LIMIT, Arc::clone(&services));
    let mut position = 0;
    let mut insert = |service, charge| {
        position += 10_000;
        cache.insert(std::iter::once((position, vec![block(service, charge)])));
    };
    let check = |expected: [u64; 3], pressed: [bool; 3]| {
        let accounts = [a, b, c].map(|service| services.account(service));
        let held = accounts.each_ref().map(|a| a.cache.load(Ordering::Relaxed));
        let found = accounts.map(|a| a.pressed.load(Ordering::Relaxed));
        assert_eq!((held, found), (expected, pressed));
    };
    (0..5).for_each(|_| insert(a, 500));
    check([2500, 0, 0], [false; 3]);
    (0..3).for_each(|_| insert(b, 500));
    check([2500, 1500, 0], [false; 3]);
    // `a` is the furthest over; then both are by as much, and the later one gives.
    insert(c, 500);
    check([2000, 1500, 500], [true, false, false]);
    insert(c, 500);
    check([1500, 1500, 1000], [true, false, false]);
    insert(c, 400);
    check([1500, 1000, 1400], [true, true, false]);
    // Who would be the furthest over gives itself.
    insert(c, 1000);
    check([1500, 1000, 1400], [true, true, true]);
    // Nobody within its cap gives anything for a loan.
    insert(b, 3900);
    check([1000, 0, 1000], [true, false, true]);
}

#[test]
fn a_place_that_is_no_piece_is_not_found() {
    let services = Arc::new(Services::new(&memory(OnFull::Spill)));
    let cache = Cache::new(LIMIT, services);
    let block = Block {
        service: ServiceId(0),
        bytes: body_of(&[b"abc"]),
        pieces: 1,
    };
    cache.insert(std::iter::once((64, vec![block])));
    let hostile = [
        (64, 0, 3),
        (64, 47, 3),
        (64, 64, 4),
        (64, u32::MAX, 1),
        (64, 64, u32::MAX),
        (63, 64, 3),
    ];
    for (position, offset, length) in hostile {
        let place = Ref {
            position,
            offset,
            length,
        };
        assert_eq!(cache.get(place), None, "{place:?}");
        cache.settle(&mut std::iter::once(place));
    }
    assert_eq!(
        cache
            .get(Ref {
                position: 64,
                offset: 64,
                length: 3
            })
            .as_deref(),
        Some(&b"abc"[..])
    );
}
