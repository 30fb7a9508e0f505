//! The ledger adds up, at rest and over a restart.

use crate::harness::{Running, ledger, spans};
use crate::scrape::Scrape;

fn at_rest(scrape: &Scrape) -> bool {
    scrape.0["tailwater_ledger_difference"]
        .samples
        .values()
        .all(|difference| *difference == 0.0)
        && scrape.value(
            "tailwater_exporter_awaiting_spans",
            "exporter=file,pipeline=traces",
        ) == Some(0.0)
}

/// Each pipeline reads the log for itself.
fn both_have_read(scrape: &Scrape, spans: u64) -> bool {
    let accepted = ("accepted".to_owned(), spans);
    ["traces", "traces/edge"]
        .iter()
        .all(|pipeline| ledger(scrape, pipeline).contains(&accepted))
}

#[track_caller]
fn check(scrape: &Scrape, pipeline: &str, expected: &[(&str, u64)]) {
    let found = ledger(scrape, pipeline);
    let found: Vec<_> = found
        .iter()
        .map(|(state, spans)| (state.as_str(), *spans))
        .collect();
    assert_eq!(found, expected, "{pipeline}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::too_many_lines, reason = "one story, told in order")]
async fn every_span_has_one_place() {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::start(directory.path(), 0).await;
    check(&running.scrape(), "traces", &[]);
    // Kept: three spans, one of them twice. Dropped: four.
    running
        .submit(
            [
                spans(1, 1, 3, true),
                spans(1, 3, 1, true),
                spans(2, 1, 4, false),
            ]
            .concat(),
        )
        .await;
    let before = running
        .until_still("undecided", |now| {
            both_have_read(now, 8) && ledger(now, "traces").contains(&("undecided".to_owned(), 8))
        })
        .await;
    check(&before, "traces", &[("accepted", 8), ("undecided", 8)]);
    check(
        &before,
        "traces/edge",
        &[("accepted", 8), ("not_routed", 8)],
    );
    let expected = [
        ("accepted", 8),
        ("delivered", 3),
        ("dropped", 4),
        ("duplicate", 1),
    ];
    let decided =
        |now: &Scrape| at_rest(now) && ledger(now, "traces").contains(&("delivered".to_owned(), 3));
    check(
        &running.until("delivered", decided).await,
        "traces",
        &expected,
    );
    // One that stays undecided over the stop.
    running.submit(spans(3, 1, 5, true)).await;
    running
        .until_still("read", |now| both_have_read(now, 13))
        .await;
    running.stop().await;

    let running = Running::start(directory.path(), 1).await;
    let replayed = |now: &Scrape| {
        let undecided = ("undecided".to_owned(), 5);
        at_rest(now) && both_have_read(now, 13) && ledger(now, "traces").contains(&undecided)
    };
    let scrape = running.until_still("replayed", replayed).await;
    let expected = [
        ("accepted", 13),
        ("delivered", 3),
        ("dropped", 4),
        ("duplicate", 1),
        ("undecided", 5),
    ];
    check(&scrape, "traces", &expected);
    check(
        &scrape,
        "traces/edge",
        &[("accepted", 13), ("not_routed", 13)],
    );
    let decided =
        |now: &Scrape| at_rest(now) && ledger(now, "traces").contains(&("delivered".to_owned(), 8));
    let expected = [
        ("accepted", 13),
        ("delivered", 8),
        ("dropped", 4),
        ("duplicate", 1),
    ];
    check(
        &running.until("delivered", decided).await,
        "traces",
        &expected,
    );
    // A late span of the life before.
    running.submit(spans(1, 9, 1, false)).await;
    let expected = [
        ("accepted", 14),
        ("delivered", 9),
        ("dropped", 4),
        ("duplicate", 1),
    ];
    let late =
        |now: &Scrape| at_rest(now) && ledger(now, "traces").contains(&("accepted".to_owned(), 14));
    check(&running.until("late", late).await, "traces", &expected);
    running.stop().await;

    let lines = std::fs::read_to_string(directory.path().join("kept.json")).unwrap();
    assert_eq!(lines.matches("\"spanId\"").count(), 9);
}
