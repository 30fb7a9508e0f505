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

/// Cases of `COMPAT_CASES` against the answers of `COMPAT_ANSWERS`, recorded from the release `COMPAT_VERSION`.
#[test]
#[ignore = "needs a recording: see `make compat`"]
fn decides_as_recorded_elsewhere() {
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let corpus = Corpus {
        name: "elsewhere",
        cases: variable("COMPAT_CASES").into(),
        answers: vec![variable("COMPAT_ANSWERS").into()],
        version: Version::of(&variable("COMPAT_VERSION")),
    };
    corpus.check();
}
