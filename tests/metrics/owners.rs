//! Positions whose owner has left the config: told once, accounted for, no burden, and no harm when the owner comes back.

use crate::harness::{CONFIG, Running, spans};
use crate::ports;
use crate::scrape::Scrape;
use parking_lot::Mutex;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

const STATES: [&str; 6] = [
    "delivered",
    "awaiting",
    "undecided",
    "dropped",
    "expired",
    "not_routed",
];

/// What became of the spans of one exporter of the pipeline `traces`: `accepted`, then [`STATES`].
fn ledger(scrape: &Scrape, exporter: &str) -> [u64; 7] {
    let labels = format!("exporter={exporter},pipeline=traces");
    let difference = scrape.value("tailwater_ledger_difference", &labels);
    assert_eq!(difference, Some(0.0), "{exporter}");
    let mut states = ["accepted"].into_iter().chain(STATES);
    std::array::from_fn(|_| {
        let state = states.next().unwrap();
        let labels = format!("exporter={exporter},pipeline=traces,state={state}");
        scrape.value("tailwater_ledger_spans", &labels).unwrap() as u64
    })
}

fn is(scrape: &Scrape, exporter: &str, state: &str, spans: f64) -> bool {
    let labels = format!("exporter={exporter},pipeline=traces");
    let state = format!("{labels},state={state}");
    scrape.value("tailwater_ledger_spans", &state) == Some(spans)
        && scrape.value("tailwater_ledger_difference", &labels) == Some(0.0)
}

/// Everything that the process logs.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// Lines so far about what has left the config.
    fn of_the_gone(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().clone()).unwrap();
        let gone = text.lines().filter(|line| line.contains("left the config"));
        gone.map(str::to_owned).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::too_many_lines, reason = "one story, told in order")]
async fn what_an_owner_leaves_behind_is_expired() {
    let lines = Lines::default();
    let writer = lines.clone();
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .init();
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let dead = SocketAddr::from((Ipv4Addr::LOCALHOST, ports::free()));

    // Three spans that the file has and the dead backend has not, five that are undecided.
    let running = Running::start_to(dead, place, 0).await;
    running.submit(spans(1, 1, 3, true)).await;
    let delivered =
        |now: &Scrape| is(now, "file", "delivered", 3.0) && is(now, "otlphttp", "awaiting", 3.0);
    running.until("decided", delivered).await;
    running.submit(spans(2, 1, 5, true)).await;
    let read = |now: &Scrape| is(now, "file", "undecided", 5.0);
    running.until_still("read", read).await;
    running.stop_within(Duration::from_secs(1)).await;
    assert_eq!(lines.of_the_gone(), Vec::<String>::new());

    // Without the backend: what it had not got is expired, and so is what is kept from now on.
    let running = Running::start(place, 1).await;
    let said = lines.of_the_gone();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("WARN") && said[0].contains("exporter=\"otlphttp\" spans=3"),
        "{said:?}"
    );
    let replayed = running.until_still("replayed", read).await;
    assert_eq!(ledger(&replayed, "otlphttp"), [8, 0, 0, 5, 0, 3, 0]);
    let delivered = |now: &Scrape| is(now, "file", "delivered", 8.0);
    let decided = running.until("decided", delivered).await;
    assert_eq!(ledger(&decided, "otlphttp"), [8, 0, 0, 0, 0, 8, 0]);
    running.submit(spans(3, 1, 2, true)).await;
    let read = |now: &Scrape| is(now, "file", "undecided", 2.0);
    running.until_still("read", read).await;
    running.stop().await;

    // Without the pipeline.
    let other = CONFIG.replace(
        "    traces: {receivers: [otlp], processors: [tail_sampling], exporters: [file]}\n",
        "",
    );
    for start in 0..2 {
        let running = Running::start_from(&other, place, 2 + start).await;
        let said = lines.of_the_gone();
        assert_eq!(said.len(), 3, "once each: {said:?}");
        assert!(
            said[1].contains("pipeline=\"traces\" undecided=2"),
            "{said:?}"
        );
        assert!(said[2].contains("exporter=\"file\" spans=0"), "{said:?}");
        let scrape = running.scrape();
        assert_eq!(ledger(&scrape, "file"), [10, 8, 0, 0, 0, 2, 0]);
        assert_eq!(ledger(&scrape, "otlphttp"), [10, 0, 0, 0, 0, 10, 0]);
        running.submit(spans(4, 1, 4, true)).await;
        running.stop().await;
    }

    // All are back: they begin at the end, with what became of their past.
    let running = Running::start_to(dead, place, 5).await;
    running.submit(spans(5, 1, 3, true)).await;
    let delivered =
        |now: &Scrape| is(now, "file", "delivered", 11.0) && is(now, "otlphttp", "awaiting", 3.0);
    let scrape = running.until("decided", delivered).await;
    assert_eq!(ledger(&scrape, "file"), [13, 11, 0, 0, 0, 2, 0]);
    assert_eq!(ledger(&scrape, "otlphttp"), [13, 0, 3, 0, 0, 10, 0]);
    running.stop_within(Duration::from_secs(1)).await;
    assert_eq!(lines.of_the_gone().len(), 3);
    let kept = std::fs::read_to_string(place.join("kept.json")).unwrap();
    assert_eq!(kept.matches("\"spanId\"").count(), 11);
}
