//! One backend dead beside a healthy one.

use crate::daemon::{Place, Setup, until};
use crate::load::{Load, Pace, Shape, Sink};
use crate::metrics::settled_ledger;
use crate::verdict::verdict;
use std::time::Duration;
use tokio::time::sleep;

/// What may grow: payload in flight to the dead one (16 MiB), decision memory (80 B a trace), the allocator's slack.
const GROWTH: u64 = 32 << 20;
const RATE: u64 = 12_000;
/// Spans until the cache is full and the sizes of all buffers are known.
const WARM: u64 = 12 * RATE;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_backend_costs_its_neighbour_nothing() {
    let dead_for =
        std::env::var("TAILWATER_DEAD_SECONDS").map_or(120, |seconds| seconds.parse().unwrap());
    let (healthy, mut other) = (Sink::start().await, Sink::start().await);
    let setup = Setup {
        decision_wait: 2,
        memory: "total: 64MiB".to_owned(),
        ..Setup::default()
    };
    let place = Place::new(&setup, &[healthy.address(), other.address()]);
    let mut daemon = place.start().await;
    let load = Load::start(
        place.grpc,
        Shape {
            run: 78,
            ..Shape::default()
        },
        Pace {
            rate: RATE,
            ..Pace::default()
        },
    );
    let warm = until(|| load.outcome.counts().acknowledged > WARM).await;
    assert!(warm, "{:?}", load.outcome.counts());
    other.die().await;
    let (before, came) = (daemon.rss(), other.spans());
    sleep(Duration::from_secs(dead_for)).await;
    let after = daemon.rss();
    eprintln!(
        "RSS {} KiB before, {} KiB after {dead_for} s",
        before >> 10,
        after >> 10
    );
    assert_eq!(other.spans(), came);
    assert!(
        after < before + GROWTH,
        "{before} bytes before, {after} after"
    );
    other.rise();
    let (shape, outcome, traces) = load.finish().await;
    assert_eq!(outcome.counts().refused, 0, "{:?}", outcome.refusals());
    for sink in [&healthy, &other] {
        until(|| verdict(sink, &shape, None, traces).wrong == 0).await;
    }
    for exporter in ["otlp/0", "otlp/1"] {
        let ledger = settled_ledger(place.metrics, exporter).await;
        assert_eq!(
            ledger["accepted"],
            outcome.counts().acknowledged,
            "{ledger:?}"
        );
    }
    let (at_healthy, at_other) = (
        verdict(&healthy, &shape, Some(&outcome), traces),
        verdict(&other, &shape, Some(&outcome), traces),
    );
    at_healthy.assert_exact();
    at_other.assert_exact();
    assert_eq!(at_healthy.copies, 0, "nothing twice at the healthy one");
    // A request whose answer the death cut off is sent again.
    eprintln!("{} spans twice at the other", at_other.copies);
    assert!(at_other.copies < 10_000);
    let (status, _) = daemon.terminate().await;
    assert!(status.success());
    place.check();
}
