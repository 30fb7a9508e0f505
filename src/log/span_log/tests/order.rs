//! One order for all, whoever sends.

use super::*;

#[test]
fn many_senders_get_one_order() {
    let opened = Setup {
        window: 5000,
        ..Setup::default()
    }
    .open();
    let mut feeds = [opened.log.feed(0), opened.log.feed(0)];
    let orders: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let readers: Vec<_> = feeds
            .iter_mut()
            .map(|feed| {
                scope.spawn(|| {
                    let mut order = Vec::new();
                    let mut time = 0;
                    while order.len() < 800 {
                        let (position, stamp) = match feed.next(SOON) {
                            Fed::Live {
                                position, stamp, ..
                            }
                            | Fed::Stored {
                                position, stamp, ..
                            } => (position, stamp),
                            Fed::Idle { now } => {
                                time = now;
                                continue;
                            }
                            other => panic!("{other:?}"),
                        };
                        assert!(stamp >= time, "log time ran ahead of a frame");
                        time = stamp;
                        order.push(position);
                    }
                    order
                })
            })
            .collect();
        for sender in 0..4u32 {
            let opened = &opened;
            scope.spawn(move || {
                (0..200).for_each(|tag| {
                    assert!(opened.append("a", sender * 1000 + tag, &[b"x"]).is_ok())
                })
            });
        }
        readers
            .into_iter()
            .map(|reader| reader.join().unwrap())
            .collect()
    });
    assert!(orders[0].is_sorted() && orders[0] == orders[1]);
    assert_eq!(opened.log.stats().frames, 800);
}
