//! The log in Kafka: daemons of one group against Apache Kafka itself, with brokers and daemons killed, frozen and cut off.
//!
//! Every test has topics and a group of its own. A load knows what was acknowledged and what must be kept; a sink knows what
//! came: `acknowledged and kept` must be a subset of it. `README.md` of `tests/kafka` says which row of the failure
//! matrix is which test. `TAILWATER_RATE` (spans a second) and `TAILWATER_SECONDS` make the loads heavier and longer.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test program: what fails ends the test, figures are printed"
)]

#[path = "../support/load/mod.rs"]
mod load;
#[allow(dead_code, reason = "shared with tests that use all of it")]
#[path = "../support/mod.rs"]
mod support;

#[allow(dead_code, reason = "shared with tests that use all of it")]
#[path = "../kafka/broker.rs"]
mod broker;
#[path = "../kafka/jars.rs"]
mod jars;
#[allow(dead_code, reason = "shared with tests that use all of it")]
#[path = "../kafka/topic.rs"]
mod topic;
#[path = "../faults/verdict.rs"]
mod verdict;

mod cluster;
mod field;
mod group;
mod plan;
mod probe;
mod shared;

mod brokers;
mod copies;
mod crashes;
mod exporter;
mod fleet;
mod memory;
mod nodes;
mod pipeline;
mod poison;
mod rebalance;
mod retention;
mod rights;
mod topics;
