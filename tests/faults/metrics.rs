//! The daemon's own account of what it holds and did.

use crate::daemon::PATIENCE;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

/// Lines of a scrape: name with labels, and value.
#[derive(Debug)]
pub(crate) struct Scrape(Vec<(String, f64)>);

impl Scrape {
    pub(crate) async fn of(address: SocketAddr) -> Option<Self> {
        let mut stream = TcpStream::connect(address).await.ok()?;
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .await
            .ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await.ok()?;
        let lines = text.lines().filter(|line| line.starts_with("tailwater_"));
        Some(Self(
            lines
                .filter_map(|line| line.rsplit_once(' '))
                .map(|(k, v)| (k.to_owned(), v.parse().unwrap()))
                .collect(),
        ))
    }

    /// Sum over the series of `name` whose labels hold all of `labels` (`state="lost"`).
    pub(crate) fn sum(&self, name: &str, labels: &[&str]) -> f64 {
        let of = |key: &str| {
            key.split('{').next() == Some(name) && labels.iter().all(|label| key.contains(label))
        };
        self.0
            .iter()
            .filter(|(key, _)| of(key))
            .map(|(_, value)| value)
            .sum()
    }

    /// States of one exporter's ledger.
    pub(crate) fn ledger(&self, exporter: &str) -> BTreeMap<String, u64> {
        let label = format!("exporter=\"{exporter}\"");
        let lines = self
            .0
            .iter()
            .filter(|(key, _)| key.starts_with("tailwater_ledger_spans{") && key.contains(&label));
        let state = |key: &str| {
            key.split_once("state=\"")
                .unwrap()
                .1
                .split('"')
                .next()
                .unwrap()
                .to_owned()
        };
        lines
            .map(|(key, value)| (state(key), *value as u64))
            .collect()
    }
}

/// The ledger of `exporter` once everything that is acknowledged is in it and nothing is under way: its difference must be 0,
/// and nothing lost.
pub(crate) async fn settled_ledger(address: SocketAddr, exporter: &str) -> BTreeMap<String, u64> {
    let end = Instant::now() + PATIENCE;
    let mut last = None;
    loop {
        let scrape = Scrape::of(address).await.expect("no metrics");
        let ledger = scrape.ledger(exporter);
        let unread = scrape.sum("tailwater_worker_unread_bytes", &[]);
        let difference = scrape.sum(
            "tailwater_ledger_difference",
            &[&format!("exporter=\"{exporter}\"")],
        );
        let rests = difference == 0.0
            && unread == 0.0
            && ledger["undecided"] == 0
            && ledger["awaiting"] == 0;
        // A page is no single moment: the same twice is.
        if rests && last.as_ref() == Some(&ledger) {
            assert_eq!(ledger["lost"], 0, "{ledger:?}");
            return ledger;
        }
        assert!(
            Instant::now() < end,
            "difference {difference}, {unread} bytes unread, {ledger:?}"
        );
        last = Some(ledger);
        sleep(Duration::from_millis(200)).await;
    }
}
