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

/// The cases of a folder, `own/` or none.
fn corpus(name: &'static str, of: &str, version: Version) -> Corpus {
    let folder = |kind: &str| folder(&format!("{of}{kind}"));
    let mut answers = vec![folder("expected")];
    if version == Version::V0165 {
        answers.insert(0, folder("expected-next"));
    }
    Corpus {
        name,
        cases: folder("cases"),
        answers,
        version,
    }
}

#[test]
fn decides_as_v0_161() {
    corpus("v0.161", "", Version::V0161).check();
}

#[test]
fn decides_as_v0_165() {
    corpus("v0.165", "", Version::V0165).check();
}

#[test]
fn decides_our_own_cases_as_v0_161() {
    corpus("own v0.161", "own/", Version::V0161).check();
}

#[test]
fn decides_our_own_cases_as_v0_165() {
    corpus("own v0.165", "own/", Version::V0165).check();
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
