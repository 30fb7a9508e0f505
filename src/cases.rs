//! How many cases a property test runs: what it says itself, or that many times more, as `PROPTEST_CASES` says.
//!
//! Tests ask for few cases or many by what one costs. `PROPTEST_CASES` alone would give a cheap test fewer than it has and a
//! dear one hours, so it is read as a factor of proptest's own default. `make test` sets a seed (`tests/run`), so that what
//! is found there has been done by a change and not by chance; `make fuzz` looks with new seeds and more cases.

use proptest::test_runner::Config;

/// The number of cases that the variable means when it changes nothing.
const DEFAULT: u64 = 256;

/// `count` cases, times what `PROPTEST_CASES` is of 256.
pub(crate) fn cases(count: u32) -> Config {
    let given = std::env::var("PROPTEST_CASES").ok();
    let given = given.and_then(|given| given.parse().ok());
    Config {
        cases: scaled(count, given.unwrap_or(DEFAULT)),
        ..Config::default()
    }
}

fn scaled(count: u32, given: u64) -> u32 {
    u32::try_from((u64::from(count) * given / DEFAULT).max(1)).unwrap_or(u32::MAX)
}

#[test]
fn a_factor_and_never_none() {
    let check = |count, given, expected| assert_eq!(scaled(count, given), expected);
    check(8, DEFAULT, 8);
    check(8, 2560, 80);
    check(1000, 128, 500);
    check(8, 1, 1);
    check(u32::MAX, 512, u32::MAX);
}
