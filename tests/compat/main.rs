//! The Collector's recorded decisions, played through Tailwater on a driven clock. `README.md` tells the formats.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail where it stands"
)]

mod accepted;
mod answer;
mod arrivals;
mod case;
mod client;
mod config;
mod corpus;
mod counters;
mod difference;
mod driver;
mod sink;
mod version;

use corpus::Corpus;
use std::path::PathBuf;
use version::Version;

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/compat")
        .join(name)
}

#[test]
fn decides_as_v0_161() {
    let corpus = Corpus {
        name: "v0.161",
        cases: folder("cases"),
        answers: vec![folder("expected")],
        version: Version::V0161,
    };
    corpus.check();
}

#[test]
fn decides_as_v0_165() {
    let corpus = Corpus {
        name: "v0.165",
        cases: folder("cases"),
        answers: vec![folder("expected-next"), folder("expected")],
        version: Version::V0165,
    };
    corpus.check();
}
