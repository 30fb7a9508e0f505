//! The `kafka` receiver and exporter against Apache Kafka itself. `README.md` beside this file says which fault is where.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail where it stands"
)]

#[allow(dead_code, reason = "shared with tests that use all of it")]
#[path = "../support/mod.rs"]
mod support;

#[allow(dead_code, reason = "shared with the tests of the log in Kafka")]
mod broker;
mod collector;
mod faults;
mod jars;
mod limits;
mod login;
mod peer;
mod pipeline;
mod place;
mod poison;
mod round_trip;
#[allow(dead_code, reason = "shared with the tests of the log in Kafka")]
mod topic;
mod topic_care;
