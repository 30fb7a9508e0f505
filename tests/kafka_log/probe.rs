//! What a daemon says of itself, and what it answers to one request.

use crate::load::{Answer, Client};
use crate::support::daemon::Daemon;
use crate::support::sender::get;
use crate::support::traffic::request;
use crate::support::wait::until_async;
use http::StatusCode;
use prost::Message as _;
use std::net::{Ipv4Addr, SocketAddr};

pub(crate) const UNAVAILABLE: u32 = 14;
pub(crate) const RESOURCE_EXHAUSTED: u32 = 8;

pub(crate) fn address(daemon: &Daemon) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, daemon.grpc))
}

pub(crate) async fn is_ready(daemon: &Daemon) -> bool {
    matches!(
        get(daemon.metrics, "/readyz").await,
        Some((StatusCode::OK, _))
    )
}

/// Waits until `/readyz` says no, with one of these words.
pub(crate) async fn not_ready(daemon: &Daemon, words: &[&str]) -> String {
    let mut said = String::new();
    until_async("it is not ready, and says why", async || {
        let Some((status, body)) = get(daemon.metrics, "/readyz").await else {
            return false;
        };
        said = body;
        let lower = said.to_lowercase();
        status != StatusCode::OK
            && words
                .iter()
                .any(|word| lower.contains(&word.to_lowercase()))
    })
    .await;
    said
}

/// Sends spans of a trace (`support::traffic`), once.
pub(crate) async fn send(daemon: &Daemon, traces: std::ops::Range<u64>, part: u64) -> Answer {
    let body = request(traces, part).encode_to_vec();
    Client::new(address(daemon)).export(&body.into()).await
}

/// The same, which must be taken.
pub(crate) async fn taken(daemon: &Daemon, traces: std::ops::Range<u64>, part: u64) {
    let answer = send(daemon, traces, part).await;
    assert!(
        matches!(&answer, Answer::Taken(body) if body.is_empty()),
        "{answer:?}"
    );
}

/// A refusal that a sender tries again.
pub(crate) fn assert_refused(answer: &Answer) {
    let Answer::Refused { code, .. } = answer else {
        panic!("{answer:?}")
    };
    assert!(
        [UNAVAILABLE, RESOURCE_EXHAUSTED].contains(code),
        "{answer:?}"
    );
}
