//! The daemon's ledger (what became of every span), as its metrics tell it.

use super::daemon::Daemon;
use super::sender::get;
use super::wait::until_async;
use std::collections::BTreeMap;

/// Spans by state, without the states that have none.
pub(crate) type Ledger = BTreeMap<String, u64>;

const SPANS: &str = "tailwater_ledger_spans{";
const DIFFERENCE: &str = "tailwater_ledger_difference{";

/// The ledger of one exporter once nothing is under way; it adds up.
pub(crate) async fn at_rest(daemon: &Daemon, exporter: &str) -> Ledger {
    let (port, mut last) = (daemon.metrics, Ledger::new());
    until_async("the ledger is at rest and adds up", async || {
        let (ledger, difference) = scrape(port, exporter).await;
        let under_way = ["undecided", "awaiting"]
            .iter()
            .any(|state| ledger.contains_key(*state));
        let rests = !under_way && difference == Some(0.0) && ledger == last;
        last = ledger;
        rests
    })
    .await;
    last
}

/// The exporter has saved that it delivered so many spans: a kill repeats none of them.
pub(crate) async fn delivered(daemon: &Daemon, exporter: &str, spans: u64) {
    let port = daemon.metrics;
    until_async("the exporter has saved what it delivered", async || {
        let (ledger, _) = scrape(port, exporter).await;
        ledger.get("delivered") >= Some(&spans)
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

async fn scrape(port: u16, exporter: &str) -> (Ledger, Option<f64>) {
    let page = get(port, "/metrics")
        .await
        .map(|(_, page)| page)
        .unwrap_or_default();
    let ours = format!("exporter=\"{exporter}\"");
    let (mut ledger, mut difference) = (Ledger::new(), None);
    for line in page.lines().filter(|line| line.contains(&ours)) {
        let value: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
        if line.starts_with(DIFFERENCE) {
            difference = Some(value);
        } else if line.starts_with(SPANS) && value != 0.0 {
            ledger.insert(label(line, "state"), whole(value));
        }
    }
    (ledger, difference)
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
