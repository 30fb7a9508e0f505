//! Faults: the real daemon under load, killed, filled, cut off, overrun and lied to.
//!
//! Every test starts the binary on a directory of its own with a sink behind it, and compares what the sink got with what
//! the load generator knows to be kept. `TAILWATER_KILLS`, `TAILWATER_DEAD_SECONDS` and `TAILWATER_SEED` make them
//! longer or repeat one.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test program: what fails ends the test, figures are printed"
)]

#[path = "../support/load/mod.rs"]
mod load;

mod backend;
mod daemon;
mod full;
mod hostile;
mod kill;
mod load_itself;
mod metrics;
mod neighbour;
mod restart;
mod tmpfs;
mod verdict;
