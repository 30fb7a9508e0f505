//! The daemon's ledger (what became of every span), as its metrics tell it.

use super::daemon::Daemon;
use super::sender::get;
use super::wait::until_async;
use std::collections::BTreeMap;

/// Spans by state, without the states that have none.
pub(crate) type Ledger = BTreeMap<String, u64>;

const SPANS: &str = "tailwater_ledger_spans{";
const DIFFERENCE: &str = "tailwater_ledger_difference{";
/// Of every pipeline: what is acknowledged and not in the ledger yet.
const UNREAD: &str = "tailwater_worker_unread_bytes{";

/// The ledger of one exporter once every acknowledged span is in it and nothing is under way; it adds up.
pub(crate) async fn at_rest(daemon: &Daemon, exporter: &str) -> Ledger {
    let (port, mut last) = (daemon.metrics, None);
    until_async("the ledger is at rest and adds up", async || {
        let seen = Some(scrape(port, exporter).await);
        // A page is no single moment: the same twice is.
        let rests = seen.as_ref().is_some_and(Seen::rests) && seen == last;
        last = seen;
        rests
    })
    .await;
    last.map(|seen| seen.ledger).unwrap_or_default()
}

/// A ledger with these states; those of no span are left out.
pub(crate) fn states<const N: usize>(states: [(&str, u64); N]) -> Ledger {
    let some = states.into_iter().filter(|(_, spans)| *spans > 0);
    some.map(|(state, spans)| (state.to_owned(), spans))
        .collect()
}

/// The ledger of one exporter becomes this one, with spans under way.
pub(crate) async fn becomes(daemon: &Daemon, exporter: &str, expected: &Ledger) {
    let port = daemon.metrics;
    until_async(&format!("the ledger is {expected:?}"), async || {
        scrape(port, exporter).await.ledger == *expected
    })
    .await;
}

/// The exporter has saved that it delivered so many spans: a kill repeats none of them.
pub(crate) async fn delivered(daemon: &Daemon, exporter: &str, spans: u64) {
    let port = daemon.metrics;
    until_async("the exporter has saved what it delivered", async || {
        scrape(port, exporter).await.ledger.get("delivered") >= Some(&spans)
    })
    .await;
}

/// `accepted` spans came in, `delivered` of them went out, all others were dropped, and nothing else happened.
pub(crate) async fn assert_ledger(
    daemon: &Daemon,
    exporter: &str,
    accepted: usize,
    delivered: usize,
) {
    let ledger = at_rest(daemon, exporter).await;
    let states = [
        ("accepted", accepted),
        ("delivered", delivered),
        ("dropped", accepted - delivered),
    ];
    let states = states.into_iter().filter(|(_, spans)| *spans > 0);
    let expected: Ledger = states
        .map(|(state, spans)| (state.to_owned(), u64::try_from(spans).unwrap()))
        .collect();
    assert_eq!(ledger, expected, "the ledger of {exporter}");
}

/// What one page says.
#[derive(Default, PartialEq)]
struct Seen {
    ledger: Ledger,
    difference: Option<f64>,
    unread: Option<f64>,
}

impl Seen {
    fn rests(&self) -> bool {
        let under_way = ["undecided", "awaiting"];
        let under_way = under_way
            .iter()
            .any(|state| self.ledger.contains_key(*state));
        !under_way && self.difference == Some(0.0) && self.unread == Some(0.0)
    }
}

async fn scrape(port: u16, exporter: &str) -> Seen {
    let page = get(port, "/metrics")
        .await
        .map(|(_, page)| page)
        .unwrap_or_default();
    let ours = format!("exporter=\"{exporter}\"");
    let mut seen = Seen::default();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let value = || -> f64 { line.rsplit(' ').next().unwrap().parse().unwrap() };
        if line.starts_with(UNREAD) {
            *seen.unread.get_or_insert_default() += value();
        }
        if !line.contains(&ours) {
            continue;
        }
        if line.starts_with(DIFFERENCE) {
            seen.difference = Some(value());
        } else if line.starts_with(SPANS) && value() != 0.0 {
            seen.ledger.insert(label(line, "state"), whole(value()));
        }
    }
    seen
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a whole number"
)]
fn whole(value: f64) -> u64 {
    assert!(value >= 0.0 && value.fract() == 0.0, "{value} spans");
    value as u64
}

fn label(line: &str, name: &str) -> String {
    let (_, rest) = line.split_once(&format!("{name}=\"")).unwrap();
    rest.split('"').next().unwrap().to_owned()
}
